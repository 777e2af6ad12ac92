#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool pprof, as `go tool pprof` reads it.  A C++ program with inlined functions, intervals and threads that wait is
# recorded.  The functions' times are those of `vgtool report`, the lines those of llvm-symbolizer.  Files without names
# are symbolized by pprof, for executables of several linkers.  Several profiles and differences are those of pprof.
# All comparisons are of the same samples, so that they are exact.
#
# With SOAK, pprof itself, too, which the test builds from the sources of Debian's golang-github-google-pprof-dev.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node "${CXX%% *}" go llvm-symbolizer ld.lld script
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"
# Nothing is fetched, and no file of the user is used.
export HOME="$dir" GOPROXY=off GOTOOLCHAIN=local GOFLAGS= PPROF_TMPDIR="$dir" PPROF_BINARY_PATH="$dir/none"
readers=go
if [ -n "${SOAK-}" ]; then
	(GO111MODULE=off GOPATH=/usr/share/gocode go build -o pprof github.com/google/pprof) >log 2>&1 ||
		fail "pprof is not built: $(cat log)"
	readers='go ./pprof'
fi

cat >work.cc <<'PROGRAM'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <vgctl.h>

static volatile double sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

template <typename T> static inline __attribute__((always_inline)) T mix(T a, T b)
{
	T sum = a;
	for (int i = 0; i < 100; i++)
		sum = sum * (T)1.0001 + b;
	return sum;
}

__attribute__((noinline)) double leaf(double a)
{
	double sum = 0;
	for (int i = 0; i < 200; i++)
		sum += mix<double>(a, i);
	return sum;
}

namespace app {
struct Worker {
	__attribute__((noinline)) void step(int n)
	{
		for (int i = 0; i < n; i++)
			sink = sink + leaf(i) + mix<float>(i, 2);
	}
	__attribute__((noinline)) void locked()
	{
		struct timespec pause = { 0, 5000000 };

		pthread_mutex_lock(&lock);
		nanosleep(&pause, nullptr);
		step(40);
		pthread_mutex_unlock(&lock);
	}
};
}

static volatile bool ended;

static void *waiter(void *name)
{
	app::Worker worker;

	pthread_setname_np(pthread_self(), (const char *)name);
	while (!ended)
		worker.locked();
	return nullptr;
}

int main(int, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	pthread_t threads[2];
	app::Worker worker;

	options.rate_hz = 999;
	options.thread_names = 1;
	pthread_create(&threads[0], nullptr, waiter, (void *)"one");
	pthread_create(&threads[1], nullptr, waiter, (void *)"two");
	if (vgctl_begin(argv[1], &options, &session) < 0)
		return 1;
	for (int i = 0; i < 12 * atoi(argv[2]); i++) {
		VGCTL_SCOPE(vgctl_intern("phase"), vgctl_intern("outer"));
		worker.step(100);
		{
			VGCTL_SCOPE(vgctl_intern("phase"), vgctl_intern("inner"));
			worker.step(200);
		}
	}
	ended = true;
	pthread_join(threads[0], nullptr);
	pthread_join(threads[1], nullptr);
	return vgctl_end(session, nullptr) < 0;
}
PROGRAM

# read_by READER ARGUMENT...: runs `go tool pprof`, or pprof itself
read_by() {
	case $1 in
	go) shift; go tool pprof "$@" ;;
	*) "$@" ;;
	esac
}

# top ARGUMENT...: prints what pprof shows of all functions: self and total in nanoseconds, and the name
top() {
	read_by "${reader:-go}" -symbolize="${symbolize:-none}" -unit=ns -nodecount=0 -nodefraction=0 \
		-edgefraction=0 -top "$@" 2>log | awk 'past { $2 = $3 = $5 = ""; gsub(/ns/, "", $1); gsub(/ns/, "", $4); print }
		/ flat .* cum/ { past = 1 }' | sed -E 's/ +/ /g; s/ \((partial-)?inline\)$//' | sort >top.out
	[ -s top.out ] || fail "pprof $* shows nothing: $(cat log)"
	cat top.out
}

