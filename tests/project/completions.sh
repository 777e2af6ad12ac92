#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# bash, zsh and fish complete commands, options, and values of options.  Every option of every table is in each of the
# three files.  The shells run: bash calls the function, zsh completes on a terminal, fish has a command for it.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs bash zsh fish
# fish completes only what is in PATH.
. "$SRCDIR/tests/installed.sh"
files=$BUILDDIR/completions

# ---- every option of the tables, as the sources write them ----
# has_options PROGRAM SOURCE...: the options of the tables in the sources are in the program's files.  --serve is not
# for people, so it has no help.
has_options() {
	program=$1
	shift
	names=$(cat "$@" | grep -oE '[{] ?[A-Za-z_0-9+ ()'\'']+, "[a-z-]+", *(VG_OPTION_|\.)' |
		sed 's/.*"\(.*\)".*/\1/' | grep -vx serve | sort -u)
	[ "$(echo "$names" | wc -l)" -ge 15 ] || fail "$program: only these options: $names"
	for name in $names; do
		grep -qE -e "--$name[ ')]" "$files/bash/$program" || fail "bash, $program: no --$name"
		grep -qE -e "--$name=?\[" "$files/zsh/_$program" || fail "zsh, $program: no --$name"
		grep -qE -e " -l $name( |\$)" "$files/fish/$program.fish" || fail "fish, $program: no --$name"
	done
}
cd "$SRCDIR"
has_options vgtool vgtool/commands/*.[ch] base/option_table.h
has_options vgctl vgctl/arguments.c base/option_table.h
has_options vignetted vignetted/serve/arguments.c base/option_table.h

# ---- the shells: each prints what it offers for the last word ----
mkdir "$dir/work" "$dir/work/folder" "$dir/config"
cd "$dir/work"
: >profile.vgp

# bash splits words at "=", too.
bash_offers() {
	bash --norc -c '. "$1"; compopt() { :; }
		read -ra COMP_WORDS <<<"${2//=/ = }"; [[ $2 != *[\ =] ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_${2%% *}
		printf "%s\n" "${COMPREPLY[@]}"' bash "$files/bash/${1%% *}" "$1"
}

fish_offers() {
	HOME=$dir fish -c 'set fish_complete_path $argv[1]; complete -C $argv[2]' "$files/fish" "$1" | cut -f 1
}

# An interactive zsh on a terminal.  ^X^P completes what was typed, and writes what is offered to a file.
cat >"$dir/config/.zshrc" <<END
fpath=($files/zsh \$fpath)
autoload -U compinit
compinit -u -d $dir/config/dump
compadd() {
	local -a found
	if [[ \${\${@[1,(i)--]}[(I)-[OAD]*]} == 0 ]]; then
		builtin compadd -O found "\$@"
		print -rl -- \$found >>$dir/offered
	fi
	builtin compadd "\$@"
}
probe() {
	zle list-choices
	print end >>$dir/offered
	BUFFER=
}
zle -N probe
bindkey '^X^P' probe
print ready >>$dir/offered
END
cat >"$dir/config/type" <<'END'
zmodload zsh/zpty zsh/datetime
typeset -F deadline=$((EPOCHREALTIME + 3000))
# Waits for the text in the file, and reads what the shell prints meanwhile: otherwise the terminal's buffer fills up.
await() {
	until grep -qx $1 $offered 2>/dev/null; do
		(( EPOCHREALTIME < deadline )) || exit 1
		zpty -rt shell printed || sleep 0.02
	done
}
offered=$1
zpty shell zsh -i
await ready
: >$offered
zpty -wn shell "$2"$'\C-x\C-p'
await end
zpty -d shell
END
zsh_offers() {
	: >"$dir/offered"
	ZDOTDIR=$dir/config TERM=dumb zsh -f "$dir/config/type" "$dir/offered" "$1" >"$dir/log" 2>&1 ||
		fail "zsh does not complete '$1': $(cat "$dir/log")"
	sed -e '/^end$/d' -e 's/=$//' "$dir/offered"
}

# offers LINE WORD...: each shell offers exactly these words.  offers_some LINE WORD...: these and others.
# offers_not LINE WORD...: none of these.
offered() {
	for shell in bash zsh fish; do
		(${shell}_offers "$1" | sed -e 's/[[:space:]]*$//' -e '/^$/d' | sort -u >"$dir/$shell") &
	done
	wait
}
offers() {
	offered "$1"
	line=$1
	shift
	printf '%s\n' "$@" | sort -u >"$dir/expected"
	for shell in bash zsh fish; do
		sed 's/^--[a-z-]*=//' "$dir/$shell" | diff "$dir/expected" - >"$dir/log" ||
			fail "$shell offers others for '$line': $(cat "$dir/log")"
	done
}
offers_some() {
	offered "$1"
	line=$1
	shift
	for shell in bash zsh fish; do
		for word in "$@"; do
			grep -qxF -e "$word" "$dir/$shell" || fail "$shell does not offer $word for '$line': $(cat "$dir/$shell")"
		done
	done
}
offers_not() {
	for word in "$@"; do
		! grep -qxF -e "$word" "$dir/bash" "$dir/zsh" "$dir/fish" || fail "$word is offered for '$line'"
	done
}

offers 'vgtool re' record report resolve recover
offers 'vgtool report --ca' --callers --callees
offers 'vgtool report --by ' function line module file thread interval process
offers 'vgtool report --by=m' module
offers 'vgtool record --mode=' wall cpu
offers 'vgtool record -w c' cpu
offers 'vgtool record --counter context' context-switches
offers 'vgtool store --pru' --prune
offers_some 'vgtool report ' profile.vgp
offers_some 'vgtool record --pid ' $$
offers_not profile.vgp
offers_some 'vgtool top ' $$
offers_some 'vgtool record --quiet -- ca' cat
offers_some 'vgtool record -o p' profile.vgp
offers 'vgctl sta' status
offers_some 'vgctl --directory folder status ' $$
offers 'vgctl begin 1 --flight-m' --flight-memory
offers_some 'vignetted --c' --check --capture --counter
offers_some 'vignetted --pid ' $$

# All options of each command, in bash, which is the fastest of the three
for command in $("$VGTOOL" --help | awk '/^  [a-z]/ { print $1 }'); do
	"$VGTOOL" $command --help | grep -oE '^  ....--[a-z-]+' | sed 's/.*--/--/' | sort -u >"$dir/expected"
	bash_offers "vgtool $command --" | sort -u >"$dir/bash"
	diff "$dir/expected" "$dir/bash" >"$dir/log" || fail "options of vgtool $command: $(cat "$dir/log")"
done
