#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool annotate on a program that calls the same function from two lines.  The second call takes three times as long,
# so the shares of the lines are known.  The test also covers sources in another directory, sources that are not found,
# and a source file that is not below the directory.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/views/recorded.sh"
unset COLUMNS PAGER || true
mkdir "$dir/src" "$dir/other"
cd "$dir"
cat >src/program.c <<'END'
static volatile unsigned sum;
int atoi(const char *text);
static __attribute__((noinline, noclone)) void spin(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 3;
}

static inline void inlined(long n)
{
	for (long i = 0; i < n; i++) sum += sum >> 5;
}

static __attribute__((noinline, noclone)) void work(void)
{
	spin(100000);
	spin(300000); /* three	quarters */
	__asm__ volatile("");
	inlined(20000);
}

int main(int argc, char **argv)
{
	for (int i = 400 * atoi(argv[argc - 1]); i > 0; i--)
		work();
}
END
# A line that is longer than what is printed, with tabs there
sed -i "s|__asm__ volatile(\"\");|&$(printf '\t%.0s' $(seq 150))/* end */|" src/program.c
(cd src && $CC -g -O2 -Wl,--build-id=sha1 -o ../program program.c)
record_until 500 p.vgp ./program --rate 1999 --capture "$(build_capture)"

# annotate ARGUMENT...: writes the output to $dir/out
annotate() {
	"$VGTOOL" annotate "$@" >out 2>err || fail "annotate $*: $(cat err)"
}
# share LINE COLUMN: prints the share of that line, in percent
share() {
	awk -v line="$1" -v column="$2" '$1 ~ /%$/ && $3 == line { sub(/%/, "", $column); print $column }' out
}
# between VALUE LEAST MOST WHAT
between() {
	awk -v value="$1" -v least="$2" -v most="$3" 'BEGIN { exit !(value != "" && value >= least && value <= most) }' ||
		fail "$4: '$1' is not between $2 and $3: $(cat out)"
}

# Line 15 has 25 % of the time of the lines 15 and 16, and these have 95 % of the time: 420 samples or more, but with a
# probability of 1e-19.  Then the share is below 11 % or above 41 % with a probability of 8e-12 (Chernoff's bound).
annotate work p.vgp
first=$(share 15 2) second=$(share 16 2) call=$(share 18 2)
echo "lines 15, 16 and 18: $first, $second and $call percent"
between "$(echo "$first $second" | awk '{ print 100 * $1 / ($1 + $2) }')" 11 41 "line 15 of the lines 15 and 16"
between "$(share 16 1)" 0 5 "self of a line that only calls"
grep -q '^work \[program\]: ' out || fail "no heading: $(cat out)"
annotate spin p.vgp
between "$(share 5 1)" "$(echo "$first $second" | awk '{ print $1 + $2 - 1 }')" 100 "self of the loop of spin()"

# The inlined function is a function of its own.
annotate inlined p.vgp
between "$(share 10 1)" "$(echo "$call" | awk '{ print $1 - 1 }')" 100 "self of the inlined loop"

# Sources: below the working directory, below --source, not found.  A tab becomes blanks.
annotate --source src work p.vgp
grep -q '^src/program.c$' out || fail "the source was not found: $(cat out)"
grep -q '  16          spin(300000); /\* three *quarters \*/$' out || fail "line 16 is missing: $(cat out)"
grep -q '^ *14  {$' out || fail "the lines around are missing: $(cat out)"
annotate --source other work p.vgp
grep -q 'program.c: not found; --source DIR names the directory of the sources$' out || fail "found: $(cat out)"
between "$(share 16 2)" "$second" "$second" "the share of line 16 without a source"
! grep -q 'spin(' out || fail "text of a source that was not found: $(cat out)"

# The name of the source file leads out of the directory.
echo secret >secret.c
(cd src && $CC -g -O2 -Wl,--build-id=sha1 -ffile-prefix-map=program.c=../secret.c -o ../leads_out program.c)
record_until 20 l.vgp ./leads_out --rate 999 --capture "$(build_capture)"
annotate --source src work l.vgp
! grep -q '^secret$\|  secret' out || fail "a file outside of the directory: $(cat out)"

exits 1 "$VGTOOL" annotate none_of_these p.vgp
has err 'none_of_these: no function with samples matches'
$CC -O2 -Wl,--build-id=sha1 -o without src/program.c
record_until 20 w.vgp ./without --rate 999 --capture "$(build_capture)"
exits 1 "$VGTOOL" annotate work w.vgp
has err 'no source lines of this function'
exits 2 "$VGTOOL" annotate work
has err 'expected FUNCTION and PROFILE'
exits 2 "$VGTOOL" annotate --weight all work p.vgp
has err '--weight all: must be wall or cpu'
