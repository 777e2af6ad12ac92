#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that are no ordinary processes (tests/recording/hosts_process.c): first processes of containers, subreapers,
# programs that execute themselves or close all descriptors, real-time ones, and those that leave directories
# or have no /dev.  And helpers that are strangers.  Needs root.
set -eu
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
: "${VGCTL:?}"
at_end() {
	umount -l "$dir/mount" 2>/dev/null
}
chmod 777 "$dir"
mkdir "$dir/mount" "$dir/run"
host=$BUILDDIR/tests/recording/hosts_process

# hosted KIND [ARGUMENT]: with a profile of its own
hosted() {
	status=0
	timeout -s KILL 100 ${under-} "$host" "$1" "$dir/$1.vgp" ${2+"$2"} >"$dir/$1.log" 2>&1 || status=$?
	[ $status = 0 ] || fail "${under:+$under }$*: status $status: $(cat "$dir/$1.log")"
}

# One that never speaks, and one that speaks another language: the first takes 20 seconds to be given up.
cat >"$dir/silent" <<'SH'
#!/bin/sh
sleep 1000
SH
cat >"$dir/babbling" <<'SH'
#!/bin/sh
echo Hello >&3
sleep 1000
SH
chmod 755 "$dir/silent" "$dir/babbling"
timeout -s KILL 100 "$host" stranger "$dir/silent.vgp" "$dir/silent" >"$dir/silent.log" 2>&1 & silent=$!
pids=$silent
timeout -s KILL 100 "$host" frozen "$dir/frozen.vgp" >"$dir/frozen.log" 2>&1 & frozen=$!
pids="$pids $frozen"
hosted stranger "$dir/babbling"
hosted stranger /bin/true

hosted adopts
under='unshare --pid --fork --mount-proc'
hosted adopts
hosted closes
under=
hosted executes
hosted closes
hosted closes_one
hosted few
for kind in fifo round_robin good_nice poor_nice deadline; do
	hosted $kind
done
hosted exits /bin/true
hosted twice
hosted keeps "$dir/run"
hosted no_stat
hosted no_lists
hosted forks_in_handler
hosted linker_locked "$dir/other.vgp"

# ---- directories and /dev ----
mount -t tmpfs none "$dir/mount"
ln -s "$VIGNETTED" "$dir/mount/helper"
ln -s "$dir/mount/helper" "$dir/link"
(
	VIGNETTED=../link
	export VIGNETTED
	hosted leaves "$dir/mount"
)

# Who listens, and the vgctl that stays in the background.
mount -t tmpfs none "$dir/mount"
chmod 700 "$dir/run"
mkfifo "$dir/in"
timeout -s KILL 100 "$host" listens "$dir/listens.vgp" "$dir/mount" <"$dir/in" >"$dir/listens.log" 2>&1 & listens=$!
pids="$pids $listens"
exec 7>"$dir/in"
listens_or_gone() { grep -q listens "$dir/listens.log" || gone $listens; }
await 60 "the program listens" listens_or_gone
grep -q listens "$dir/listens.log" || fail "listens: $(cat "$dir/listens.log")"
socket=$(ls "$dir/run")
(cd "$dir/mount" && "$VGCTL" --directory ../run begin "${socket%.sock}" -o "$dir/outside.vgp") >"$dir/vgctl.log" 2>&1 ||
	fail "vgctl begin: $(cat "$dir/vgctl.log")"
echo >&7
exec 7>&-
wait $listens || fail "listens: $(cat "$dir/listens.log")"

under='unshare --mount'
hosted empty_dev
under=
hosted other_time
wait $frozen || fail "frozen: $(cat "$dir/frozen.log")"
wait $silent || fail "stranger silent: $(cat "$dir/silent.log")"
