#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Every command of vgtool is confined before it opens an untrusted file.  The test reads the commands from vgtool's
# usage text.  It fails if a command is not in the table below, or does not open its files, because then nothing is
# tested.  On a kernel without seccomp vgtool prints a warning.  If the filter cannot be loaded for another reason,
# vgtool fails and opens no untrusted file.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs strace
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"

# arguments COMMAND: prints arguments for the command.  untrusted COMMAND: prints patterns of the untrusted files that
# the command then opens.
arguments() {
	case $1 in
	audit | dump) echo "one.vgp" ;;
	info | report | summary | folded | chrome | flamegraph | pprof) echo "directory two.vgp" ;;
	view) echo "--source . --base one.vgp two.vgp -o out.html" ;;
	annotate) echo "--asm main one.vgp two.vgp" ;;
	firefox) echo "--base one.vgp two.vgp -o out.json" ;;
	speedscope) echo "one.vgp two.vgp -o out.json" ;;
	diff | aggregate) echo "one.vgp two.vgp" ;;
	cut) echo "--time 0.. one.vgp -o out.vgp" ;;
	recover) echo "one.vgp -o out.vgp" ;;
	missing) echo "-s store one.vgp" ;;
	resolve) echo "-s store one.vgp -o out.vgp" ;;
	store) echo "store" ;;
	symbols) echo "-o saved program" ;;
	esac
}
untrusted() {
	case $1 in
	symbols) echo program ;;
	annotate) echo 'one\.vgp two\.vgp program\.c' ;;
	firefox | speedscope) echo 'one\.vgp two\.vgp' ;;
	view) echo 'one\.vgp two\.vgp program\.c' ;;
	info | report | summary | folded | chrome | flamegraph | pprof) echo 'directory/one\.vgp directory/three\.vgp two\.vgp' ;;
	store) echo '[^"]*\.sym' ;;
	missing | resolve) echo 'one\.vgp [^"]*\.sym' ;;
	diff | aggregate) echo 'one\.vgp two\.vgp' ;;
	*) echo 'one\.vgp' ;;
	esac
}

# joined FILE: prints strace's output with each system call in one line.  strace prints two lines for a call during
# which another process makes one.
joined() {
	awk '/ <unfinished \.\.\.>$/ { sub(/ <unfinished \.\.\.>$/, ""); begin[$1] = $0; next }
		/<\.\.\. .* resumed>/ { process = $1; sub(/^.* resumed>/, ""); print begin[process] $0; next }
		{ print }' "$1"
}

cat >program.c <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (volatile long i = 0; i < 50000000 * atol(argv[argc - 1]); i++)
		;
	return 0;
}
END
$CC -g -O1 -Wl,--build-id=sha1 -o program program.c
record_until 20 one.vgp ./program --rate 500
cp one.vgp two.vgp
mkdir directory
cp one.vgp directory/one.vgp
cp one.vgp directory/three.vgp
"$VGTOOL" symbols -o store program >/dev/null


# `record` reads the profile in the same way as `resolve` and `report`, in processes of their own.  `top` opens no file:
# tests/views/top.sh checks that its reader is confined.
commands=$("$VGTOOL" --help | awk '/^  [a-z]/ && $1 != "record" && $1 != "top" { print $1 }')
[ "$(echo "$commands" | wc -l)" -ge 10 ] || fail "vgtool --help shows only: $commands"
landlock=0
for command in $commands; do
	rm -rf saved out.json out.vgp out.html
	given=$(arguments "$command")
	[ -n "$given" ] || fail "vgtool $command is not in the table of tests/views/readers.sh"
	status=0
	strace -f -y -qq -o calls -e trace=openat,open,seccomp,landlock_restrict_self \
		"$VGTOOL" $command $given >out 2>err || status=$?
	joined calls >trace
	# For some commands status 1 is a result and not an error.
	[ $status -le 1 ] || fail "$command $given: status $status: $(cat err)"
	confined=$(grep -nE 'seccomp\(SECCOMP_SET_MODE_FILTER, .*\{.*= 0$' trace | head -n 1 | cut -d : -f 1)
	[ -n "$confined" ] || fail "$command is not confined by seccomp"
	! grep -q 'landlock_restrict_self.* = 0' trace || landlock=$((landlock + 1))
	for pattern in $(untrusted "$command"); do
		# A descriptor with O_PATH names a file and cannot read it.
		opened=$(grep -nE "open(at)?\(.* = [0-9]+<[^>]*$pattern>\$" trace | grep -v O_PATH | head -n 1 | cut -d : -f 1)
		[ -n "$opened" ] || fail "$command does not open $pattern"
		[ "$opened" -ge "$confined" ] ||
			fail "$command opens $pattern before it is confined: $(sed -n "${opened}p" trace)"
	done
done

# ---- systems on which vgtool cannot be confined ----

# without_seccomp ERRNO PROGRAM...: runs the program as on a kernel where loading a filter fails with that error
cat >without_seccomp.c <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[1])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };

	return argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 || execv(argv[2], argv + 2) != 0;
}
END
$CC -o without_seccomp without_seccomp.c
EINVAL=22 ENOMEM=12
for command in $commands; do
	rm -rf saved out.json out.vgp out.html
	given=$(arguments "$command")
	status=0
	./without_seccomp $EINVAL "$VGTOOL" $command $given >out 2>err || status=$?
	[ $status -le 1 ] || fail "$command without seccomp: status $status: $(cat err)"
	[ "$(grep -c 'has no seccomp' err)" = 1 ] || fail "$command without seccomp: not one warning: $(cat err)"

	rm -rf saved out.json out.vgp out.html
	status=0
	strace -f -y -qq -o calls -e trace=openat,open ./without_seccomp $ENOMEM "$VGTOOL" $command $given >out 2>err ||
		status=$?
	joined calls >trace
	[ $status != 0 ] && grep -q 'cannot confine' err || fail "$command with a filter that fails: $(cat err)"
	[ ! -s out ] || fail "$command with a filter that fails prints $(head -n 1 out)"
	for pattern in $(untrusted "$command"); do
		! grep -E "open(at)?\(.* = [0-9]+<[^>]*$pattern>\$" trace | grep -v O_PATH ||
			fail "$command with a filter that fails opens $pattern"
	done
done
# If the kernel has Landlock, it confines all commands.
[ $landlock = 0 ] || [ $landlock = "$(echo "$commands" | wc -l)" ] ||
	fail "Landlock confines only $landlock of: $(echo $commands)"
