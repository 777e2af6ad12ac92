#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Prints page_text.c: the page of `vgtool view` as two C strings (page.h).
#
#     page_text.sh page.html page.css SCRIPT.js...
#
# In page.html a line "@style@" stands for page.css, "@scripts@" for the scripts, and "@data@" for the data.
# Indentation, empty lines and lines of comment are left out, as they are a third of the text.
set -eu
html=$1 css=$2
shift 2

# literals: makes a C string of each line
literals() { sed -e 's/^[[:space:]]*//' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$/\\n"/'; }
# short FILE...: the files without what only their readers need
short() { sed -e '/^$/d' -e '/^[[:space:]]*\/\//d' -e '/^\/\*.*\*\/$/d' "$@"; }

echo '/* Made by page_text.sh. */'
echo '#include "vgtool/page/page.h"'
echo 'const char vg_page_head[] ='
sed '/^@style@$/,$d' "$html" | literals
short "$css" | literals
sed -e '1,/^@style@$/d' -e '/^@data@$/,$d' "$html" | literals
echo '"";'
echo 'const char vg_page_tail[] ='
sed -e '1,/^@data@$/d' -e '/^@scripts@$/,$d' "$html" | literals
short "$@" | literals
sed '1,/^@scripts@$/d' "$html" | literals
echo '"";'
