# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Scripts that run commands of the documents source this file after tests/lib.sh.  PATH then has the build's programs,
# and pkg-config and the dynamic linker find its library, as if the build were installed.
mkdir "$dir/installed"
for built in "$VGTOOL" "$VGCTL" "$VIGNETTED" "$BUILDDIR"/libvgctl/.libs/libvgctl.so* "$SRCDIR/libvgctl/vgctl.h"; do
	ln -s "$built" "$dir/installed/"
done
sed "s,^\(libdir\|includedir\)=.*,\1=$dir/installed," "$BUILDDIR/libvgctl/vgctl.pc" >"$dir/installed/vgctl.pc"
PATH=$dir/installed:$PATH PKG_CONFIG_PATH=$dir/installed LD_LIBRARY_PATH=$dir/installed
export PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
