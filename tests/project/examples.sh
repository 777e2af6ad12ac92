#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The examples of the man pages and of README.md work.  Every command and every piece of C in a section EXAMPLES, or in
# a fenced block of README.md, runs here.  They run in the order of the page, in a directory that has the files which
# the page takes for granted.  A command must exit with 0.
#
# Left out, with the reason:
left_out='xdg-open|^firefox|chromium : need a browser
debuginfod|example\.org : need the network
vgtool.top : needs a terminal, and runs in tests/views/top.sh
flamegraph.pl : is in no package of Debian'
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs gcc pkg-config node go patch
. "$SRCDIR/tests/installed.sh"

# blocks PAGE: writes the blocks of the section EXAMPLES to the files 01, 02 and so on.  A block is between .Bd and .Ed,
# or between .EX and .EE, or it is a line of .Dl.  In Markdown a block is between fences.
blocks() {
	awk '
		function plain(text) {
			gsub(/\\&/, "", text); gsub(/\\-/, "-", text); gsub(/\\\(dq/, "\"", text)
			gsub(/\\e/, "\\", text)
			return text
		}
		function file() { return sprintf("%02d", ++count) }
		/^```/ { fenced = !fenced; if (fenced) name = file(); else close(name); next }
		fenced { print >name; next }
		/^\.Sh / { section = $2; next }
		section != "EXAMPLES" { next }
		/^\.Dl / { name = file(); print plain(substr($0, 5)) >name; close(name); next }
		/^\.(Bd|EX)/ { name = file(); within = 1; next }
		/^\.(Ed|EE)/ { close(name); within = 0; next }
		within { print plain($0) >name }' "$1"
}

# commands FILE: prints the commands, one per line, without comments.  A command continues after a backslash or a pipe
# at the end of its line.  Other lines are output.
commands() {
	awk '
		/^\$ / { sub(/ +# .*/, ""); command = substr($0, 3); going = 1 }
		!/^\$ / && going { sub(/^ +/, ""); command = command " " $0 }
		going && !/[|\\]$/ { print command; going = 0 }
		{ sub(/\\$/, "", command) }' "$1"
}

# The application: with a path it records itself into that file; without a path it listens for vgctl(1).
cat >"$dir/app.c" <<'END'
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "vgctl.h"
static __attribute__((noinline)) void work(double seconds)
{
	VGCTL_SCOPE(vgctl_intern("step"), vgctl_intern("load"));
	for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;) {
		for (volatile int i = 0; i < 1000000; i++)
			;
	}
	vgctl_counter(vgctl_intern("loaded"), 1);
}
int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	int rc = argc > 1 ? 0 : vgctl_listen(NULL, NULL);
	options.counters = "page-faults,context-switches";
	options.rate_hz = 499;
	if (rc == 0 && argc > 1 && (rc = vgctl_begin(argv[1], &options, &session)) == 0) {
		work(0.3);
		return vgctl_end(session, NULL) < 0;
	}
	if (rc < 0)
		fprintf(stderr, "%s\n", vgctl_strerror(rc));
	printf("listening\n");
	fflush(stdout);
	while (rc == 0) {
		work(0.01);
		usleep(40000);
	}
	return 1;
}
END
cat >"$dir/prog.c" <<'END'
static __attribute__((noinline)) void slow(void) { for (volatile long i = 0; i < 50000000; i++) ; }
int main(void) { slow(); }
END
export XDG_RUNTIME_DIR="$dir/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
# shellcheck disable=SC2046
$CC -O2 -g -o "$dir/app" "$dir/app.c" $(pkg-config --cflags --libs vgctl)
"$dir/app" "$dir/app.vgp" || fail "no recording"
vgtool symbols -o "$dir/symbols" "$dir/app" >"$dir/log"
vgtool resolve -s "$dir/symbols" "$dir/app.vgp" -o "$dir/named.vgp" 2>"$dir/log"
$CC -O2 -g -o "$dir/installed/program" "$dir/prog.c"
started "$dir/listening" "$dir/app"

# files COMMAND: creates the files that the command reads and that do not exist yet.  A profile is resolved if its name
# contains "named" or "resolved".
files() {
	before=
	# shellcheck disable=SC2086
	set -f; set -- $1; set +f
	for word in "$@"; do
		case $before$word in
		-o*) ;;
		*.c) [ -e "$word" ] || cp "$dir/prog.c" "$word" ;;
		*./[a-z]*) [ -e "$word" ] || cp "$dir/installed/program" "$word" ;;
		*.vgp)
			for file in $(echo "$word" | sed 's/\*/1/') $(echo "$word" | sed -n 's/\*/2/p; s/\*/3/p'); do
				mkdir -p "$(dirname "$file")"
				case $file in *named* | *resolved*) from=$dir/named.vgp ;; *) from=$dir/app.vgp ;; esac
				[ -e "$file" ] || cp "$from" "$file"
			done ;;
		esac
		[ "$before" != -s ] || [ -e "$word" ] || cp -r "$dir/symbols" "$word"
		before=$word
	done
}

# run COMMAND: runs the command with the application's pid instead of the pid in the page.  A recording with --duration
# takes one second.  A range of 50 ms is a longer one: on a busy machine the profile may have nothing in it.
run() {
	reason=$(echo "$left_out" | while read -r pattern colon words; do
		! echo "$1" | grep -qE "$pattern" || echo "$words"
	done)
	[ -z "$reason" ] || { echo "left out ($reason): $1"; return; }
	command=$(echo "$1" | sed -E "s/\b(4711|24838)\b/$started/g; s/--duration[ =][0-9]+/--duration 1/
		s/0\.05\.\.0\.1/0.05../; s|/opt/|opt/|g; s/^sudo //")
	files "$command"
	status=0
	timeout $life_s sh -c "$command" >"$dir/out" 2>&1 </dev/null || status=$?
	echo "$1: $status"
	case $status$command in
	# These statuses are answers: symbols are missing, a string may identify a person, something is slower, or the
	# profiles are too short to tell.
	0* | 1"vgtool missing "* | 1"vgtool audit "* | [12]"vgtool diff "*) ;;
	*) fail "$page: $1: status $status: $(cat "$dir/out")" ;;
	esac
	ran=$((ran + 1))
}

# c FILE: compiles a C program and runs it.  The source has the name that the page's commands use.  If it is a piece of
# a program, its statements outside functions are put into main().
c() {
	source=$(cat [0-9][0-9] | grep '^\$' | grep -oE '[a-z_]+\.c\b' | head -n 1)
	source=${source:-example.c}
	if grep -q 'int main' "$1"; then
		# The loop that takes long is shorter here.
		sed 's/2000000000/100000000/' "$1" >"$source"
		# The functions that the page leaves to the reader
		sed -n 's/^extern \(void [a-z_]*(void)\);$/\1 { for (volatile long i = 0; i < 25000000; i++) ; }/p' \
			"$1" >>"$source"
	else
		source=piece.c
		{
			echo '#include <vgctl.h>'
			echo 'int pictures_loaded;'
			grep -vE '^[a-z_]+ = |^vgctl_|\.\.\.' "$1"
			echo 'int main(void) {'
			grep -E '^[a-z_]+ = |^vgctl_' "$1" || true
			echo '}'
		} >$source
	fi
	run "$CC -Wall -Werror -g -o piece $source $(pkg-config --cflags --libs vgctl)"
	run ./piece
}

ran=0
for page in README.md man/vgctl.1 man/vgtool.1 man/vignetted.8 man/vignette.7 man/vgctl.3; do
	mkdir -p "$dir/$page/work/opt/app" "$dir/$page/work/build/libs"
	cd "$dir/$page/work"
	cp "$dir/app" opt/app/
	cp "$dir/app" build/program
	cp "$dir/installed/libvgctl.so" build/libs/
	seq 1000000 -1 1 >data
	printf 'all:\n\t@%s\n' "$dir/installed/program" >Makefile
	blocks "$SRCDIR/$page"
	set -- [0-9][0-9]
	[ -e "$1" ] || fail "$page has no examples"
	for block in "$@"; do
		if grep -q '^\$ ' "$block"; then
			commands "$block" >"$dir/commands"
			while read -r line; do run "$line"; done <"$dir/commands"
		else c "$block"; fi
	done
done
[ $ran -ge 50 ] || fail "only $ran examples"
