# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What tests of recordings share; sourced by them: $dir, which is gone with the script, as is the
# process $pid.
: "${BUILDDIR:?}" "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}"
dir=$(mktemp -d)
pid=
trap 'kill $pid 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
	echo "FAIL: $*"
	exit 1
}

# named PROFILE WEIGHT OUT FILE...: its functions with names from those files
named() {
	profile=$1 weight=$2 out=$3
	shift 3
	"$VGTOOL" symbols -o "$dir/symbols" "$@" >"$dir/log"
	"$VGTOOL" resolve -s "$dir/symbols" "$profile" -o "$dir/named.vgp" 2>"$dir/log"
	"$VGTOOL" report --json --weight "$weight" "$dir/named.vgp" >"$dir/report"
	node "$SRCDIR/tests/functions.mjs" "$dir/report" >"$out"
}
