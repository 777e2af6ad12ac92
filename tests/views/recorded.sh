# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For test scripts, after lib.sh: recordings with enough samples, and a recording that several scripts use.

# effective PROFILE: prints the number of samples with equal CPU time that would show shares of CPU time as precisely as
# the profile's samples do: (sum of weights)^2 / sum of squared weights.  On a busy machine a few samples can stand for
# much of the time; then this number is small, although the profile has many samples.
effective() {
	"$VGTOOL" dump "$1" | awk '/"kind":"sample"/ {
		if (!match($0, /"cpu_100us":[0-9]+/))
			next
		weight = substr($0, RSTART + 12, RLENGTH - 12)
		sum += weight
		squares += weight * weight
	}
	END { print int(squares ? sum * sum / squares : 0) }'
}

# record_until COUNT PROFILE PROGRAM [OPTION...]: records `PROGRAM TURNS` until the profile has COUNT effective samples.
# TURNS is at first 1, and then twice as much each time.  The options are those of vignetted.
record_until() {
	least=$1 profile=$2 program=$3 effective=0
	shift 3
	lengthen "1 2 4 8 16 32 64 128 256 512 1024" turns_recorded "$@" ||
		fail "$profile: $effective effective samples in $long turns; expected $least"
}
turns_recorded() {
	some_recorded "$@" --budget 0 -o "$profile" -- "$program" $long || return 1
	effective=$(effective "$profile")
	[ "$effective" -ge "$least" ]
}

# held EXPRESSION: the JavaScript expression is true; `it` is the JSON output of the latest exits().  held_all() judges
# all of them with one start of node, and fails unless all are true.
held_count=0
held() {
	held_count=$((held_count + 1))
	cp "$dir/out" "$dir/held.$held_count"
	printf '%s' "$1" >"$dir/held.$held_count.js"
}
held_all() {
	node -e 'const { readFileSync } = require("fs"), [directory, count] = process.argv.slice(1);
		for (let i = 1; i <= count; i++) {
			const text = readFileSync(`${directory}/held.${i}`, "utf8"), it = JSON.parse(text);
			const expression = readFileSync(`${directory}/held.${i}.js`, "utf8");
			if (eval(expression) === true)
				continue;
			console.error(`not true: ${expression}: ${text.slice(0, 600)}`);
			process.exit(1);
		}' "$dir" $held_count 2>"$dir/log.held" || fail "$(cat "$dir/log.held")"
}

# viewers_recorded: sets $viewers to the program of tests/fixtures/viewers.cc, and $recorded to its profile of itself.
# Both are made once for each build, and again if what they are made of has changed.
viewers_recorded() {
	viewers=$BUILDDIR/tests/shared/viewers recorded=$BUILDDIR/tests/shared/viewers.vgp
	mkdir -p "$BUILDDIR/tests/shared"
	flock "$BUILDDIR/tests/shared" sh -eu -c "$viewers_make" sh "$viewers" "$recorded" >"$dir/log.recorded" 2>&1 ||
		fail "tests/fixtures/viewers.cc was not compiled or recorded: $(cat "$dir/log.recorded")"
}
viewers_make='
	source=$SRCDIR/tests/fixtures/viewers.cc library=$BUILDDIR/libvgctl/.libs/libvgctl.a current=yes
	for part in "$source" "$library" "$VIGNETTED" "$SRCDIR/tests/views/recorded.sh"; do
		[ "$2" -nt "$part" ] || current=no
	done
	[ $current = no ] || exit 0
	# As a release: optimisation, and line numbers.
	${CXX:-c++} -std=c++17 -O2 -g -Wl,--build-id=sha1 -pthread -I"$SRCDIR/libvgctl" -o "$1" "$source" "$library"
	. "$SRCDIR/tests/lib.sh"
	. "$SRCDIR/tests/views/recorded.sh"
	enough() {
		"$1" "$2" && [ "$(effective "$2")" -ge 150 ] &&
			[ "$("$VGTOOL" folded --threads "$2" | grep -E "^sleeper;.*\[clock_nanosleep\]|^reader;.*\[read\]" |
				cut -d ";" -f 1 | sort -u | wc -l)" = 2 ]
	}
	again "150 samples, and both waits" enough "$1" "$2.new"
	mv "$2.new" "$2"'
