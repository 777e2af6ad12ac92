#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Debian's packages: builds them from the release's tarball in a minbase, runs lintian, installs them in another
# minbase, uses them there, and removes them.  Nothing may remain.
#
# Needs root, mmdebstrap and a mirror: tests/release/roots.sh.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
. "$SRCDIR/tests/release/roots.sh"

# state NAME: prints every file and every package of that base system, without the records of apt and dpkg
state() {
	(cd "$dir/$1" && find . \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/cache -o -path ./var/lib/apt \
		-o -path ./var/lib/dpkg -o -path ./var/log \) -prune -o -print)
	chroot "$dir/$1" dpkg-query -W -f '${Package} ${Version} ${Status}\n'
}

# installed NAME, removed NAME: installs the packages in that base system, and removes them
installed() {
	cp "$dir"/packages/*.deb "$dir/$1/tmp"
	state "$1" | sort >"$dir/before"
	inside "$1" 0:0 <<-'END'
		cd /tmp
		apt-get install -y --no-install-recommends ./*.deb
	END
}
removed() {
	inside "$1" 0:0 <<-'END'
		cd /tmp
		apt-get purge -y $(for deb in *.deb; do echo ${deb%%_*}; done)
		apt-get autoremove --purge -y
	END
	state "$1" | sort >"$dir/after"
	diff "$dir/before" "$dir/after" >"$dir/log" || fail "what removal changes in $1: $(cat "$dir/log")"
}

# ---- build, as an ordinary user ----
(unset MAKEFLAGS MFLAGS MAKELEVEL; make -s -C "$BUILDDIR" dist) >"$dir/log" 2>&1 || fail "make dist: $(cat "$dir/log")"
export control="$SRCDIR/debian/control"
root builder "$this_suite" --setup-hook="# $(sha256sum <"$control")" \
	--customize-hook='mkdir -p "$1/source/debian" && cp "$control" "$1/source/debian/"' \
	--customize-hook='chroot "$1" apt-get build-dep -y --no-install-recommends /source' \
	--customize-hook='rm -r "$1/source"'
mkdir "$dir/builder/build" "$dir/packages"
tar -C "$dir/builder/build" -xf "$BUILDDIR"/vignette-*.tar.xz
chown -R 1000:1000 "$dir/builder/build"
inside builder 1000:1000 <<'END'
	cd /build/vignette-*
	dpkg-buildpackage -us -uc
END
grep '^ok ' "$dir/log" | wc -l | sed 's/$/ unit tests passed in the build/'
cp "$dir"/builder/build/vignette_* "$dir"/builder/build/*.deb "$dir/packages"
(cd "$dir/packages" && ls -s --block-size=1K)

# ---- lintian ----
root tools "$this_suite" \
	--include=bash-completion,cmake,fish,gcc,libc6-dev,lintian,make,man-db,meson,pkg-config,zsh
cp -r "$dir/packages" "$dir/tools/packages"
inside tools 1000:1000 <<'END'
	lintian --fail-on error,warning --pedantic --display-info /packages/*.changes
END
sed 's/^/lintian: /' "$dir/log"

# ---- what a user does ----
root minbase "$this_suite"
mkdir -p "$dir/minbase/etc/systemd/system"
installed minbase
inside minbase 0:0 <<'END'
	cd /tmp
	sh -c "while :; do :; done" & pid=$!
	vignetted --pid $pid --duration 1 -o one.vgp
	vgtool info one.vgp
	vgtool record --duration 1 --pid $pid | grep "samples, .* time"
	kill $pid
	vgtool record -o two.vgp --duration 1 -- sh -c "while :; do :; done"
	vgtool report two.vgp | grep "samples, .* time"
	vgctl --help
	rm *.vgp
	# as systemctl enable does
	mkdir /etc/systemd/system/work.service.wants
	ln -s /lib/systemd/system/vignetted@.service /etc/systemd/system/work.service.wants/vignetted@work.service
END
removed minbase

# ---- what a programmer does ----
installed tools
awk '/^```/ { inside = 0 } inside; /^```c$/ { inside = 1 }' "$SRCDIR/README.md" >"$dir/tools/tmp/slow.c"
inside tools 0:0 <<'END'
	man vgctl_begin | grep -A 20 SYNOPSIS | grep "vgctl_begin(const char"
	man -w vignetted vgctl vgtool vgp vignette
	cd /tmp
	used() { rm -f slow.vgp; "$@"; vgtool report --interval work slow.vgp; }
	cc -g slow.c -o dynamic $(pkg-config --cflags --libs vgctl)
	used ./dynamic
	cc -g -static slow.c -o static $(pkg-config --static --cflags --libs vgctl)
	used ./static
	mkdir meson cmake
	cat >meson/meson.build <<-EOF
	project('slow', 'c')
	executable('slow', '../slow.c', dependencies: dependency('vgctl'))
	EOF
	meson setup meson/build meson
	meson compile -C meson/build
	used meson/build/slow
	cat >cmake/CMakeLists.txt <<-EOF
	cmake_minimum_required(VERSION 3.18)
	project(slow C)
	find_package(vgctl REQUIRED)
	add_executable(slow ../slow.c)
	target_link_libraries(slow vgctl::vgctl)
	EOF
	cmake -S cmake -B cmake/build
	cmake --build cmake/build
	used cmake/build/slow
	bash -ec '. /usr/share/bash-completion/bash_completion
		_completion_loader vgtool || [ $? = 124 ]
		COMP_WORDS=(vgtool report --calle) COMP_CWORD=2
		_vgtool
		printf "%s\n" "${COMPREPLY[@]}"' | grep -e --callers
	fish -c 'complete -C "vgtool report --calle"' | grep -e --callers
	zsh -ec 'autoload -U compinit; compinit -d zcompdump; print $_comps[vgtool]' | grep _vgtool
	rm -rf dynamic static meson cmake zcompdump .config .local slow.c slow.vgp
END
removed tools
echo "the packages build, install, work, and leave nothing when they are removed"
