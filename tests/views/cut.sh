#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool cut copies the part of a profile that is in a time range.  Every command reads this part, and shows for it what
# it shows for the range of the whole profile.  What only the rest has is not in the file.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"

# Two phases, each with its own function, interval and thread.  The thread of the first phase ends in it.  "run" is open
# in both phases.
cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "vgctl.h"

static volatile unsigned sink;
static long turns;

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

#define WORK(name) static void __attribute__((noinline, noclone)) name(void) \
{ \
	for (long end = used_ms() + 50 * turns; used_ms() < end;) \
		for (unsigned i = 0; i < 10000; i++) sink += i; \
}
WORK(work_alpha)
WORK(work_omega)

static void *alpha_thread(void *unused)
{
	vgctl_thread_name("thread-alpha");
	work_alpha();
	return unused;
}
static void *omega_thread(void *unused)
{
	vgctl_thread_name("thread-omega");
	work_omega();
	return unused;
}
static void phase(const char *name, void (*work)(void), void *(*start)(void *))
{
	struct vgctl_interval interval = vgctl_interval_begin(vgctl_intern("phase"), vgctl_intern(name), 0);
	pthread_t thread;
	struct stat tasks;

	pthread_create(&thread, NULL, start, NULL);
	work();
	pthread_join(thread, NULL);
	/* Until the kernel has released the thread, it can be sampled. */
	while (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3)
		usleep(1000);
	vgctl_interval_end(interval);
}
int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	struct vgctl_interval run;

	options.rate_hz = 997;
	turns = argc > 2 ? atol(argv[2]) : 0;
	if (turns == 0 || vgctl_begin(argv[1], &options, &session) != 0)
		return 2;
	run = vgctl_interval_begin(vgctl_intern("phase"), vgctl_intern("run"), 0);
	phase("label-alpha", work_alpha, alpha_thread);
	/* A timer's sample that is fetched after a stop gets a time that is not before the stop.  After this sample,
	 * which fetches and stops, no sample of the first phase can get a time after the instant. */
	vgctl_sample(session);
	vgctl_instant(vgctl_intern("phase"), vgctl_intern("between"), 0);
	phase("label-omega", work_omega, omega_thread);
	vgctl_interval_end(run);
	return vgctl_end(session, NULL) != 0;
}
END
$CC -g -O1 -pthread ${SANITIZE-} -Wl,--build-id=sha1 -I"$SRCDIR/libvgctl" -o program program.c \
	"$BUILDDIR/libvgctl/.libs/libvgctl.a"
exits 0 "$VGTOOL" symbols -o store program
# Each function is in the profile, in both of its threads.
turns=1
recorded() {
	./program plain.vgp $turns || fail "the program failed"
	turns=$((2 * turns))
	exits 0 "$VGTOOL" resolve -s store -o whole.vgp plain.vgp
	"$VGTOOL" folded --threads whole.vgp >folded
	[ "$(grep -c work_alpha folded)" -ge 2 ] && [ "$(grep -c work_omega folded)" -ge 2 ]
}
again "samples of each function in both of its threads" recorded

# The second phase, in seconds: from the instant between the phases
between=$(records whole.vgp '(() => {
	let now = 0, found = 0;
	for (const record of it) {
		if (record.kind === "time") now = record.time_us * 1000;
		if (record.kind === "event") now += record.since_ns;
		if (record.kind === "event" && record.type === 0) found = now;
	}
	return (Math.floor(found / 1000) / 1e6).toFixed(6);
})()')
[ "${between#0.}" != "$between" ] || [ "${between%%.*}" -ge 1 ] || fail "the instant is at $between s"

# same OPTIONS...: `vgtool report` shows for part.vgp what it shows for the range of whole.vgp
same() {
	exits 0 "$VGTOOL" report --json --weight wall --time "$range" "$@" whole.vgp
	mv out expected
	exits 0 "$VGTOOL" report --json --weight wall "$@" part.vgp
	node -e 'const [expected, part] = process.argv.slice(1).map(file => {
			const { filter, unfiltered_ns, ...it } = JSON.parse(require("fs").readFileSync(file, "utf8"));
			return JSON.stringify(it);
		});
		if (expected !== part) throw new Error(expected.slice(0, 2000) + "\n" + part.slice(0, 2000));' \
		expected out || fail "--time $range $*"
}

