#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# listing.sh PROGRAM COUNTERS: prints what a shell can complete, from the program's --help, which vg_option_help() makes
# from the tables of options.  COUNTERS is the path of base/counters.c, which has the values of --counter.  Lines, with
# tabs between their fields:
#
#     command   NAME  HELP
#     argument  COMMAND  KIND...                            by position; files may follow a file
#     option    COMMAND  LETTER  NAME  VALUE  KIND  HELP    VALUE is empty for a flag
#
# COMMAND is empty for a program without commands, and before the command.  KIND is file, directory, pid, command, text,
# or the accepted words with a | between them.
set -eu
program=$1
counters=$(sed -n 's/.*PARTS_[A-Z]*, "\([a-z-]*\)".*/\1/p' "$2" | tr '\n' '|')
help=$("$program" --help)
{
	printf '=\n%s\n' "$help"
	printf '%s\n' "$help" | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | while read -r command; do
		printf '= %s\n%s\n' "$command" "$("$program" "$command" --help)"
	done
} | "${AWK:-awk}" -v counters="${counters%|}" '
function kind_of(token)
{
	if (token ~ /\|/ && token !~ /[A-Z]/)
		return token
	if (token ~ /^DIR$/)
		return "directory"
	if (token ~ /^(FUNCTION|LABEL|ID)$/)
		return "text"
	return token ~ /^PID/ ? "pid" : token ~ /^COMMAND/ ? "command" : "file"
}
# The values of an option: words from the usage, or by their name.
function option_kind(command, name, value)
{
	if (name == "counter")
		return counters
	if (match(usage[command], "--" name " [a-z]+[|][a-z|]+"))
		words[name, value] = substr(usage[command], RSTART + length(name) + 3, RLENGTH - length(name) - 3)
	return value ~ /^(FILE|OUT|STORE|DIR|PID.*)$|\|/ ? kind_of(value) : "text"
}
# Reads the arguments of a form of the usage.  A program whose commands have no --help names each command in a form.
function form_read(command, form,    count, tokens, i, token, kinds)
{
	while (gsub(/\[[^][]*\]/, "", form))
		;
	gsub(/\.\.\./, "", form)
	count = split(form, tokens, " ")
	for (i = 1; i <= count; i++) {
		token = tokens[i]
		if (token ~ /^-./) {
			if (command != "" || (command, token) in valued)
				i += valued[command, token]
			else if (!has_options[command])
				options[++option_count] = command "\t\t" substr(token, 3) "\t\tflag\t"
		} else if (kinds == "" && token ~ /^[a-z]+$/) {
			command = token
			commands[++command_count] = token "\t"
			named[token] = 1
		} else if (token != "--") {
			kinds = kinds "\t" kind_of(token)
		}
	}
	if (kinds != "" && arguments[command] == "")
		arguments[command] = kinds
}
function section_end(    i)
{
	for (i = 1; i <= form_count; i++)
		form_read(section, forms[i])
	form_count = 0
}
/^=/ { section_end(); section = $2; next }
/^usage: / { within = 1; sub(/^usage: /, "       ") }
within && NF == 0 { within = 0 }
within {
	usage[section] = usage[section] " " $0
	if ($0 ~ /^       [a-z]/) {
		sub(/^ +[a-z]+/, "")
		if (section != "")
			sub(/^ [a-z]+/, "")
		forms[++form_count] = ""
	}
	forms[form_count] = forms[form_count] " " $0
	next
}
/^  [a-z]/ && section == "" { name = $1; sub(/^ +[a-z]+ +/, ""); commands[++command_count] = name "\t" $0 }
/^  ....--[a-z]/ {
	letter = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : ""
	text = substr($0, 9)
	match(text, /^[a-z-]+/)
	name = substr(text, 1, RLENGTH)
	text = substr(text, RLENGTH + 1)
	value = ""
	if (text ~ /^ ([A-Z]|[a-z]+[|])/) {
		split(text, parts, " ")
		value = parts[1]
		text = substr(text, length(value) + 2)
		valued[section, "--" name] = valued[section, "-" letter] = 1
	}
	sub(/^ +/, "", text)
	has_options[section] = 1
	options[++option_count] = section "\t" letter "\t" name "\t" value "\t" \
		(value == "" ? "flag" : option_kind(section, name, value)) "\t" text
}
function option_print(line,    fields)
{
	split(line, fields, "\t")
	if (fields[5] == "text" && (fields[3], fields[4]) in words)
		fields[5] = words[fields[3], fields[4]]
	print "option\t" fields[1] "\t" fields[2] "\t" fields[3] "\t" fields[4] "\t" fields[5] "\t" fields[6]
}
END {
	section_end()
	for (i = 1; i <= command_count; i++) {
		split(commands[i], parts, "\t")
		print "command\t" commands[i]
		if (arguments[parts[1]] != "")
			print "argument\t" parts[1] arguments[parts[1]]
		# Each of these commands has all options of the program.
		for (k = 1; named[parts[1]] && k <= option_count; k++)
			option_print(parts[1] options[k])
	}
	if (command_count == 0)
		print "argument\t" arguments[""]
	for (k = 1; k <= option_count; k++)
		option_print(options[k])
}'
