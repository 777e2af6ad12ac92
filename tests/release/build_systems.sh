#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Programs that are built with CMake and with Meson, against an installed vgctl: both find the library, save symbols
# after linking, and strip at installation.  The profile of the stripped program then has the names of the store.  The
# completions are in the shells' directories.
#
# Needs cmake, meson, and pkg-config.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
stage=$dir/stage
(unset MAKEFLAGS MFLAGS MAKELEVEL; make -s -C "$BUILDDIR" install DESTDIR="$stage") >"$dir/log" 2>&1 ||
	fail "make install: $(cat "$dir/log")"
value() { sed -n "s/^$1 = //p" "$BUILDDIR/Makefile"; }
prefix=$stage$(value prefix)
for place in bash-completion/completions/vgtool zsh/site-functions/_vgtool fish/vendor_completions.d/vgtool.fish; do
	[ -s "$prefix/share/$place" ] || fail "not installed: $place"
done
# The installed tree works at another place.
mv "$prefix" "$dir/moved"
stage=$dir/moved
export VIGNETTED CC
PATH=$stage/bin:$PATH LD_LIBRARY_PATH=$stage/lib

# profiled PROGRAM STORE: the program is stripped, and the names of its profile are in the store only
profiled() {
	! nm "$1" 2>/dev/null | grep -q . || fail "$1 is not stripped"
	LD_LIBRARY_PATH=$stage/lib exits 0 "$1" "$dir/life.vgp" 1
	exits 0 "$stage/bin/vgtool" report --json "$dir/life.vgp"
	! grep -q '"life_run"' "$dir/out" || fail "$1 has names without its symbols"
	exits 0 "$stage/bin/vgtool" report --json -s "$2" "$dir/life.vgp"
	grep -qE '"(neighbours|life_[a-z]*|generation[a-z_]*)"' "$dir/out" || fail "$1: no names: $(head -c 2000 "$dir/out")"
}

# ---- CMake ----
mkdir "$dir/cmake"
cp "$SRCDIR/examples/life.c" "$dir/cmake"
cat >"$dir/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(life C)
set(CMAKE_BUILD_TYPE RelWithDebInfo)
find_package(vgctl 0.1 REQUIRED)
find_package(vgctl REQUIRED)                   # a second time
find_package(Threads REQUIRED)
add_compile_definitions(_GNU_SOURCE)
add_executable(life life.c)
target_link_libraries(life PRIVATE vgctl::vgctl Threads::Threads)
vgctl_save_symbols(TARGET life STORE symbols)
add_executable(life_static life.c)
target_link_libraries(life_static PRIVATE vgctl::vgctl_static)
vgctl_save_symbols(TARGET life_static STORE ${CMAKE_CURRENT_BINARY_DIR}/symbols)
install(TARGETS life life_static)
if(WRONG)
	vgctl_save_symbols(TARGET life)
endif()
END
cmake_configure() {
	exits "$1" cmake -S "$dir/cmake" -B "$dir/cmake/$2" -DCMAKE_PREFIX_PATH="$stage" \
		-DCMAKE_INSTALL_PREFIX="$dir/cmake/installed" ${3-}
}
cmake_configure 0 build
exits 0 cmake --build "$dir/cmake/build"
exits 0 cmake --install "$dir/cmake/build" --strip
readelf -d "$dir/cmake/installed/bin/life" | grep -q 'NEEDED.*libvgctl\.so\.0' || fail "life does not use libvgctl.so.0"
! readelf -d "$dir/cmake/installed/bin/life_static" | grep -q libvgctl || fail "life_static uses a shared libvgctl"
profiled "$dir/cmake/installed/bin/life" "$dir/cmake/build/symbols"
profiled "$dir/cmake/installed/bin/life_static" "$dir/cmake/build/symbols"
cmake_configure 1 wrong -DWRONG=1
has err "vgctl_save_symbols: expected TARGET target STORE directory"
sed -i 's/vgctl 0.1/vgctl 99/' "$dir/cmake/CMakeLists.txt"
cmake_configure 1 newer
has err 'requested version "99"'

# ---- Meson: the installed example ----
mkdir "$dir/meson"
cp "$stage"/share/doc/*/examples/life.c "$stage"/share/doc/*/examples/meson.build "$dir/meson"
sed "s,^prefix=.*,prefix=$stage," "$stage/lib/pkgconfig/vgctl.pc" >"$dir/meson/vgctl.pc"
export PKG_CONFIG_PATH="$dir/meson"
exits 0 meson setup --prefix "$dir/meson/installed" "$dir/meson/build" "$dir/meson"
exits 0 meson install -C "$dir/meson/build" --strip
grep -q '^life .* functions, ' "$dir/meson/build/symbols.txt" || fail "symbols.txt: $(cat "$dir/meson/build/symbols.txt")"
profiled "$dir/meson/installed/bin/life" "$dir/meson/build/symbols"
