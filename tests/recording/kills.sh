#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The helper is disposable: it is killed 30 times (SOAK: 1,000).
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
rounds=30
[ -z "${SOAK-}" ] || rounds=1000
VIGNETTED=$dir/helper "$BUILDDIR/tests/recording/kills" $rounds "$dir/kills.vgp" "$dir/pid"
