#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool record with several processes: --children records the descendants of a command or of a running process, also
# those that exist before the recording; --pid takes several processes.  Each has a profile in a directory.  Ctrl-C
# keeps all profiles.  A process that cannot be recorded, a vignetted that is killed, and the bounds end no other
# recording.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs strace setsid
cd "$dir"

# tree SECONDS [FILE]: forks a worker, which forks a grandchild.  Each of the three processes waits for the file, at work,
# and then uses so many seconds of CPU time.  They sleep in between.  The first process writes its pid to FILE.pid.
cat >tree.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static const char *file;
#define WORK(name) \
	__attribute__((noinline)) static void name(double seconds) \
	{ \
		clock_t begin = clock(); \
		while (clock() - begin < seconds * CLOCKS_PER_SEC) { \
			if (file != NULL && access(file, F_OK) != 0) \
				begin = clock(); \
			for (volatile int i = 0; i < 1000000; i++) \
				; \
			usleep(seconds > 10 ? 20000 : 1000); \
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
	double seconds = atof(argv[1]);
	file = argc > 2 ? argv[2] : NULL;
	if (file != NULL) {
		char name[100];
		snprintf(name, sizeof name, "%s.pid", file);
		FILE *out = fopen(name, "w");
		fprintf(out, "%d\n", getpid());
		fclose(out);
	}
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

# started_group DIRECTORY COUNT COMMAND...: starts the command in a process group of its own, as $group, and waits until
# so many processes are being recorded
started_group() {
	wanted=$1 count=$2
	shift 2
	setsid "$@" >"$dir/out" 2>"$dir/err" & group=$!
	pids="$pids $group"
	await 120 "$count recordings in $wanted" recording "$wanted" "$count"
}

# work_more PROCESS...: waits until each of these processes has used 30 ms of CPU time more
work_more() {
	for process in "$@"; do
		await 120 "process $process works" worked "$process" $(($(used_ms "$process") + 30))
	done
}

# group_end STATUS: fails unless the group's command exits with the status
group_end() {
	wait $group && status=0 || status=$?
	[ $status = "$1" ] || fail "status $status, not $1: $(cat "$dir/err")"
}

# ---- a command; its descendants; the exit status ----
# The shell and three processes
started_group command 4 "$VGTOOL" record --children --rate 997 --budget 0 -o command -- sh -c './tree 0.2 go; exit 7'
: >go
group_end 7
all_named
has err 'vgtool record: command: '
profiles command 4
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
await 120 'the workers' started_all
# On a busy machine a recording of one second may have no sample of a process.
sampled() {
	where=$1
	shift
	rm -rf "$where"
	reported "$VGTOOL" record --rate 200 --duration 1 --weight wall -o "$where" "$@" &&
		grep -qF 'root_work  [tree]' out
}
again 'samples of the root' sampled running --children --pid $first
again 'samples of the roots' sampled two --pid $first,$second
has err ' of 2 processes in '
! grep -q worker_work out || fail "a worker was recorded: $(cat out)"
profiles two 2
exits 1 "$VGTOOL" record --rate 200 --duration 1 -o exists --pid $first,2147483647
has err 'process 2147483647 does not exist'
has err ' of 1 process in '
profiles exists 1

# ---- the terminal sends a signal to the whole group; kill(2) sends it to vgtool only ----
started_group stopped 3 "$VGTOOL" record --children --rate 200 --weight wall -o stopped --pid $first
worker=$(cat /proc/$first/task/$first/children)
worker=${worker% }
work_more $first $worker $(cat /proc/$worker/task/$worker/children)
kill -s TERM -- -$group
group_end 0
all_named
has err '(interrupted by a signal)'
profiles stopped 3
started_group alone 3 "$VGTOOL" record --children --rate 200 -o alone --pid $first
work_more $first
kill -s TERM $group
group_end 0
profiles alone 3

# ---- a vignetted that is killed: the others go on ----
started_group killed 3 "$VGTOOL" record --children --rate 200 -o killed --pid $first
for helper in $(cat /proc/$group/task/$group/children); do
	! tr '\0' ' ' <"/proc/$helper/cmdline" | grep -q -e "--pid=$worker " || kill -s KILL "$helper"
done
two_left() { [ "$(wc -w <"/proc/$group/task/$group/children")" = 2 ]; }
await 120 'the end of a recording' two_left
work_more $first
kill -s TERM $group
group_end 0
has err "1 process could not be recorded; the first: process $worker: vignetted was ended by a signal: Killed"
end $first $second

# ---- a process that another tracer has; processes that are too short ----
# strace has the first process of its tree, and not the other two.  vgtool tries to record each process that has used
# 20 ms of CPU time.  `sleep 0.1` is seen, but not recorded: it uses less, and ends before it is a second old.
started_group traced 3 "$VGTOOL" record --children --rate 997 --budget 0 -o traced -- sh -c '
	strace -o log.strace ./tree 0.2 traced.go; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; done'
traced=$(cat traced.go.pid)
work_more "$traced"
# The three recordings so far may be those of the shell and of strace, too.
children_recorded() {
	worker=$(cat "/proc/$traced/task/$traced/children")
	grandchild=$(cat "/proc/${worker% }/task/${worker% }/children")
	ls traced/*."${worker% }".vgp.part traced/*."${grandchild% }".vgp.part
}
await 120 "the worker and the grandchild are recorded: $(ls traced)" children_recorded
: >traced.go
group_end 0
has err 'could not be recorded; the first: process '
has err ' too short to record'
has out 'worker_work  [tree]'
has out 'grandchild_work  [tree]'

# ---- more processes than can be recorded at a time ----
many() {
	# No process of the script ends: on a busy machine a seq lives long enough to be recorded.
	cat >many.sh <<-'END'
	i=0
	while [ $i -lt 70 ]; do
		sleep 600 &
		i=$((i + 1))
	done
	wait
	END
	lengthen "3 9 27" all_seen || fail "many: $(cat err)"
	profiles many 64
}
# The other seven are counted when vgtool sees them and they are a second old.
all_seen() {
	rm -rf many
	started_group many 64 "$VGTOOL" record --children --rate 1 -o many -- sh many.sh
	sleep $long
	# Only vgtool gets the signal: if a process ended, another one would get its place.
	kill -s TERM $group
	group_end 0
	kill -s KILL -- -$group 2>/dev/null || true
	has err ' of 64 processes in '
	grep -qF '7 processes were not recorded: too many at a time or in all' err
}
[ -n "${SANITIZE-}" ] || many

# ---- errors ----
for out in command err; do
	exits 1 "$VGTOOL" record --children -o $out -- true
	has err "-o $out: must be a new or empty directory"
done
if [ "$(id -u)" = 0 ]; then
	mkdir theirs
	chown 65533 theirs
	exits 1 "$VGTOOL" record --children -o theirs -- true
	has err '-o theirs: belongs to another user (uid 65533); use a new directory'
	mkdir mine
	ln -s mine away
	chown -h 65533 away
	exits 1 "$VGTOOL" record --children -o away/ -- true
	has err 'a symbolic link of another user (uid 65533) is not followed'
	exits 1 "$VGTOOL" symbols -o away ./tree
	has err 'a symbolic link of another user (uid 65533) is not followed'
	exits 1 "$VGTOOL" resolve -o away/ -s mine err out
	has err 'a symbolic link of another user (uid 65533) is not followed'
fi
exits 2 "$VGTOOL" record --pid 1,x
has err '--pid 1,x: must be the id of a process, or several ids'
exits 2 "$VGTOOL" record --pid 1,2,1
has err 'has the process 1 twice'
exits 2 "$VGTOOL" record --pid "$(seq -s , 1 65)"
has err 'more than 64 processes'
exits 127 "$VGTOOL" record --children -o new -- ./none
[ ! -e new ] || fail "a directory without profiles was left"
