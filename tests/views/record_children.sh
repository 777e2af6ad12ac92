#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool record with several processes: --children records the descendants of a command or of a running process, also
# those that exist before the recording; --pid takes several processes.  Each has a profile in a directory.  Ctrl-C
# keeps all profiles.  A process that cannot be recorded, a vignetted that is killed, and the bounds end no other
# recording.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
cd "$dir"

# tree SECONDS: forks a worker, which forks a grandchild.  Each of the three processes uses that many seconds of CPU
# time.  If these are more than 10, the processes sleep in between.
cat >tree.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define WORK(name) \
	__attribute__((noinline)) static void name(double seconds) \
	{ \
		while (clock() < seconds * CLOCKS_PER_SEC) { \
			for (volatile int i = 0; i < 1000000; i++) \
				; \
			usleep(seconds > 10 ? 20000 : 0); \
		} \
	}
WORK(root_work)
WORK(worker_work)
WORK(grandchild_work)
static int child(void)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid == 0;
}
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	if (!child())
		root_work(seconds);
	else if (!child())
		worker_work(seconds);
	else
		grandchild_work(seconds);
	while (wait(NULL) > 0)
		;
	return 0;
}
END
$CC -O1 -g -Wl,--build-id=sha1 -o tree tree.c

# profiles DIRECTORY COUNT: fails unless the directory has so many profiles, and nothing else
profiles() {
	[ "$(find "$1" -name '*.vgp' | wc -l)" = "$2" ] && [ "$(find "$1" -type f | wc -l)" = "$2" ] ||
		fail "not $2 profiles: $(ls "$1")"
}

# recording DIRECTORY COUNT: whether so many processes are being recorded
recording() { [ "$(find "$1" -name '*.vgp.part' -size +0 2>/dev/null | wc -l)" -ge "$2" ]; }

# all_named: fails unless the output of the latest command has the functions of all processes of a tree
all_named() {
	for function in root_work worker_work grandchild_work; do
		has out "$function  [tree]"
	done
}

# ---- a command; its descendants; the exit status; processes that are too short ----
exits 7 "$VGTOOL" record --children --rate 200 -o command -- sh -c '
	for i in 1 2 3 4 5; do sleep 0.1; done; ./tree 0.5; exit 7'
all_named
has err 'vgtool record: command: '
has err ' too short to record'
[ "$(ls command/tree.*.vgp | wc -l)" = 3 ] || fail "not three profiles of tree: $(ls command)"
exits 0 "$VGTOOL" report --by process command
[ "$(grep -c ' tree$' out)" = 3 ] || fail "not three rows: $(cat out)"
# The kept profiles have the names of functions.
mv tree elsewhere
exits 0 "$VGTOOL" report command
all_named
mv elsewhere tree

# ---- the temporary profiles are removed ----
mkdir temporary
TMPDIR=$dir/temporary exits 0 "$VGTOOL" record --children --rate 200 -- ./tree 0.2
[ -z "$(ls temporary)" ] || fail "record left $(ls temporary)"

# ---- running processes: with their descendants; several; one does not exist ----
./tree 600 & first=$!
./tree 600 & second=$!
pids="$first $second"
started_all() { [ -n "$(cat /proc/$first/task/$first/children)" ] && executed $second; }
await 30 'the workers' started_all
exits 0 "$VGTOOL" record --children --rate 200 --duration 1 --weight wall -o running --pid $first
all_named
profiles running 3
exits 0 "$VGTOOL" record --rate 200 --duration 1 --weight wall -o two --pid $first,$second
has err ' of 2 processes in '
has out 'root_work  [tree]'
! grep -q worker_work out || fail "a worker was recorded: $(cat out)"
profiles two 2
exits 1 "$VGTOOL" record --rate 200 --duration 1 -o exists --pid $first,2147483647
has err 'process 2147483647 does not exist'
has err ' of 1 process in '
profiles exists 1

# started_group DIRECTORY COUNT COMMAND...: starts the command in a process group of its own, as $group, and waits until
# so many processes are being recorded
started_group() {
	wanted=$1 count=$2
	shift 2
	setsid "$@" >"$dir/out" 2>"$dir/err" & group=$!
	pids="$pids $group"
	await 60 "$count recordings in $wanted" recording "$wanted" "$count"
}
# group_end STATUS: fails unless the group's command exits with the status
group_end() {
	wait $group && status=0 || status=$?
	[ $status = "$1" ] || fail "status $status, not $1: $(cat "$dir/err")"
}

# ---- the terminal sends a signal to the whole group; kill(2) sends it to vgtool only ----
started_group stopped 3 "$VGTOOL" record --children --rate 200 -o stopped --pid $first
kill -s TERM -- -$group
group_end 0
has err '(interrupted by a signal)'
profiles stopped 3
started_group alone 3 "$VGTOOL" record --children --rate 200 -o alone --pid $first
kill -s TERM $group
group_end 0
profiles alone 3

# ---- a vignetted that is killed: the others go on ----
started_group killed 3 "$VGTOOL" record --children --rate 200 -o killed --pid $first
worker=$(cat /proc/$first/task/$first/children)
worker=${worker% }
for helper in $(cat /proc/$group/task/$group/children); do
	! tr '\0' ' ' <"/proc/$helper/cmdline" | grep -q -e "--pid=$worker " || kill -s KILL "$helper"
done
two_left() { [ "$(wc -w <"/proc/$group/task/$group/children")" = 2 ]; }
await 30 'the end of a recording' two_left
kill -s TERM $group
group_end 0
has err "1 process could not be recorded; the first: process $worker: vignetted was ended by a signal: Killed"
end $first $second

# ---- a process that another tracer has ----
exits 0 "$VGTOOL" record --children --rate 200 -o traced -- sh -c './tree 0.5; strace -o log.strace ./tree 0.5'
has err 'could not be recorded; the first: process '
all_named

# ---- more processes than can be recorded at a time ----
many() {
	cat >many.sh <<-'END'
	for i in $(seq 70); do sleep 600 & done
	wait
	END
	started_group many 64 "$VGTOOL" record --children --rate 1 -o many -- sh many.sh
	# Only vgtool gets the signal: if a process ended, another one would get its place.
	kill -s TERM $group
	group_end 0
	kill -s KILL -- -$group 2>/dev/null || true
	has err ' of 64 processes in '
	has err '7 processes were not recorded: too many at a time or in all'
	profiles many 64
}
[ -n "${SANITIZE-}" ] || many

# ---- errors ----
for out in command err; do
	exits 1 "$VGTOOL" record --children -o $out -- true
	has err "-o $out: must be a new or empty directory"
done
exits 2 "$VGTOOL" record --pid 1,x
has err '--pid 1,x: must be the id of a process, or several ids'
exits 2 "$VGTOOL" record --pid 1,2,1
has err 'has the process 1 twice'
exits 2 "$VGTOOL" record --pid "$(seq -s , 1 65)"
has err 'more than 64 processes'
exits 127 "$VGTOOL" record --children -o new -- ./none
[ ! -e new ] || fail "a directory without profiles was left"
