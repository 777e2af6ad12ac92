# SPDX-License-Identifier: MIT OR Apache-2.0
#
# For scripts that run the documents' commands: they read this file with `.` after tests/lib.sh.  PATH then has the
# build's programs, and pkg-config and the dynamic linker find the build's library, as if the build were installed.
mkdir "$dir/installed"
for built in "$VGTOOL" "$VGCTL" "$VIGNETTED" "$BUILDDIR"/libvgctl/.libs/libvgctl.so* "$SRCDIR/libvgctl/vgctl.h"; do
	ln -s "$built" "$dir/installed/"
done
sed "s,^\(libdir\|includedir\)=.*,\1=$dir/installed," "$BUILDDIR/libvgctl/vgctl.pc" >"$dir/installed/vgctl.pc"
PATH=$dir/installed:$PATH PKG_CONFIG_PATH=$dir/installed LD_LIBRARY_PATH=$dir/installed
export PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
