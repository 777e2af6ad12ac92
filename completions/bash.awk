# SPDX-License-Identifier: MIT OR Apache-2.0
#
# awk -v program=vgtool -v template=bash.in -f bash.awk: makes the completion for bash from the output of listing.sh.
BEGIN { FS = "\t" }
function add(list, word) { return list == "" ? word : list " " word }
$1 == "command" { commands = add(commands, $2); order[++count] = $2 }
$1 == "argument" {
	for (i = 3; i <= NF; i++)
		arguments[$2] = add(arguments[$2], $i)
}
$1 == "option" {
	names = ($3 != "" ? "-" $3 " " : "") "--" $4
	options[$2] = add(options[$2], names)
	if ($6 != "flag") {
		gsub(/ /, " | ", names)
		values[$2] = values[$2] "\t\t" names ") kind='" $6 "' ;;\n"
	}
}
END {
	while ((getline line <template) > 0) {
		gsub(/PROGRAM/, program, line)
		sub(/COMMANDS/, commands, line)
		print line
	}
	print "# Sets `options` and `arguments` for the command $1, and `kind` for the value of its option $2."
	print "_" program "_kind()"
	print "{"
	print "\tkind= options= arguments="
	print "\tcase $1 in"
	order[++count] = ""
	for (i = 1; i <= count; i++) {
		print "\t'" order[i] "')"
		print "\t\toptions='" options[order[i]] "'"
		print "\t\targuments='" arguments[order[i]] "'"
		print "\t\tcase $2 in"
		printf "%s", values[order[i]]
		print "\t\tesac ;;"
	}
	print "\tesac"
	print "}"
}
