#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Compares vgtool symbols with Breakpad's dump_syms on a large program: Debian's libcupt4, C++ with templates, lambdas,
# exceptions and .cold parts.  Its debug information is DWARF 4, as dump_syms needs it.  All FUNC and line records are
# equal, and vgtool has all inlined calls of dump_syms.  symbols_large.mjs allows only these differences:
#  - Names: dump_syms drops anonymous namespaces.  If a function has no linkage name, dump_syms drops its scopes, too.
#  - Functions that only vgtool has: thunks, which have lines and no DIE (in dump_syms: PUBLIC), and members of lambdas:
#    dump_syms does not read classes that are nested in functions.
#  - INLINE records that only vgtool has: dump_syms does not read lexical blocks.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node "${DUMP_SYMS:?}" /usr/lib/libcupt4.so.2
debug=/usr/lib/debug/$(debug_path "$(build_id /usr/lib/libcupt4.so.2)")
needs "$debug"
"$VGTOOL" symbols --no-cfi "$debug" >"$dir/ours"
"$DUMP_SYMS" -c -d -m "$debug" >"$dir/theirs" 2>/dev/null
node "$SRCDIR/tests/symbols/symbols_large.mjs" "$dir/ours" "$dir/theirs"
