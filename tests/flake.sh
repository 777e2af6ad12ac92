#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# flake.sh TESTS: runs these tests again and again, and prints which ones failed: N times (15) beside stress-ng,
# which keeps all CPUs and the disk busy, and ONE_CORE times (10) on the CPU with the number CORE (0).  Fails if a test
# failed once.  The logs of failures are in the folder flake of the build.
set -eu
unset MAKEFLAGS MFLAGS MAKELEVEL               # from the make that runs this script
export ALL_TOOLS=1                             # a missing tool fails a test
tests=$1
n=${N:-15} one_core=${ONE_CORE:-10} core=${CORE:-0} jobs=${JOBS:-4}
[ "$n" -ge 0 ] && [ "$one_core" -ge 0 ] && [ "$((n + one_core))" -gt 0 ] || { echo "flake: N and ONE_CORE must be numbers"; exit 1; }
command -v stress-ng >/dev/null || { echo "flake: stress-ng is missing"; exit 1; }
rm -rf flake
mkdir flake
stress=
trap '[ -z "$stress" ] || kill $stress' EXIT
trap 'exit 1' INT TERM

# round NAME COMMAND...: runs the tests once, by this command
round() {
	round=$1 begin=$(date +%s) status=0 failed=
	shift
	"$@" -s check-TESTS TESTS="$tests" >"flake/$round" 2>&1 || status=$?
	for trs in $(grep -lE '^:test-result: (FAIL|ERROR)' $(echo "$tests" | sed 's/\.\(sh\|suite\)\( \|$\)/.trs /g') 2>/dev/null); do
		failed=yes
		echo "$round: failed: ${trs%.trs}" | tee -a flake/failures
		cp "${trs%.trs}.log" "flake/$round.$(basename "${trs%.trs}").log"
	done
	{ [ $status = 0 ] || [ -n "$failed" ]; } && grep -q '^# TOTAL: *[1-9]' "flake/$round" ||
		echo "$round: make failed, or no test ran: flake/$round" | tee -a flake/failures
	echo "$round: $(sed -n 's/^# \(TOTAL\|FAIL\|ERROR\|SKIP\): */\1 /p' "flake/$round" | tr '\n' ' ')$(($(date +%s) - begin)) s"
}

: >flake/failures
stress-ng --cpu 4 --io 2 >/dev/null 2>&1 & stress=$!
for i in $(seq "$n"); do
	round "busy-$i" make -j"$jobs"
	kill -0 $stress || { echo "busy-$i: stress-ng has ended" | tee -a flake/failures; break; }
done
kill $stress 2>/dev/null || true
wait $stress 2>/dev/null || true
stress=
for i in $(seq "$one_core"); do round "one-core-$i" taskset -c "$core" make -j"$jobs"; done
[ ! -s flake/failures ] || { echo "failures in $n busy and $one_core one-core rounds:"; cat flake/failures; exit 1; }
echo "no failure in $n busy and $one_core one-core rounds"
