#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Bad profiles: missing, empty, other files, truncated, with flipped bits.  Every command prints one message and exits
# with 1, or warns and uses the undamaged part.  No command is killed by a signal.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"

# complains STATUS TEXT COMMAND...: fails unless the command exits with the status and prints one line with the text on
# standard error
complains() {
	want=$1 text=$2; shift 2
	exits "$want" "$@"
	[ "$(wc -l <err)" = 1 ] || fail "$*: not one line of error: $(cat err)"
	grep -q "$text" err || fail "$*: no '$text' in: $(cat err)"
}

recorded -o good.vgp --rate 2000 --budget 0 -- awk 'BEGIN { for (i = 0; i < 3000000; i++) n += i }'
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
	cmp piped named || fail "$command prints something else for standard input"
	complains 1 '.' sh -c "'$VGTOOL' $command good.vgp >/dev/full"
	exits 2 "$VGTOOL" $command
done
for command in pprof view; do
	complains 1 'No space left on device' "$VGTOOL" $command -o /dev/full good.vgp
done
complains 1 'missing.vgp' "$VGTOOL" resolve -s directory missing.vgp -o out.vgp
complains 1 'foreign.vgp' "$VGTOOL" resolve -s directory foreign.vgp -o out.vgp
complains 1 'no-such-store' "$VGTOOL" resolve -s no-such-store good.vgp -o out.vgp
[ ! -e out.vgp ] || fail "resolve has left a file after an error"

# If the first chunk, which has the header, is missing, vgtool does not invent the header's values.  This file has only
# a second chunk.
printf '\224\244\126\107\120\061\316\000\000\000\001\316' >lost.vgp
printf '\262\066\021\113\306\000\000\000\003\222\001\005' >>lost.vgp
exits 0 "$VGTOOL" info lost.vgp
grep -q '^header  *lost' out || fail "info of a profile without a header: $(head -3 out)"
! grep -q '1970' out || fail "a date of a profile without a header: $(grep 1970 out)"
"$VGTOOL" report lost.vgp 2>err | grep -q '^unknown program: ' || fail "report of a profile without a header"

# A file is truncated while vgtool dump reads it: dump waits because its pipe is full.
cp good.vgp shrinking.vgp
while [ "$(wc -c <shrinking.vgp)" -lt 1000000 ]; do cat good.vgp >>shrinking.vgp; done
{ status=0; "$VGTOOL" dump shrinking.vgp 2>err || status=$?; echo $status >status; } | {
	head -c 1 >/dev/null
	: >shrinking.vgp
	cat >/dev/null
}
[ "$(cat status)" = 1 ] || fail "a truncated file: status $(cat status)"
grep -q 'was truncated' err || fail "a truncated file: $(cat err)"

# A profile of 110 KB that would become 98 GB of folded stacks.
"$BUILDDIR/tests/views/events_write" fat fat.vgp 3000
[ "$(wc -c <fat.vgp)" -lt 200000 ] || fail "fat.vgp is large"
complains 1 '^vgtool folded: fat.vgp: .* larger than 4 GiB' "$VGTOOL" folded -o /dev/null fat.vgp

# One of 41 KB that becomes 600 MB: the output is written, and its size is said.
"$BUILDDIR/tests/views/events_write" fat large.vgp 20
complains 0 '^vgtool folded: large.vgp: the output has [5-9].. MiB' "$VGTOOL" folded -o /dev/null large.vgp

# A file that costs nothing, and a pipe that may never have a writer.
cp good.vgp holes.vgp
truncate -s 2G holes.vgp
complains 1 'holes.vgp: 20.. MiB of holes; at most 1024 are read' "$VGTOOL" report holes.vgp
if [ "$(id -u)" = 0 ]; then
	mkfifo pipe.vgp
	chown 65533 pipe.vgp
	# A link of another user in a directory of profiles is left out: nothing is said of the file to which it leads.
	mkdir spool
	cp good.vgp spool/a.vgp
	ln -s ../foreign.vgp spool/b.vgp
	exits 0 "$VGTOOL" report spool
	has err 'spool/b.vgp'
	chown -h 65533 spool/b.vgp
	exits 0 "$VGTOOL" report spool
	[ ! -s err ] || fail "a link of another user is followed: $(cat err)"
	complains 1 'pipe.vgp: a named pipe of another user (uid 65533)' "$VGTOOL" report pipe.vgp
fi

# One flipped bit: vgtool loses at most one chunk, and prints where.  (check_profile.c flips every bit of a profile.)
awk -v size="$size" 'BEGIN { srand(1); for (i = 0; i < 5; i++) print int(rand() * size) }' >offsets
while read -r offset; do
	cp good.vgp flipped.vgp
	byte=$(od -An -tu1 -j "$offset" -N 1 good.vgp)
	printf "\\$(printf %o $((byte ^ 16)))" | dd of=flipped.vgp bs=1 seek="$offset" conv=notrunc 2>/dev/null
	for command in info report dump speedscope; do
		status=0
		"$VGTOOL" $command flipped.vgp >out 2>err || status=$?
		[ $status -le 1 ] || fail "$command with a flipped bit at $offset: status $status"
		[ -s err ] || fail "$command does not report a flipped bit at $offset"
	done
done <offsets
