# SPDX-License-Identifier: MIT OR Apache-2.0
#
# awk -v program=vgtool -f fish.awk: makes the completion for fish from the output of listing.sh.
BEGIN { FS = "\t" }
function quoted(text)
{
	gsub(/[\\']/, "\\\\&", text)
	return "'" text "'"
}
function action(kind)
{
	if (kind == "file")
		return " -r -F"
	if (kind == "directory")
		return " -x -a '(__fish_complete_directories)'"
	if (kind == "pid")
		return " -x -a '(__fish_complete_pids)'"
	if (kind == "flag" || kind == "text")
		return kind == "text" ? " -x" : ""
	gsub(/\|/, " ", kind)
	return " -x -a '" kind "'"
}
function line(command, rest)
{
	condition = command != "" ? " -n '__fish_seen_subcommand_from " command "'" : \
		commands != "" ? " -n 'not __fish_seen_subcommand_from " commands "'" : ""
	text = "complete -c " program condition rest
	if (!(text in seen))
		lines[++count] = text
	seen[text] = 1
}
$1 == "command" { commands = commands == "" ? $2 : commands " " $2; names[$2] = $3 }
$1 == "argument" {
	for (i = 3; i <= NF; i++) {
		if ($i == "pid")
			line($2, " -a '(__fish_complete_pids)'")
		else if ($i == "command")
			line($2, " -F -a '(__fish_complete_command)'")
		else if ($i == "file")
			line($2, " -F")
	}
}
$1 == "option" { line($2, ($3 != "" ? " -s " $3 : "") " -l " $4 action($6) ($7 != "" ? " -d " quoted($7) : "")) }
END {
	print "# Completion of " program " for fish, made from " program " --help"
	print "complete -c " program " -f"
	split(commands, order, " ")
	for (i = 1; i in order; i++)
		line("", " -a " order[i] (names[order[i]] != "" ? " -d " quoted(names[order[i]]) : ""))
	for (i = 1; i <= count; i++)
		print lines[i]
}
