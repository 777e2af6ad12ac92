#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# PATH.part is removed or replaced while vignetted writes it.  The profile still gets its name, and a file that
# replaced PATH.part stays.  If the profile cannot get its name, vignetted fails with a message.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node
cd "$dir"

# recorded DIRECTORY COMMAND: records into that directory and runs the command there meanwhile; sets $status
recorded() {
	mkdir "$1"
	"$VIGNETTED" -p $host -o "$1/p.vgp" --rate 200 --duration 600 2>err & helper=$!
	pids="$host $helper"
	await 120 "samples in $1/p.vgp.part: $(cat err)" holds "$1/p.vgp.part" 'it.samples > 0'
	(cd "$1" && eval "$2") || fail "$1: $2"
	kill -INT $helper
	status=0
	wait $helper || status=$?
}

# whole DIRECTORY: fails unless the profile there is complete and no other file of vignetted is left
whole() {
	[ $status = 0 ] || fail "$1: status $status: $(cat err)"
	"$VGTOOL" info --json "$1/p.vgp" >info 2>log || fail "$1: $(cat log) $(ls "$1")"
	[ "$(json info it.truncated)" = false ] || fail "$1: $(cat info)"
	[ "$(json info it.samples)" -gt 0 ] || fail "$1: no samples"
	! ls "$1" | grep -q 'part\.' || fail "$1: left: $(ls "$1")"
}

"$BUILDDIR/tests/recording/naps" fixed & host=$!
recorded removed 'rm p.vgp.part'
whole removed
recorded replaced 'rm p.vgp.part; echo theirs >p.vgp.part; echo older >p.vgp'
whole replaced
[ "$(cat replaced/p.vgp.part)" = theirs ] || fail "replaced: the other file was removed: $(ls replaced)"
recorded moved 'mv p.vgp.part elsewhere'
whole moved
recorded gone 'cd ..; rm -r gone'
[ $status = 1 ] || fail "gone: status $status: $(cat err)"
[ "$(cat err)" = "vignetted: gone/p.vgp.part was removed or replaced, and its data cannot be saved as gone/p.vgp: \
No such file or directory" ] || fail "gone: $(cat err)"
