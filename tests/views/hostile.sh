#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Bad profiles: missing, empty, foreign, truncated, with flipped bits.  Every command says one
# sentence and exits 1, or warns and uses what is good; none is killed by a signal.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"

# complains STATUS WORDS COMMAND...: the exit status, and on standard error one line with the words
complains() {
	want=$1 words=$2; shift 2
	exits "$want" "$@"
	[ "$(wc -l <err)" = 1 ] || fail "$*: not one line of error: $(cat err)"
	grep -q "$words" err || fail "$*: no '$words' in: $(cat err)"
}

exits 0 "$VIGNETTED" -o good.vgp --rate 500 -- "${TOOL:-awk}" 'BEGIN { for (i = 0; i < 20000000; i++) n += i }'
size=$(wc -c <good.vgp)
: >empty.vgp
mkdir directory
echo 'no profile at all, only text' >foreign.vgp
head -c $((size - 10)) good.vgp >cut.vgp
head -c 15 good.vgp >stump.vgp

for command in info report dump speedscope; do
	complains 1 'missing.vgp' "$VGTOOL" $command missing.vgp
	complains 1 'empty' "$VGTOOL" $command empty.vgp
	complains 1 'directory' "$VGTOOL" $command directory
	complains 1 'not a profile' "$VGTOOL" $command foreign.vgp
	complains 1 'not a profile' "$VGTOOL" $command /bin/true
	complains 0 'offset' "$VGTOOL" $command cut.vgp
	complains 1 'offset 0' "$VGTOOL" $command stump.vgp
	"$VGTOOL" $command - <good.vgp >piped
	"$VGTOOL" $command good.vgp >named
	cmp piped named || fail "$command: standard input gives another answer"
	complains 1 '.' sh -c "'$VGTOOL' $command good.vgp >/dev/full"
	exits 2 "$VGTOOL" $command
done
complains 1 'missing.vgp' "$VGTOOL" resolve -s directory missing.vgp -o out.vgp
complains 1 'foreign.vgp' "$VGTOOL" resolve -s directory foreign.vgp -o out.vgp
complains 1 'no-such-store' "$VGTOOL" resolve -s no-such-store good.vgp -o out.vgp
[ ! -e out.vgp ] || fail "resolve left a file behind after an error"

# Without the first chunk, with the header, nothing of it is made up.  This is a second chunk.
printf '\224\244\126\107\120\061\316\000\000\000\001\316' >lost.vgp
printf '\262\066\021\113\306\000\000\000\003\222\001\005' >>lost.vgp
exits 0 "$VGTOOL" info lost.vgp
grep -q '^header  *lost' out || fail "a lost header: $(head -3 out)"
! grep -q '1970' out || fail "a lost header, and a date: $(grep 1970 out)"
"$VGTOOL" report lost.vgp 2>err | grep -q '^unknown program: ' || fail "report without a header"

# A file that becomes shorter while it is read, dump waiting in a full pipe meanwhile.
cp good.vgp shrinking.vgp
while [ "$(wc -c <shrinking.vgp)" -lt 1000000 ]; do cat good.vgp >>shrinking.vgp; done
{ status=0; "$VGTOOL" dump shrinking.vgp 2>err || status=$?; echo $status >status; } | {
	head -c 1 >/dev/null
	: >shrinking.vgp
	cat >/dev/null
}
[ "$(cat status)" = 1 ] || fail "a file that shrinks: status $(cat status)"
grep -q 'cut short' err || fail "a file that shrinks: $(cat err)"

# 110 KB that ask for 98 GB of folded stacks.
"$BUILDDIR/tests/views/events_write" fat fat.vgp 3000
[ "$(wc -c <fat.vgp)" -lt 200000 ] || fail "fat.vgp is large"
complains 1 '^vgtool folded: fat.vgp: .* larger than 4 GiB' "$VGTOOL" folded -o /dev/null fat.vgp

# One flipped bit costs one chunk at most, and says where.
awk -v size="$size" 'BEGIN { srand(1); for (i = 0; i < 40; i++) print int(rand() * size) }' >offsets
while read -r offset; do
	cp good.vgp flipped.vgp
	byte=$(od -An -tu1 -j "$offset" -N 1 good.vgp)
	printf "\\$(printf %o $((byte ^ 16)))" | dd of=flipped.vgp bs=1 seek="$offset" conv=notrunc 2>/dev/null
	for command in info report dump speedscope; do
		status=0
		"$VGTOOL" $command flipped.vgp >out 2>err || status=$?
		[ $status -le 1 ] || fail "$command with a flipped bit at $offset: status $status"
		[ -s err ] || fail "$command says nothing of a flipped bit at $offset"
	done
done <offsets
