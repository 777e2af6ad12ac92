#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The static helper of `./bootstrap dist-helper`: its files, its licences, its confinement.  It records in a root
# directory that has no other file than the program.  Tests of the dynamic helper pass with it, too.
set -eu
: "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
sh "$SRCDIR/bootstrap" dist-helper >"$dir/log" 2>&1 || fail "bootstrap dist-helper: $(tail -n 20 "$dir/log")"
tail -n 1 "$dir/log"
! grep -i 'warning' "$dir/log" || fail "a warning"
folder=$SRCDIR/build/dist-helper static=$SRCDIR/build/static-helper

# ---- the files ----
for file in vignetted vignetted.debug; do
	readelf -hldW "$folder/$file" >"$dir/$file.headers"
	[ "$(build_id "$folder/$file")" = "$(build_id "$static/vignetted/vignetted")" ] || fail "$file has another build id"
done
! grep -E 'NEEDED|INTERP' "$dir/vignetted.headers" || fail "vignetted is not static"
grep -q 'FLAGS_1.* PIE' "$dir/vignetted.headers" || fail "vignetted is no PIE"
[ "$(stat -c %s "$folder/vignetted")" -lt 1800000 ] || fail "vignetted has $(stat -c %s "$folder/vignetted") bytes"
grep -q 'vg_session_tick' "$folder"/symbols/vignetted/*/vignetted.sym || fail "no symbols of vignetted"
for library in gcc glibc libseccomp libunwind msgpack-c zlib zycore zydis; do
	grep -qE "^    $library +[0-9]" "$folder/LICENSES" || fail "no version of $library: $(head -n 12 "$folder/LICENSES")"
	grep -q "^==== $library " "$folder/LICENSES" || fail "no notices of $library"
done

# ---- Zydis allocates nothing and makes no system call: these are all functions that it calls ----
mkdir "$dir/zydis"
(cd "$dir/zydis" && ar x "$SRCDIR/build/zydis/lib/libZydis.a" \
	$(sed -n 's/^.*libZydis\.a(\(.*\.o\)).*/\1/p' "$static/vignetted/vignetted.map" | sort -u) && ld -r -o all ./*.o)
nm -u "$dir/zydis/all" >"$dir/calls"
! grep -vwE '__assert_fail|__stack_chk_fail|memset' "$dir/calls" || fail "Zydis calls other functions"

# ---- what is in the way stays, and LICENSES is complete ----
dist_helper() {
	exits 1 env "PATH=$2" sh "$SRCDIR/vignetted/dist_helper.sh" "$static/vignetted/vignetted" "$VGTOOL" "$1"
}
mkdir "$dir/application"
cp "$folder/vignetted" "$folder/LICENSES" "$dir/application"
touch "$dir/application/program"
dist_helper "$dir/application" "$PATH"
has err 'has files that this script did not make'
[ -e "$dir/application/program" ] || fail "the application was removed"
mkdir "$dir/bin"
ln -s /bin/false "$dir/bin/dpkg"
dist_helper "$dir/no-notices" "$dir/bin:$PATH"
has err 'dpkg must know'
[ ! -e "$dir/no-notices" ] || fail "a folder without notices"

# ---- it opens no file of the C library or the machine's configuration ----
strace -qq -e trace=open,openat,openat2 -o "$dir/trace" "$folder/vignetted" -o "$dir/out.vgp" --duration 0.2 \
	-- sleep 60 2>"$dir/log" || fail "$(cat "$dir/log")"
grep -oE '"[^"]*"' "$dir/trace" | sort -u >"$dir/opened"
grep -q '"/proc/' "$dir/opened" || fail "strace shows no files of the helper: $(cat "$dir/trace")"
others=$(grep -E '"/(etc|usr|lib)' "$dir/opened" || true)
[ -z "$others" ] || fail "the helper opens $others"

# ---- a root directory with nothing but the helper and a program of musl ----
cat >"$dir/program.c" <<'END'
static volatile unsigned long sink;
__attribute__((noinline)) void musl_spin(void) { for (long i = 0; i < 1000000; i++) sink += i; }
int main(void) { for (int i = 0; i < 400; i++) musl_spin(); }
END
musl-gcc -O2 -g -static -o "$dir/program" "$dir/program.c"
mkdir -p "$dir/root/proc"
cp "$folder/vignetted" "$dir/program" "$dir/root/"
as_root=
[ "$(id -u)" = 0 ] || as_root=-r
unshare $as_root -m -p -f sh -c 'mount -t proc proc "$1/proc" && exec chroot "$1" /vignetted -o /out.vgp -- /program' sh \
	"$dir/root" 2>"$dir/log" || fail "in an empty root: $(cat "$dir/log")"
ended "$dir/root/out.vgp" "the process ended"
[ "$(info_value unconfined)" = 0 ] || fail "not confined: $(cat "$dir/info")"
symbolize "$dir/root/out.vgp" wall "$dir/functions" "$dir/program"
grep -q musl_spin "$dir/functions" || fail "no musl_spin: $(cat "$dir/functions")"

# ---- the dynamic helper's tests ----
BUILDDIR=$static sh "$SRCDIR/tests/project/hardening.sh" >"$dir/log" 2>&1 || fail "hardening: $(cat "$dir/log")"
make -s -C "$static" tests/recording/confined >"$dir/log" 2>&1 || fail "$(tail "$dir/log")"
"$static/tests/recording/confined" >"$dir/log" || fail "confined: $(grep '^not ok' "$dir/log")"
export VIGNETTED="$folder/vignetted"
failed=
for test in bounds disk events flight kernel kills launch peer sessions signals threads; do
	sh "$SRCDIR/tests/recording/$test.sh" >"$dir/$test.log" 2>&1 && echo "ok $test" || {
		[ $? = 77 ] && echo "skipped: $test" || { failed="$failed $test"; tail -n 20 "$dir/$test.log"; }
	}
done
[ -z "$failed" ] || fail "with the static helper:$failed"
