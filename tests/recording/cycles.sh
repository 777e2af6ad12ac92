#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# 200 sessions of one program, and 50 programs killed in theirs.  SOAK: 10,000 and 1,000.
set -eu
: "${BUILDDIR:?}" "${VIGNETTED:?}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/helper" <<END
#!/bin/sh
echo \$\$ >"$dir/pid"
exec "$VIGNETTED" "\$@"
END
chmod +x "$dir/helper"
# A sanitizer keeps what was freed: that is not growth of ours.
export ASAN_OPTIONS="quarantine_size_mb=0:thread_local_quarantine_size_kb=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
sessions=200 deaths=50
[ -z "${SOAK-}" ] || sessions=10000 deaths=1000
"$BUILDDIR/tests/recording/cycles" begin $sessions "$dir/begin.vgp"
VIGNETTED=$dir/helper "$BUILDDIR/tests/recording/cycles" die $deaths "$dir/die.vgp" "$dir/pid"
