#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Static analysis: cppcheck, and in the soak clang-tidy (with clang's analyzer; .clang-tidy says what
# it looks for) and gcc's.  Any finding fails the test.  Suppressions stand where they are needed, with
# a word why.
#
# The compiler's flags are in FUZZ_FLAGS.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$SRCDIR"
folders="base profile libvgctl vignetted symbols vgtool"
defines='-DPACKAGE_VERSION="analyzed" -DVG_LIBEXECDIR="/nonexistent"'

# report NAME STATUS: the analyzers that have findings are in $failed
failed=
report() {
	[ "$2" = 0 ] && [ ! -s "$dir/$1" ] && return
	echo "$1 (status $2):"
	head -n 60 "$dir/$1"
	failed="$failed $1"
}

# An analyzer that finds nothing in this is none.
printf 'int main(void)\n{\n\tint a[2] = { 0 }, none = 0;\n\treturn a[2] / none;\n}\n' >"$dir/bad.c"

# unusedFunction and style are left out: what is a matter of style is in HACKING.md.
check() {
	cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		-j "$(nproc)" -I . $defines "$@"
}
! check "$dir/bad.c" 2>/dev/null || fail "cppcheck sees nothing"
status=0
check $folders >"$dir/cppcheck" 2>&1 || status=$?
report cppcheck $status

if [ -n "${SOAK-}" ]; then
	files=$(find base profile libvgctl vignetted symbols vgtool -name "*.c")
	cp .clang-tidy "$dir/"
	! clang-tidy --quiet "$dir/bad.c" -- -std=gnu11 >"$dir/tidy-bad" 2>/dev/null || fail "clang-tidy sees nothing"
	status=0
	for file in $files; do echo "$file"; done |
		xargs -P "$(nproc)" -n 8 sh -c 'exec clang-tidy --quiet "$@" -- -std=gnu11 -D_GNU_SOURCE -I . \
			-DPACKAGE_VERSION=\"analyzed\" -DVG_LIBEXECDIR=\"/nonexistent\" '"${FUZZ_FLAGS-}"' 2>/dev/null' sh \
		>"$dir/clang-tidy" || status=$?
	report clang-tidy $status

	# Two of its checks cannot follow an array that grows: they take each for leaked, and do not know
	# that one with a count has items (Debian 12's is GCC 12).
	status=0
	for file in $files; do echo "$file"; done |
		xargs -P "$(nproc)" -n 1 "$CC" -std=gnu11 -D_GNU_SOURCE -O1 -I . $defines ${FUZZ_FLAGS-} -fanalyzer \
			-Wno-analyzer-malloc-leak -Wno-analyzer-null-dereference \
			-c -o /dev/null >"$dir/fanalyzer" 2>&1 || status=$?
	report fanalyzer $status
fi
[ -z "$failed" ] || fail "findings of$failed"