# reported WEIGHT PROFILE OPTION...: prints what vgtool report shows, as top() does
reported() {
	weight=$1
	shift
	"$VGTOOL" report --json --weight "$weight" "$@" >report.json
	json report.json 'it.functions.map(f => `${f.self_ns} ${f.total_ns} ${f.name}`).join("\n")' | sort
}

# same A B WHAT: fails unless two files are equal
same() { cmp -s "$1" "$2" || fail "$3 differ: $(diff "$1" "$2" | head -n 8)"; }

export VIGNETTED
$CXX -O2 -g -Wl,--build-id=sha1 -I"$SRCDIR/libvgctl" -o work work.cc "$BUILDDIR/libvgctl/.libs/libvgctl.a" -pthread ||
	fail "cannot compile work.cc"
# The new profile is that of the program through a symbolic link.
ln -s work link
# recorded PROGRAM PROFILE: records for longer each time; fails unless the profile has 200 effective samples, and 20 in
# each interval and of each thread on a CPU
recorded() {
	./$1 $2 $turns || fail "$1: the program was not recorded"
	turns=$((2 * turns))
	[ "$(effective $2)" -ge 200 ] || return 1
	for part in '--interval inner' '--interval outer' '--thread one --on-cpu' '--thread two --on-cpu'; do
		"$VGTOOL" report --json $part $2 >report.json 2>log || return 1
		[ "$(json report.json it.samples)" -ge 20 ] || return 1
	done
}
turns=1
again "a profile with enough samples" recorded work old.vgp
turns=1
again "a profile with enough samples" recorded link new.vgp
for name in old new; do
	"$VGTOOL" pprof -o $name.pb.gz $name.vgp 2>log || fail "vgtool pprof: $(cat log)"
	go tool pprof -symbolize=none -top $name.pb.gz 2>log | head -n 8 >shown
	grep -q '^File: work$' shown && grep -q "^Build ID: $(build_id work)\$" shown && grep -q '^Type: wall$' shown &&
		grep -q '^vignette ' shown || fail "the head of the file: $(cat shown)"
done

# ---- the functions of vgtool report ----
for weight in wall cpu; do
	reported $weight old.vgp | grep -v '^0 0 ' >expected
	grep -q ' leaf(double)$' expected && grep -q ' mix<double>' expected || fail "no names: $(cat expected)"
	for reader in $readers; do
		top -sample_index=$weight old.pb.gz | grep -v '\[stack incomplete\|^0 0 ' >shown
		same expected shown "functions by $weight of $reader"
	done
done
reader=
go tool pprof -symbolize=none -peek 'Worker::step' old.pb.gz >shown 2>log
grep -q '| *app::Worker::locked()$' shown && grep -q '| *leaf(double)$' shown ||
	fail "no callers and callees: $(cat shown)"
go tool pprof -symbolize=none -tree old.pb.gz >shown 2>log
grep -q '| app::Worker::step(int)$' shown || fail "no tree: $(cat shown)"
go tool pprof -symbolize=none -list 'leaf' old.pb.gz >shown 2>log
grep -q 'sum += mix<double>(a, i);' shown || fail "no source lines: $(cat shown)"

# ---- labels ----
reported wall --interval inner old.vgp | grep -v '^0 0 ' >expected
top -tagfocus=interval=inner old.pb.gz | grep -v '\[stack incomplete\|^0 0 ' >shown
same expected shown "functions of an interval"
reported wall --thread one old.vgp | grep -v '^0 0 ' >expected
top -tagfocus=thread=one old.pb.gz | grep -v '\[stack incomplete\|^0 0 ' >shown
same expected shown "functions of a thread"
go tool pprof -symbolize=none -tags old.pb.gz >shown 2>log
for tag in outer inner one two; do grep -q "): $tag\$" shown || fail "no label $tag: $(cat shown)"; done

