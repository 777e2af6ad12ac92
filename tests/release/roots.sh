# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For tests that need a Debian of their own: they read this file with `.` after tests/lib.sh.  Needs root, mmdebstrap,
# and the mirror from which this machine's apt installs.  RELEASE_CACHE is a directory for the archives of the base
# systems.  A second run with the same directory takes them from there; remove it to get newer packages.
cache=${RELEASE_CACHE:-$BUILDDIR/release}
this_suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
[ "$(id -u)" = 0 ] || fail "needs root, for chroot(2) and mount(2)"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is missing (Debian: mmdebstrap)"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $this_suite" 'Component: main' |
	head -n 1)
[ -n "$mirror" ] || fail "apt has no index of $this_suite; run apt-get update"

# root NAME SUITE MMDEBSTRAP_OPTION...: makes the base system $dir/NAME: Debian's essential packages and apt.  Takes it
# from its archive if these options made the archive.
root() {
	archive=$cache/$2-$1.tar root=$dir/$1 suite=$2
	shift 2
	mkdir -p "$cache" "$root"
	if [ ! -f "$archive" ] || [ "$(cat "$archive.options" 2>/dev/null)" != "$*" ]; then
		echo "makes $archive"
		rm -f "$archive.options"
		# Apt's lists stay, so that packages can be installed without apt-get update.
		mmdebstrap --variant=minbase --skip=cleanup/apt/lists "$@" "$suite" "$archive" "deb $mirror $suite main" \
			2>"$dir/log" || fail "mmdebstrap $suite: $(tail -n 20 "$dir/log")"
		echo "$*" >"$archive.options"
	fi
	tar -C "$root" -xpf "$archive"
	cp -L /etc/resolv.conf "$root/etc/"
}

# inside NAME USER: runs the script of standard input in that base system, with processes and mounts of its own
inside() {
	unshare --mount --pid --fork --kill-child sh -ec 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			chroot --userspec="$1" "$0" sh -exc "$2"' "$dir/$1" "$2" "$(cat)" </dev/null >"$dir/log" 2>&1 ||
		fail "$1: $(tail -n 60 "$dir/log")"
}
