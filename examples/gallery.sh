#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# gallery.sh DIRECTORY [PICTURE...]: the programs simulation.c, .cc and .rs record themselves, stripped, and the profile
# of each becomes a page and a picture of the page.  Prints every command as a user would type it.
#
# The pictures are DIRECTORY/c.png, cc.png, rs.png, and difference.png: a comparison of c with another build of it.
# Environment: SRCDIR and BUILDDIR of Vignette; CC, CXX, RUSTC, CHROMIUM; STEPS of the simulation.
set -eu
: "${SRCDIR:?}" "${BUILDDIR:?}"
mkdir -p "$1"
directory=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- c cc rs difference
PATH=$BUILDDIR/vgtool:$BUILDDIR/vignetted:$PATH
export PATH
printf '$ PATH=%s:%s:$PATH\n' "$BUILDDIR/vgtool" "$BUILDDIR/vignetted"

# quoted WORD...: prints the words with a space before each, as a shell reads them
quoted() {
	for word in "$@"; do
		case $word in
		'' | *[!A-Za-z0-9_./,:=+-]*) printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

run() {
	printf '$%s\n' "$(quoted "$@")"
	"$@"
}

# quietly LOG COMMAND...: runs it with the command's messages in the file LOG, and prints them if it fails
quietly() {
	log=$1
	shift
	run "$@" 2>"$log" || { cat "$log" >&2; exit 1; }
}

# record PICTURE: makes the program `simulation`, which writes the profile simulation.vgp
record() {
	run cp "$SRCDIR/libvgctl/vgctl.h" "$BUILDDIR/libvgctl/.libs/libvgctl.a" "$BUILDDIR/vignetted/vignetted" .
	source=$SRCDIR/examples/simulation
	case $1 in
	c) run ${CC:-cc} -O2 -g -I. -o simulation "$source.c" -L. -lvgctl -lpthread -lm ;;
	difference)
		run ${CC:-cc} -O2 -fno-tree-slp-vectorize -g -I. -o simulation "$source.c" -L. -lvgctl -lpthread -lm
		;;
	cc) run ${CXX:-c++} -std=c++20 -O2 -g -I. -o simulation "$source.cc" -L. -lvgctl ;;
	rs) run ${RUSTC:-rustc} --edition 2021 -O -g -L . "$source.rs" ;;
	esac
	quietly symbols.log vgtool symbols -o symbols simulation $(ldd simulation | awk '$3 ~ /^\// { print $3 }')
	run strip --strip-all simulation
	quietly progress.log ./simulation simulation.vgp ${STEPS-500}
	quietly resolve.log vgtool resolve -s symbols simulation.vgp -o simulation.resolved.vgp
}

# picture PICTURE PART WIDTH,HEIGHT: makes the picture.  PART is the part of the page's address after "#", which says
# what the page shows.
picture() {
	[ "$(id -u)" != 0 ] || sandbox=--no-sandbox     # Chromium's own sandbox does not work for root
	# On a busy machine the browser may take the picture before it has drawn all of the page.  So a picture counts only
	# if it is the same twice in a row, and larger than one of a page without its data.
	for attempt in 1 2 3 4 5 6 7 8; do
		quietly chromium.log "${CHROMIUM:-chromium}" --headless ${sandbox-} --user-data-dir="$PWD/chromium" \
			--hide-scrollbars --virtual-time-budget=5000 --window-size="$3" \
			--screenshot="$PWD/$attempt.png" "file://$PWD/simulation.html#$2"
		if [ "$(stat -c %s $attempt.png)" -gt 30000 ] && cmp -s $attempt.png $((attempt - 1)).png; then
			run cp $attempt.png "$directory/$1.png"
			return
		fi
	done
	echo "gallery.sh: $directory/$1.png: the browser has not drawn the page" >&2
	exit 1
}

for name in "$@"; do
	run rm -rf "$directory/$name"
	run mkdir "$directory/$name"
	run cd "$directory/$name"
	base= size=1100,560
	case $name in
	c) part="weight=wall" ;;
	cc) part="weight=wall&track=0&search=mutex::lock" ;;                     # the main thread
	rs) part="weight=wall&track=1&colour=file" size=860,620 ;;              # the first worker
	difference) part="weight=cpu&base=1" base=$directory/c/simulation.resolved.vgp ;;
	esac
	record "$name"
	run vgtool view ${base:+--base "$base"} simulation.resolved.vgp -o simulation.html
	picture "$name" "$part" "$size"
done
printf '\nThe pictures are in %s.\n' "$directory"
