#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgctl speaks with a helper that is another user's: it passes the file and nothing that leads to another one, and
# names the file itself.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${VGCTL:?}"
WIRE=$(wire_version)
chmod 755 "$dir"
cd "$dir"

# What the peer said last is in the log.
at_end() {
	cat said
}

# The peer is nobody, as root; else it is our own user, who sees the same descriptors.
as_nobody=
[ "$(id -u)" != 0 ] || as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
mkdir -p run secret/in
chmod 777 run
chmod 700 secret                         # of root alone: what is in it is reached by a descriptor only
chmod 755 secret/in
echo private >secret/in/key
cat >peer.py <<'END'
import os, signal, socket, stat, struct, sys, time
signal.alarm(300)
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
s.settimeout(20)
data = s.recv(4096)
print("kind", struct.unpack("=IHH", data[:8])[2], "code", struct.unpack("=i", data[8:12])[0], flush=True)
END
chmod 644 peer.py

# peer ANSWERS: "complete" says that the profile is, once there is a file of that name
peer() {
	rm -f run/* complete
	started said $as_nobody /usr/bin/python3 peer.py run/4711.sock "$WIRE" "$1"
	server=$started
	grep -q listens said || fail "the peer does not listen"
}

peer refuse
! timeout 60 "$VGCTL" --directory run begin 4711 -o secret/in/out.vgp 2>log || fail "a peer that hangs up was believed"
wait $server
grep -qx 'kind 35 descriptors 1' said || fail "more than the file was passed"
grep -qx file said || fail "what was passed is not the file"
! grep -q private said || fail "the peer has read a file beside the output"
[ ! -e secret/in/out.vgp ] && [ ! -e secret/in/out.vgp.part ] || fail "a file is left"

# A peer that takes no connection, and whose queue of them is full.
peer full
full=
for command in "status 4711" list "begin 4711 -o secret/in/out.vgp"; do
	timeout 60 "$VGCTL" --directory run $command >/dev/null 2>"log.${command%% *}" & full="$full $!"
done
for client in $full; do
	status=0
	wait "$client" || status=$?
	[ $status != 124 ] || fail "vgctl waits for ever for a peer that takes no connection"
done
for command in status list begin; do
	grep -q 'the helper takes no connection' log.$command ||
		fail "$command, and a peer that takes no connection: $(cat log.$command)"
done
[ ! -e secret/in/out.vgp ] && [ ! -e secret/in/out.vgp.part ] || fail "a file is left"
stopped $server

# The file gets its name from vgctl, when the peer says that it is complete.
peer complete
# The caller's descriptors are not kept open.
mkfifo pipe
cat pipe >ended & reader=$!
pids="$pids $reader"
timeout 60 "$VGCTL" --directory run begin 4711 -o secret/in/out.vgp 9>pipe >begun || fail "begin"
[ "$(cat begun)" = 1 ] || fail "begin: $(cat begun)"
await 60 "vgctl closes a pipe of its caller's" gone $reader
[ -e secret/in/out.vgp.part ] || fail "vgctl named the file too early"
: >complete
wait $server || fail "the peer"
grep -qx 'kind 41 code 0' said || fail "the peer was not told of the name"
[ "$(cat secret/in/out.vgp)" = profile ] || fail "the file"
[ ! -e secret/in/out.vgp.part ] || fail "the .part is left"

# Nor is its standard output, where the caller's descriptors leave no room for others.
limit=12
: >begun
until [ "$(cat begun)" = 1 ]; do
	[ $limit -lt 30 ] || fail "begin with few descriptors: $(cat log)"
	peer complete
	cat pipe >begun & reader=$!
	pids="$pids $reader"
	(ulimit -n $limit; timeout 60 "$VGCTL" --directory run begin 4711 -o secret/in/few.vgp 2>log >pipe \
		3<log 4<log 5<log 6<log 7<log 8<log 9<log || true)
	await 60 "vgctl closes its standard output" gone $reader
	limit=$((limit + 1))
	[ "$(cat begun)" = 1 ] || stopped $server
done
[ -e secret/in/few.vgp.part ] || fail "vgctl named the file too early"
: >complete
wait $server || fail "the peer, where vgctl has few descriptors"