# lacks FILE TEXT...: fails if the file has one of the texts
lacks() {
	file=$1
	shift
	for text in "$@"; do
		! grep -qaF -e "$text" "$file" || fail "$file has $text"
	done
}

for range in ..$between $between..; do
	exits 0 "$VGTOOL" cut --time $range -o part.vgp whole.vgp
	[ ! -s out ] && [ ! -s err ] || fail "cut prints $(cat out err)"
	same
	same --by line
	same --by thread
	same --by interval
	same --tree --min 0
	exits 0 "$VGTOOL" cut --time $range -o - whole.vgp
	cmp out part.vgp || fail "standard output differs"
	[ "$(stat -c %s part.vgp)" -lt "$(stat -c %s whole.vgp)" ] || fail "the part is not smaller"
	for command in summary speedscope chrome folded dump info 'resolve -s store' 'diff whole.vgp' \
		'aggregate whole.vgp' 'report --tree' 'recover -o copy.vgp'; do
		exits 0 "$VGTOOL" $command part.vgp
		[ ! -s err ] || [ "${command#re}" != "$command" ] || fail "$command: $(cat err)"
	done
done
exits 0 "$VGTOOL" info part.vgp
grep -qE "^part +$(printf %.3f "$between") s to [0-9.]+ s of the recording\$" out || fail "no range: $(cat out)"
# The part is the second phase.
lacks part.vgp alpha
exits 0 "$VGTOOL" report part.vgp
has out work_omega
exits 0 "$VGTOOL" summary part.vgp
for text in run label-omega between; do has out $text; done
exits 0 "$VGTOOL" cut --time ..$between -o part.vgp whole.vgp
lacks part.vgp omega
exits 0 "$VGTOOL" summary part.vgp
for text in run label-alpha; do has out $text; done

# An unresolved profile stays unresolved, and is symbolized as the whole one.
range=$between..
exits 0 "$VGTOOL" cut --time $range -o part.vgp plain.vgp
[ "$(info part.vgp resolved)" = false ] || fail "the part of an unresolved profile is resolved"
exits 0 "$VGTOOL" resolve -s store -o resolved.vgp part.vgp
mv resolved.vgp part.vgp
same
# A part of a part; times count from the begin of the recording.
exits 0 "$VGTOOL" cut --time $range -o part.vgp part.vgp
same
# The interval "run" may have begun in the first millisecond, but not in the microsecond in which the recording began.
exits 1 "$VGTOOL" cut --time 0..0.000001 -o nothing.vgp part.vgp

# A damaged profile, of several chunks
"$BUILDDIR/tests/views/events_write" even long.vgp
{ head -c $(($(stat -c %s long.vgp) / 2)) long.vgp; printf '\377\377\377'
	tail -c +$(($(stat -c %s long.vgp) / 2 + 4)) long.vgp; } >damaged.vgp
exits 0 "$VGTOOL" cut --time 0.. -o part.vgp damaged.vgp
has err 'damaged at offset'
[ "$(info part.vgp samples)" = "$(info damaged.vgp samples)" ] || fail "the part of a damaged profile lacks samples"
[ "$(info part.vgp damaged_bytes)" = "$(info damaged.vgp damaged_bytes)" ] || fail "the part does not tell of the damage"

# Errors
exits 1 "$VGTOOL" cut --time 1000..2000 -o nothing.vgp whole.vgp
has err 'whole.vgp: nothing in seconds 1000..2000; the profile has 0.000..'
exits 1 "$VGTOOL" cut --time 0.. -o nothing.vgp program.c
exits 1 "$VGTOOL" cut --time 0.. -o none/nothing.vgp whole.vgp
[ ! -e nothing.vgp ] || fail "a command that failed has left a file"
exits 2 "$VGTOOL" cut whole.vgp
has err 'use --time A..B'
exits 2 "$VGTOOL" cut --time 2..1 whole.vgp
exits 2 "$VGTOOL" cut --time 0..
exits 2 "$VGTOOL" cut --time 0.. whole.vgp plain.vgp
