#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
#     dist_helper.sh HELPER VGTOOL FOLDER
#
# Makes FOLDER from a static vignetted and the linker's map beside it, HELPER.map: vignetted, which an application is
# shipped with; its LICENSES; and vignetted.debug and symbols/, which the application's makers keep.
set -eu
helper=$1 vgtool=$2 folder=${3%/} out=${3%/}.part
sources=$(dirname "$0")/..

# Archives, and the library and licence of each
known='
libc        glibc      LGPL-2.1-or-later
libgcc      gcc        GPL-3.0-or-later WITH GCC-exception-3.1
libgcc_eh   gcc        GPL-3.0-or-later WITH GCC-exception-3.1
liblzma     xz-utils   public domain
libmsgpackc msgpack-c  BSL-1.0
libseccomp  libseccomp LGPL-2.1-only
libunwind   libunwind  MIT
libunwind-generic libunwind MIT
libunwind-x86_64  libunwind MIT
libz        zlib       Zlib
libZycore.so zycore    MIT
libZydis    zydis      MIT
'
# The caller names the folder.  It is replaced only if this script has made all that it has.
if [ -e "$folder" ] && {
	! grep -qs '^vignetted is free software' "$folder/LICENSES" ||
	ls -A "$folder" | grep -Evqx 'LICENSES|symbols|vignetted|vignetted\.debug'
}; then
	echo "$0: $folder: exists, and has files that this script did not make; name another folder" >&2
	exit 1
fi
rm -rf "$out"
mkdir -p "$out"
strip -o "$out/vignetted" "$helper"
objcopy --only-keep-debug "$helper" "$out/vignetted.debug"
(cd "$out" && objcopy --add-gnu-debuglink=vignetted.debug vignetted)
"$vgtool" symbols -o "$out/symbols" "$helper" >/dev/null

# archives: prints the paths of the static libraries that were linked, and of libraries of which only headers are used
archives() {
	sed -n 's,^\(/.*\.a\)(.*,\1,p' "$helper.map" | sort -u
	${CC:-cc} -print-file-name=libmsgpackc.a
	${CC:-cc} -print-file-name=libZycore.so
}

# origin FILE: sets $version and $copyright, the file with the library's notices, if they are known.  A library that
# ./bootstrap has built is beside its source.
origin() {
	source=$(dirname "$1")/../source
	version=unknown copyright=
	if [ -d "$source" ]; then
		version=$(sed -n '1s/.*(\(.*\)).*/\1/p' "$source/debian/changelog")
		copyright=$source/debian/copyright
	elif package=$(dpkg -S "$(realpath "$1")" 2>/dev/null); then
		package=${package%%:*}
		version=$(dpkg-query -W -f '${source:Version}\n' "$package" | sed -n 1p)
		copyright=/usr/share/doc/$package/copyright
	fi
}

archives | while read -r archive; do
	name=$(basename "$archive" .a)
	row=$(echo "$known" | sed -n "s/^$name  *//p")
	[ -n "$row" ] || { echo "$0: $archive is in $helper; add its licence to the table" >&2; exit 1; }
	origin "$archive"
	[ -f "$copyright" ] || {
		echo "$0: $archive: LICENSES needs the notices of ${row%% *}; dpkg must know this file's package" >&2
		exit 1
	}
	printf '%s|%s|%s|%s\n' "${row%% *}" "$version" "$(echo "${row#* }" | sed 's/^ *//')" "$copyright"
done >"$out/list"
sort -u -t '|' -k 1,1 -o "$out/list" "$out/list"
[ "$(wc -l <"$out/list")" -ge 5 ] || { echo "$0: $helper.map names too few libraries: $(cat "$out/list")" >&2; exit 1; }

# notices TITLE FILE: prints the file
notices() {
	printf '\n==== %s ====\n\n' "$1"
	cat "$2"
}
{
	echo "vignetted is free software: MIT OR Apache-2.0. This static vignetted also contains:"
	echo
	awk -F '|' '{ printf "    %-12s %-24s %s\n", $1, $2, $3 }' "$out/list"
	echo
	echo "The LGPL permits each receiver of vignetted to link it with other versions of glibc and libseccomp."
	echo "The sources of vignetted and of these libraries are what is needed: ./bootstrap dist-helper links them."
	notices "vignetted: MIT" "$sources/LICENSE-MIT"
	notices "vignetted: Apache-2.0" "$sources/LICENSE-APACHE"
	while IFS='|' read -r library version licence copyright; do
		notices "$library $version" "$copyright"
	done <"$out/list"
	for licence in LGPL-2.1 GPL-3; do notices "$licence" "/usr/share/common-licenses/$licence"; done
} >"$out/LICENSES"
rm "$out/list"
rm -rf "$folder"
mv "$out" "$folder"
sed -n '/contains:/,/^The LGPL/s/^    //p' "$folder/LICENSES"
echo "$folder: vignetted has $(stat -c %s "$folder/vignetted") bytes"
