#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# demo.sh DIRECTORY: a stripped program records a profile of itself, which is then symbolized with saved
# symbols.  Prints every command as a user would type it.
#
# Environment: SRCDIR and BUILDDIR of Vignette; CC and CFLAGS for the compilation; LIFE_SECONDS, which the program runs.
set -eu
: "${SRCDIR:?}" "${BUILDDIR:?}"
directory=$1
PATH=$BUILDDIR/vgtool:$BUILDDIR/vignetted:$PATH
export PATH

step() {
	printf '\n%s\n' "$1"
}

run() {
	printf '$ %s\n' "$*"
	"$@"
}

mkdir -p "$directory"
cd "$directory"
rm -rf life life.vgp symbols life.resolved.vgp life.speedscope.json

step "The program is built with debug information, and linked with libvgctl:"
run ${CC:-cc} ${CFLAGS--O2 -g} -D_GNU_SOURCE -I"$SRCDIR/libvgctl" -o life "$SRCDIR/examples/life.c" \
	"$BUILDDIR/libvgctl/.libs/libvgctl.a" -lpthread

step "Its symbols are saved, and those of the C library:"
run vgtool symbols -o symbols life "$(ldd life | awk '$1 == "libc.so.6" { print $3 }')"

step "It ships stripped, with the helper in the same directory:"
run strip --strip-all life
run cp "$BUILDDIR/vignetted/vignetted" .

step "On another machine it runs and records its own threads:"
run ./life life.vgp ${LIFE_SECONDS-}

step "The profile has build ids and addresses, and no function names:"
run vgtool info life.vgp

step "It is symbolized with the saved symbols:"
run vgtool resolve -s symbols life.vgp -o life.resolved.vgp
run vgtool speedscope life.resolved.vgp -o life.speedscope.json

step "Open life.speedscope.json in Speedscope.  The hottest functions are:"
run vgtool report --limit 12 life.resolved.vgp
