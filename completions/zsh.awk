# SPDX-License-Identifier: MIT OR Apache-2.0
#
# awk -v program=vgtool -f zsh.awk: makes the completion for zsh from the output of listing.sh.
BEGIN { FS = "\t" }
# Escapes text for a specification of _arguments, and for single quotes.
function escaped(text, characters)
{
	gsub(characters, "\\\\&", text)
	gsub(/'/, "'\\''", text)
	return text
}
function action(kind)
{
	if (kind == "file")
		return "_files"
	if (kind == "directory")
		return "_directories"
	if (kind == "pid")
		return "_" program "_pids"
	if (kind == "text")
		return " "
	gsub(/\|/, " ", kind)
	return "(" kind ")"
}
function specification(command, text)
{
	specifications[command] = specifications[command] " \\\n\t\t'" text "'"
}
$1 == "command" {
	order[++count] = $2
	described = described " \\\n\t\t\t'" $2 ($3 != "" ? ":" escaped($3, "[\\\\:]") : "") "'"
}
$1 == "argument" {
	for (i = 3; i <= NF; i++) {
		if ($i == "command") {
			specification($2, "(-)1: :_command_names -e")
			specification($2, "*:: :_normal")
		} else {
			specification($2, (i - 2) ": :" action($i))
		}
	}
	if ($NF == "file")
		specification($2, "*: :_files")
}
$1 == "option" {
	help = "[" escaped($7, "[][\\\\]") "]"
	value = $6 == "flag" ? "" : ":" escaped($5, "[\\\\:]") ":" action($6)
	if ($3 != "")
		specification($2, (value != "" ? "*" : "") "-" $3 (value != "" ? "+" : "") help value)
	specification($2, (value != "" ? "*" : "") "--" $4 (value != "" ? "=" : "") help value)
}
END {
	print "#compdef " program
	print "# Completion of " program " for zsh, made from " program " --help"
	print "_" program "()"
	print "{"
	print "\tlocal curcontext=$curcontext context state state_descr line"
	print "\tlocal -a named"
	print "\ttypeset -A opt_args"
	print ""
	if (count == 0) {
		print "\t_arguments -S" specifications[""]
	} else {
		print "\t_arguments -C -S" specifications[""] " \\\n\t\t'1: :->command' '*:: :->argument' && return"
		print "\tcase $state in"
		print "\tcommand)"
		print "\t\tnamed=(" described ")"
		print "\t\t_describe command named ;;"
		print "\targument)"
		print "\t\t(( $+functions[_" program "_$words[1]] )) && _" program "_$words[1] ;;"
		print "\tesac"
	}
	print "}"
	# _pids of zsh knows only the processes of this terminal.
	print ""
	print "_" program "_pids()"
	print "{"
	print "\tlocal directory"
	print "\tlocal -a processes"
	print "\tfor directory in /proc/<->(N); do"
	print "\t\tprocesses+=(\"$directory:t:${$(<$directory/comm):gs/:/_}\")"
	print "\tdone"
	print "\t_describe process processes"
	print "}"
	for (i = 1; i <= count; i++) {
		print ""
		print "_" program "_" order[i] "()"
		print "{"
		print "\t_arguments -S" specifications[order[i]]
		print "}"
	}
	print ""
	print "_" program " \"$@\""
}
