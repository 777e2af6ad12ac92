# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For tests that mount file systems: they read this file with `.` first.  It runs the test again in a mount namespace
# of its own.  This needs root or user namespaces.
if [ -z "${IN_NAMESPACE-}" ]; then
	as_root=
	[ "$(id -u)" = 0 ] || as_root=-r
	unshare $as_root -m true || { echo "SKIP: mount namespaces are not permitted here"; exit 77; }
	IN_NAMESPACE=1 exec unshare $as_root -m sh "$0"
fi
