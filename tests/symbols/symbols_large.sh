#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# A large real program against Breakpad's dump_syms: Debian's libcupt4, C++ with templates, lambdas,
# exceptions and .cold parts, whose debug information is of DWARF 4, as dump_syms needs it.  All FUNC
# and line records are equal, all inlines of dump_syms are there.  What may differ, and is asserted to
# be no more than that (symbols_large.mjs):
#  - Names: dump_syms drops anonymous namespaces, and scopes where there is no linkage name.
#  - Functions that only vgtool has: thunks, which have lines and no DIE (dump_syms: PUBLIC), and members
#    of lambdas, whose classes are nested in functions, where dump_syms does not look.
#  - INLINE records that only vgtool has: dump_syms does not look into lexical blocks.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
: "${DUMP_SYMS:?}"
debug=/usr/lib/debug/$(debug_path "$(build_id /usr/lib/libcupt4.so.2)")
"$VGTOOL" symbols --no-cfi "$debug" >"$dir/ours"
"$DUMP_SYMS" -c -d -m "$debug" >"$dir/theirs" 2>/dev/null
node "$SRCDIR/tests/symbols/symbols_large.mjs" "$dir/ours" "$dir/theirs"
