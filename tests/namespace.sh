# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Sourced first by tests that mount: runs them in a namespace of their own, which needs root or user
# namespaces.
if [ -z "${IN_NAMESPACE-}" ]; then
	as_root=
	[ "$(id -u)" = 0 ] || as_root=-r
	IN_NAMESPACE=1 exec unshare $as_root -m sh "$0"
fi
