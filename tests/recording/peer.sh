#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgctl and a helper of another user.  vgctl passes the helper the output file, and no descriptor that leads to another
# file.  vgctl itself renames the file at the end.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs /usr/bin/python3
: "${VGCTL:?}"
WIRE=$(wire_version)
chmod 755 "$dir"
top=$dir

# The log ends with what the peers printed.
at_end() {
	cat "$top"/*/printed
}

# If the test runs as root, the peer runs as the user nobody.  Otherwise it runs as the same user, and gets the same
# descriptors.
as_nobody=
[ "$(id -u)" != 0 ] || as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
cat >"$top/peer.py" <<'END'
import os, signal, socket, stat, struct, sys, time
signal.alarm(3000)
path, version, answers = sys.argv[1], int(sys.argv[2]), sys.argv[3]
head = lambda kind: struct.pack("=IHH", 0x77696776, version, kind)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(path)
listener.listen(0 if answers == "full" else 4)
clients = []
while answers == "full":
    clients.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
    try:
        clients[-1].connect(path)
    except BlockingIOError:
        print("listens", flush=True)
        signal.pause()
print("listens", flush=True)
s, _ = listener.accept()
data, fds, _, _ = socket.recv_fds(s, 4096, 16)
print("kind", struct.unpack("=IHH", data[:8])[2], "descriptors", len(fds), flush=True)
for fd in fds:
    mode = os.fstat(fd).st_mode
    print("file" if stat.S_ISREG(mode) else "other", flush=True)
    if stat.S_ISDIR(mode):
        print("read", os.read(os.open("key", os.O_RDONLY, dir_fd=fd), 100).decode().strip(), flush=True)
if answers == "refuse":
    sys.exit(0)
for fd in fds:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        os.write(fd, b"profile")
s.send(head(36) + struct.pack("=II", 1, 0) + bytes(248))
while not os.path.exists("complete"):
    time.sleep(0.02)
s.send(head(40) + bytes(256))
s.settimeout(120)
data = s.recv(4096)
print("kind", struct.unpack("=IHH", data[:8])[2], "code", struct.unpack("=i", data[8:12])[0], flush=True)
END
chmod 644 "$top/peer.py"

# place: makes the directories of a part.  Only root can enter `secret`: the peer could read there only with a
# descriptor.
place() {
	mkdir -p run secret/in
	chmod 777 run
	chmod 755 "$dir"
	chmod 700 secret
	chmod 755 secret/in
	echo private >secret/in/key
}

# peer ANSWERS: starts peer.py.  With "complete" the peer reports that the profile is complete as soon as a file with
# the name "complete" exists.
peer() {
	rm -f run/* complete
	started printed $as_nobody /usr/bin/python3 "$top/peer.py" run/4711.sock "$WIRE" "$1"
	server=$started
	grep -q listens printed || fail "the peer does not listen"
}

refuses() {
	place
	peer refuse
	! timeout $life_s "$VGCTL" --directory run begin 4711 -o secret/in/out.vgp 2>log ||
		fail "vgctl begin succeeds with a peer that hangs up"
	wait $server
	grep -qx 'kind 35 descriptors 1' printed || fail "more than the file was passed"
	grep -qx file printed || fail "the descriptor that was passed is not the output file"
	! grep -q private printed || fail "the peer has read a file beside the output"
	[ ! -e secret/in/out.vgp ] && [ ! -e secret/in/out.vgp.part ] || fail "a file is left"
}

# A peer that accepts no connection, and whose queue of connections is full.
full() {
	place
	peer full
	full=
	for command in "status 4711" list "begin 4711 -o secret/in/out.vgp"; do
		timeout $life_s "$VGCTL" --directory run $command >/dev/null 2>"log.${command%% *}" & full="$full $!"
	done
	for client in $full; do
		status=0
		wait "$client" || status=$?
		[ $status != 124 ] || fail "vgctl waits forever for a peer that accepts no connection"
	done
	for command in status list begin; do
		grep -q 'the helper accepted no connection' log.$command ||
			fail "$command, and a peer that accepts no connection: $(cat log.$command)"
	done
	[ ! -e secret/in/out.vgp ] && [ ! -e secret/in/out.vgp.part ] || fail "a file is left"
	stopped $server
}

# vgctl renames the file when the peer reports that it is complete.
completes() {
	place
	peer complete
	# vgctl closes the descriptors of its caller.
	mkfifo pipe
	cat pipe >ended & reader=$!
	pids="$pids $reader"
	timeout $life_s "$VGCTL" --directory run begin 4711 -o secret/in/out.vgp 9>pipe >begun || fail "begin"
	[ "$(cat begun)" = 1 ] || fail "begin: $(cat begun)"
	await 120 "vgctl closes a pipe of its caller's" exited $reader
	[ -e secret/in/out.vgp.part ] || fail "vgctl renamed the file too early"
	: >complete
	wait $server || fail "the peer failed"
	grep -qx 'kind 41 code 0' printed || fail "vgctl did not report to the peer that it has renamed the file"
	[ "$(cat secret/in/out.vgp)" = profile ] || fail "the output file has other contents"
	[ ! -e secret/in/out.vgp.part ] || fail "the .part is left"
}

# vgctl also closes its standard output if the limit of descriptors leaves none free.
few_descriptors() {
	place
	mkfifo pipe
	limit=12
	: >begun
	until [ "$(cat begun)" = 1 ]; do
		[ $limit -lt 30 ] || fail "begin with few descriptors: $(cat log)"
		peer complete
		cat pipe >begun & reader=$!
		pids="$pids $reader"
		(ulimit -n $limit
			timeout $life_s "$VGCTL" --directory run begin 4711 -o secret/in/few.vgp 2>log >pipe \
				3<log 4<log 5<log 6<log 7<log 8<log 9<log || true)
		await 120 "vgctl closes its standard output" exited $reader
		limit=$((limit + 1))
		[ "$(cat begun)" = 1 ] || stopped $server
	done
	[ -e secret/in/few.vgp.part ] || fail "vgctl renamed the file too early"
	: >complete
	wait $server || fail "the peer failed when vgctl had few descriptors"
}

side_by_side refuses full completes few_descriptors
