#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The examples in C++, Rust, Python and Go work, with the commands in their first comments.  The profile of each has the
# example's interval, thread and function.  If a recording cannot begin, the example prints the library's sentence.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs g++ rustc go /usr/bin/python3 pkg-config
. "$SRCDIR/tests/installed.sh"
# The tools of Debian's packages, before other versions that the machine may have.  go uses no network.
PATH=$dir/installed:/usr/bin:$PATH
export PATH GOCACHE="$dir/gocache" GOPATH="$dir/gopath" GOFLAGS= GOPROXY=off GOTOOLCHAIN=local

# example SUFFIX PROGRAM FUNCTION: runs the commands of examples/primes.SUFFIX.  PROGRAM is the file that has FUNCTION.
example() {
	cp "$SRCDIR/examples/primes.$1" .
	sed -nE '2,8s#^(//)?(\t| {4,})([a-z./].*)#\3#p' "primes.$1" >commands
	timeout $life_s sh -ex ./commands >out 2>&1 || fail "primes.$1: $(cat out)"
	vgtool symbols -o symbols "$2" >>out
	vgtool resolve -s symbols primes.vgp -o named.vgp 2>>out
	rm -r symbols                           # the names are in the resolved profile
	vgtool report --limit 100 --thread worker --interval 'small primes' named.vgp >report
	cat report
	for text in 'interval small primes: ' 'thread [0-9]* worker: [0-9]* samples' " $3  \["; do
		grep -q "$text" report || fail "primes.$1: no '$text' in the profile: $(cat out)"
	done
	vgtool summary primes.vgp | grep -q 'small primes  \[count\]' || fail "primes.$1: no interval of that kind"

	exits 1 env VIGNETTED=/nonexistent sh -c "$(tail -n 1 commands | sed 's/ &&.*//')"
	has err 'cannot find the helper'
}

cc() { example cc primes primes_count; }
rs() { example rs primes primes::primes_count; }
go() { example go primes main.primesCount; }
# Python 3.11 cannot record the names of Python functions.  This function of the interpreter runs them.
py() { example py "$(readlink -f /usr/bin/python3)" _PyEval_EvalFrameDefault; }
side_by_side cc rs go py
