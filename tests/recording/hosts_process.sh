#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Sessions in unusual processes (tests/recording/hosts_process.c): first processes of containers, subreapers, real-time
# processes, programs that execute themselves, close all descriptors, leave directories or have no /dev.  Also sessions
# whose helper is another program than vignetted.  Needs root.
set -eu
[ "$(id -u)" = 0 ] || { echo "SKIP: not root"; exit 77; }
. "${SRCDIR:?}/tests/namespace.sh"
. "${SRCDIR:?}/tests/lib.sh"
: "${VGCTL:?}"
at_end() {
	umount -l "$dir/mount" 2>/dev/null
}
chmod 777 "$dir"
mkdir "$dir/mount" "$dir/run"
host=$BUILDDIR/tests/recording/hosts_process

# hosted KIND [ARGUMENT]: runs that kind of hosts_process
hosted() {
	status=0
	timeout -s KILL $life_s ${under-} "$host" "$1" "$dir/$1.vgp" ${2+"$2"} >"$dir/$1.log" 2>&1 || status=$?
	[ $status = 0 ] || fail "${under:+$under }$*: status $status: $(cat "$dir/$1.log")"
	grep 'not tested' "$dir/$1.log" || true
}

# A helper that answers nonsense.  hazards.sh tests helpers that do not answer: vgctl_begin() gives up after 20 seconds.
cat >"$dir/nonsense" <<'SH'
#!/bin/sh
echo Hello >&3
sleep 1000
SH
chmod 755 "$dir/nonsense"
hosted bad_helper "$dir/nonsense"
hosted bad_helper /bin/true

hosted adopts
under='unshare --pid --fork --mount-proc'
hosted adopts
hosted closes
under=
hosted executes
hosted closes
hosted closes_one
hosted few_processes
for kind in fifo round_robin good_nice poor_nice deadline; do
	hosted $kind
done
hosted exits /bin/true
hosted exits_late /bin/true
hosted twice
hosted keeps_descriptors "$dir/run"
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

# Neither the helper of a listening program nor the vgctl in the background keeps a directory in use.
mount -t tmpfs none "$dir/mount"
chmod 700 "$dir/run"
mkfifo "$dir/in"
timeout -s KILL $life_s "$host" listens "$dir/listens.vgp" "$dir/mount" <"$dir/in" >"$dir/listens.log" 2>&1 & listens=$!
pids="$pids $listens"
exec 7>"$dir/in"
listens_or_exited() { grep -q listens "$dir/listens.log" || exited $listens; }
await 120 "the program listens" listens_or_exited
grep -q listens "$dir/listens.log" || fail "listens: $(cat "$dir/listens.log")"
socket=$(ls "$dir/run")
(cd "$dir/mount" && "$VGCTL" --directory ../run begin "${socket%.sock}" -o "$dir/remote.vgp") >"$dir/vgctl.log" 2>&1 ||
	fail "vgctl begin: $(cat "$dir/vgctl.log")"
echo >&7
exec 7>&-
wait $listens || fail "listens: $(cat "$dir/listens.log")"

under='unshare --mount'
hosted empty_dev
under=
hosted other_time
