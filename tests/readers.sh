#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every command that vgtool has is confined before it opens what strangers may have written.  The
# commands come from its own usage: one that is not in the table below fails the test, and so does one
# that does not open its files at all, for then nothing would be tested.
set -eu
: "${VGTOOL:?}" "${VIGNETTED:?}" "${CC:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# What a command is called with, and which files of these are a stranger's.
arguments() {
	case $1 in
	info | report | audit | dump | summary | folded | chrome) echo "one.vgp" ;;
	speedscope) echo "one.vgp -o out.json" ;;
	diff | aggregate) echo "one.vgp two.vgp" ;;
	recover) echo "one.vgp -o out.vgp" ;;
	missing) echo "-s store one.vgp" ;;
	resolve) echo "-s store one.vgp -o out.vgp" ;;
	store) echo "store" ;;
	symbols) echo "-o saved program" ;;
	esac
}
strangers() {
	case $1 in
	symbols) echo program ;;
	store) echo '[^"]*\.sym' ;;
	resolve) echo 'one\.vgp [^"]*\.sym' ;;
	diff | aggregate) echo 'one\.vgp two\.vgp' ;;
	*) echo 'one\.vgp' ;;
	esac
}

cat >program.c <<'END'
int main(void)
{
	for (volatile long i = 0; i < 300000000; i++)
		;
	return 0;
}
END
$CC -g -O1 -Wl,--build-id=sha1 -o program program.c
"$VIGNETTED" -o one.vgp --rate 500 --duration 1 -- ./program 2>err || { cat err; exit 1; }
cp one.vgp two.vgp
"$VGTOOL" symbols -o store program >/dev/null
# A program's own id is none of the store's matter: `missing` does not look into its files.

commands=$("$VGTOOL" --help | awk '/^  [a-z]/ { print $1 }')
[ "$(echo "$commands" | wc -l)" -ge 10 ] || fail "vgtool --help shows only: $commands"
landlock=0
for command in $commands; do
	rm -rf saved out.json out.vgp
	given=$(arguments "$command")
	[ -n "$given" ] || { fail "vgtool $command is not in the table of tests/readers.sh"; continue; }
	status=0
	strace -f -qq -o trace -e trace=openat,open,seccomp,landlock_restrict_self \
		"$VGTOOL" $command $given >out 2>err || status=$?
	# 1 is also what some have to say of what they found.
	[ $status -le 1 ] || fail "$command $given: status $status: $(cat err)"
	confined=$(grep -nE 'seccomp\(SECCOMP_SET_MODE_FILTER, .*\{.*= 0$' trace | head -n 1 | cut -d : -f 1)
	[ -n "$confined" ] || { fail "$command is not confined by seccomp"; continue; }
	! grep -q 'landlock_restrict_self.* = 0' trace || landlock=$((landlock + 1))
	for pattern in $(strangers "$command"); do
		# O_PATH names a file and cannot read it.
		opened=$(grep -nE "open(at)?\(.*$pattern\".* = [0-9]+\$" trace | grep -v O_PATH | head -n 1 | cut -d : -f 1)
		if [ -z "$opened" ]; then
			fail "$command does not open $pattern"
		elif [ "$opened" -lt "$confined" ]; then
			fail "$command opens $pattern before it is confined: $(sed -n "${opened}p" trace)"
		fi
	done
done
# Where the kernel has it, it is for all.
[ $landlock = 0 ] || [ $landlock = "$(echo "$commands" | wc -l)" ] ||
	fail "Landlock confines only $landlock of: $(echo $commands)"
[ $failures = 0 ]