# ---- lines: those of llvm-symbolizer ----
# The frames of each address of the program: FILE:LINE of its functions in work.cc, innermost first.
go tool pprof -symbolize=none -raw old.pb.gz 2>log | awk '
	/^Mappings/ { exit }
	/^ *[0-9]+: 0x[0-9a-f]+ M=/ { on = $3 == "M=1"; if (on) print "address " $2 }
	on && / s=0/ { line = $(NF - 1); sub(/.*\//, "", line); if (line ~ /^work.cc:/) print line }' >lines
grep '^address' lines | cut -d ' ' -f 2 >addresses
[ "$(wc -l <addresses)" -ge 5 ] || fail "only $(wc -l <addresses) addresses of the program: $(cat lines)"
while read -r address; do
	echo "address $address"
	llvm-symbolizer --obj=work --inlines "$address" | awk '/:[0-9]+:[0-9]+$/ {
		sub(/:[0-9]+$/, ""); sub(/.*\//, ""); if (/^work.cc:/) print }'
done <addresses >expected
same expected lines "lines"

# ---- several profiles, and a difference: what pprof makes of the files of both ----
top old.pb.gz new.pb.gz >expected
"$VGTOOL" pprof -o both.pb.gz old.vgp new.vgp
top both.pb.gz >shown
same expected shown "functions of two profiles"
"$VGTOOL" pprof -o difference.pb.gz --base old.vgp new.vgp
top -diff_base old.pb.gz new.pb.gz >expected
top difference.pb.gz >shown
same expected shown "differences"
head_of() { go tool pprof -symbolize=none -top "$@" 2>log | grep -E '^(Type|Duration|Showing nodes)'; }
head_of -diff_base old.pb.gz new.pb.gz >expected
head_of difference.pb.gz >shown
same expected shown "sums of differences"

# ---- without names: pprof symbolizes ----
"$VGTOOL" pprof --unresolved -o plain.pb.gz old.vgp
! top plain.pb.gz | grep 'leaf' || fail "--unresolved has names"
# The build id leads pprof to the file, which has another name.  `go tool pprof` reads no build id of such a file.
if [ -n "${SOAK-}" ]; then
	mkdir -p "files/$(build_id work)"
	cp work "files/$(build_id work)/renamed"
	printf '%s\n' 'leaf(double)' 'mix<double>' 'app::Worker::step(int)' 'app::Worker::locked()' >names
	# of_program: chooses the lines of top() with these names
	of_program() {
		awk 'NR == FNR { known[$0] = 1; next }
			{ name = $0; sub(/^[^ ]+ [^ ]+ /, "", name); if (name in known) print }' names -
	}
	top old.pb.gz | of_program >expected
	[ "$(wc -l <expected)" = 4 ] || fail "not the program's four functions: $(cat expected)"
	reader=./pprof PPROF_BINARY_PATH=$dir/files symbolize=local:demangle=full
	top plain.pb.gz | of_program >shown
	same expected shown "functions that pprof found by the build id"
	reader='' PPROF_BINARY_PATH=$dir/none symbolize=none
fi
# Executables whose code has other offsets in the file than in memory, and fixed addresses.  pprof names a function that
# it finds by its address in memory or in the file.
cat >leaf.c <<'PROGRAM'
#include <stdlib.h>
volatile unsigned sum;
__attribute__((noinline)) void leaf(long n)
{
	for (long i = 0; i < n; i++) sum += i;
}
int main(int argc, char **argv) { leaf(20000000 * atol(argv[argc - 1])); }
PROGRAM
for options in '-fuse-ld=lld -pie' '-fuse-ld=lld -no-pie -fno-pie'; do
	$CC -O2 -g -Wl,--build-id=sha1 $options -o other leaf.c || fail "cannot compile with $options"
	record_until 20 other.vgp ./other --rate 999
	"$VGTOOL" pprof --unresolved -o other.pb.gz other.vgp
	for reader in $readers; do
		symbolize=local top -sample_index=cpu other other.pb.gz >shown
		awk '$3 == "leaf" && $2 > 0 { found = 1 } END { exit !found }' shown ||
			fail "$reader does not find the functions with $options: $(cat shown) $(cat log)"
	done
done
reader=

# ---- hostile names ----
"$BUILDDIR/tests/views/untrusted" profile evil.vgp
"$VGTOOL" pprof evil.vgp >evil.pb.gz
go tool pprof -symbolize=none -raw evil.pb.gz >shown 2>&1 || fail "a profile with hostile names: $(cat shown)"
tr -d '\n' <shown >line
! LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]' line ||
	fail "a terminal would obey the names: $(cat -v shown)"
exits 1 script -qec "'$VGTOOL' pprof evil.vgp" /dev/null
has out 'not written to a terminal'
