#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Static analysis: cppcheck; in the soak also clang-tidy (with clang's analyzer; .clang-tidy lists clang-tidy's checks)
# and gcc's analyzer.  Any finding fails the test.  A suppression is a comment beside its line, with the reason.
#
# The compiler's flags are in FUZZ_FLAGS.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs cppcheck
[ -z "${SOAK-}" ] || needs clang-tidy
cd "$SRCDIR"
folders="base profile libvgctl vignetted symbols vgtool"
defines='-DPACKAGE_VERSION="analyzed" -DVG_LIBEXECDIR="/nonexistent"'

# report NAME STATUS: if an analyzer has findings or STATUS is not 0, prints them and adds NAME to $failed
failed=
report() {
	[ "$2" = 0 ] && [ ! -s "$dir/$1" ] && return
	echo "$1 (status $2):"
	head -n 60 "$dir/$1"
	failed="$failed $1"
}

# Every analyzer must find the two errors in this file.
printf 'int main(void)\n{\n\tint a[2] = { 0 }, none = 0;\n\treturn a[2] / none;\n}\n' >"$dir/bad.c"

# cppcheck cannot do the check unusedFunction with -j.  Without -j, or with -j 1, it analyses all files as one program, and
# has false findings then.  The check style is off, because our style is that of HACKING.md.
check() {
	cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		-j "$(($(nproc) + 1))" -I . $defines "$@"
}
! check "$dir/bad.c" 2>/dev/null || fail "cppcheck does not find a planted error"
status=0
check $folders >"$dir/cppcheck" 2>&1 || status=$?
report cppcheck $status

if [ -n "${SOAK-}" ]; then
	files=$(find base profile libvgctl vignetted symbols vgtool -name "*.c")
	cp .clang-tidy "$dir/"
	! clang-tidy --quiet "$dir/bad.c" -- -std=gnu11 >"$dir/tidy-bad" 2>/dev/null || fail "clang-tidy does not find a planted error"
	status=0
	for file in $files; do echo "$file"; done |
		xargs -P "$(nproc)" -n 8 sh -c 'exec clang-tidy --quiet "$@" -- -std=gnu11 -I . \
			-DVG_LIBEXECDIR=\"/nonexistent\" '"${FUZZ_FLAGS-}"' 2>/dev/null' sh \
		>"$dir/clang-tidy" || status=$?
	report clang-tidy $status

	# Two checks of GCC 12 (Debian 12) give false findings for arrays that grow: they report each array as a leak,
	# and do not know that an array with a count above 0 has items.
	status=0
	for file in $files; do echo "$file"; done |
		xargs -P "$(nproc)" -n 1 "$CC" -std=gnu11 -O1 -I . -DVG_LIBEXECDIR='"/nonexistent"' ${FUZZ_FLAGS-} -fanalyzer \
			-Wno-analyzer-malloc-leak -Wno-analyzer-null-dereference \
			-c -o /dev/null >"$dir/fanalyzer" 2>&1 || status=$?
	report fanalyzer $status
fi
[ -z "$failed" ] || fail "findings of$failed"
