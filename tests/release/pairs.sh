#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# An earlier commit and this one: each header, library, helper, vgctl and vgtool works with each of the others, or says
# in one sentence which one is too old.  Prints a table of all pairs.
#
# OLD is the earlier commit.  By default it is the latest tag or, if there is none, the commit before the library's
# latest symbols.  Needs git, its history, and what a build needs; no network.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${VGCTL:?}"
git -C "$SRCDIR" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip "needs a clone of the repository"
latest=$(sed -n 's/^\(VGCTL_[0-9]*\) {$/\1/p' "$SRCDIR/libvgctl/vgctl.map" | tail -n 1)
OLD=${OLD:-$(git -C "$SRCDIR" describe --tags --abbrev=0 2>/dev/null ||
	git -C "$SRCDIR" log --format=%H^ -S"$latest {" -- libvgctl/vgctl.map | tail -n 1)}
git -C "$SRCDIR" rev-parse -q --verify "$OLD^{commit}" >/dev/null || fail "$OLD is not a commit"

# ---- both builds ----
mkdir "$dir/source" "$dir/old" "$dir/old.build" "$dir/new"
git -C "$SRCDIR" archive "$OLD" | tar -x -C "$dir/source"
targets="libvgctl/libvgctl.la vignetted/vignetted vgctl/vgctl vgtool/vgtool"
(unset MAKEFLAGS MFLAGS MAKELEVEL && cd "$dir/source" && autoreconf -fi && cd "$dir/old.build" &&
	"$dir/source/configure" -q && make -s -j"$(nproc)" $targets) >"$dir/log" 2>&1 ||
	fail "$OLD does not build: $(tail -n 20 "$dir/log")"
# parts NAME SOURCES BUILD
parts() {
	cp "$2/libvgctl/vgctl.h" "$dir/$1"
	cp -P "$3"/libvgctl/.libs/libvgctl.so* "$dir/$1"
	cp "$3/vignetted/vignetted" "$3/vgctl/vgctl" "$3/vgtool/vgtool" "$dir/$1"
}
parts old "$dir/source" "$dir/old.build"
parts new "$SRCDIR" "$BUILDDIR"

# ---- programs: NAME-HEADER; those of "latest" use what the older header does not have ----
cat >"$dir/program.c" <<'END'
#include <stdio.h>
#include <vgctl.h>

__attribute__((noinline)) static void busy_work(void)
{
	VGCTL_SCOPE(vgctl_intern("step"), vgctl_intern("the interval"));
	for (volatile long i = 0; i < 100000000; i++)
		;
}

int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	int rc;

#ifdef LATEST
	vgctl_options_init(&options, sizeof options);
#endif
	options.rate_hz = 1000;
	if (argc > 2) {
		rc = vgctl_listen(argv[2], NULL);
		printf("%s\n", rc == 0 ? "listens" : vgctl_strerror(rc));
		fflush(stdout);
		return rc != 0 || getchar() == 'x';
	}
	rc = vgctl_begin(argv[1], &options, &session);
	if (rc == 0) {
		busy_work();
#ifdef LATEST
		rc = vgctl_sample_thread(session, 0);
		if (rc != 0)
			return printf("%s\n", vgctl_strerror(rc)), 1;
#endif
		rc = vgctl_end(session, &summary);
	}
	if (rc != 0 || summary.samples == 0)
		printf("%s\n", rc != 0 ? vgctl_strerror(rc) : "no samples");
	return rc != 0 || summary.samples == 0;
}
END
for header in old new; do
	$CC -g -O0 -I"$dir/$header" -o "$dir/common-$header" "$dir/program.c" -L"$dir/$header" -lvgctl
done
$CC -g -O0 -DLATEST -I"$dir/new" -o "$dir/latest-new" "$dir/program.c" -L"$dir/new" -lvgctl

# ---- the pairs; report finds the programs in the current directory ----
cd "$dir"
refused=0 worked=0
# heads NAME...: begins a table
heads() {
	echo
	printf '%-11s' "$@"
	echo result
}
# result NAME... STATUS: adds a row to the table.  A failure must be one sentence, which says what is too old.
result() {
	while [ $# -gt 1 ]; do
		printf '%-11s' "$1"
		shift
	done
	if [ "$1" = 0 ]; then
		worked=$((worked + 1))
		echo works
	else
		refused=$((refused + 1))
		sed "s,$dir/,,g" "$dir/said"
		[ "$(wc -l <"$dir/said")" = 1 ] && grep -qE 'too old|use a later|version .VGCTL_[0-9]+. not found' "$dir/said" ||
			fail "no sentence: $(cat "$dir/said")"
	fi
}
# run PROGRAM LIBRARY HELPER ARGUMENT...
run() {
	program=$1 library=$2 helper=$3
	shift 3
	LD_LIBRARY_PATH="$dir/$library" VIGNETTED="$dir/$helper/vignetted" timeout 120 "$dir/$program" "$@"
}
# shown VGTOOL PROFILE: vgtool shows the program's function and interval, and skips nothing
shown() {
	"$dir/$1/vgtool" report "$2" >"$dir/out" 2>"$dir/said" && grep -q busy_work "$dir/out" &&
		"$dir/$1/vgtool" summary "$2" >"$dir/out" 2>>"$dir/said" && grep -q 'the interval' "$dir/out"
}

heads program library helper vgtool
for program in common-old common-new latest-new; do
	for library in old new; do
		for helper in old new; do
			rm -f "$dir/a.vgp"
			status=0
			run $program $library $helper "$dir/a.vgp" >"$dir/said" 2>&1 || status=$?
			for vgtool in old new; do
				[ $status != 0 ] || shown $vgtool "$dir/a.vgp" || status=$?
				result $program $library $helper $vgtool $status
			done
		done
	done
done

heads library helper vgctl
mkdir -m 700 "$dir/sockets"
# remote VGCTL PID: a remote recording from begin to end
remote() {
	control="timeout 60 $dir/$1/vgctl --directory $dir/sockets"
	rm -f "$dir/r.vgp"
	$control status "$2" && $control begin "$2" -o "$dir/r.vgp" --rate 1000 && $control mark "$2" moment &&
		$control end "$2" && "$dir/$1/vgtool" info "$dir/r.vgp"
}
for library in old new; do
	for helper in old new; do
		mkfifo "$dir/input" "$dir/output"
		run common-$library $library $helper - "$dir/sockets" <"$dir/input" >"$dir/output" 2>&1 & pids="$pids $!"
		exec 7>"$dir/input" 8<"$dir/output"
		read -r listens <&8
		socket=$(find "$dir/sockets" -name '*.sock')
		for vgctl in old new; do
			status=0
			echo "$listens" >"$dir/said"
			[ "$listens" = listens ] && remote $vgctl "$(basename "$socket" .sock)" >"$dir/said" 2>&1 || status=$?
			result $library $helper $vgctl $status
		done
		exec 7>&- 8<&-
		wait $!
		rm "$dir/input" "$dir/output"
		await 60 "the socket is removed" test ! -e "$socket"
	done
done

heads vgtool helper
for vgtool in old new; do
	for helper in old new; do
		status=0
		VIGNETTED="$dir/$helper/vignetted" "$dir/$vgtool/vgtool" record -o "$dir/v.vgp" -- \
			sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >"$dir/said" 2>&1 || status=$?
		result $vgtool $helper $status
	done
done
echo "$worked pairs work; $refused say what is too old"
