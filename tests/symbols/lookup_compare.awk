# SPDX-License-Identifier: MIT OR Apache-2.0
#
# awk -f lookup_compare.awk NM RS= OURS THEIRS: compares two files of the same addresses in llvm-symbolizer's form.  NM
# is the demangled output of `nm` for the module: names at the same address are one function.
#
# Prints `KIND<TAB>address<TAB>theirs<TAB>ours` for each difference.  The last line is `total N nameless N same_function
# N same_line N same_depth N`.  If THEIRS has no function, there is nothing to compare with: then a line of kind
# "nameless" has the function and the place from OURS.
BEGIN { FS = "\n" }
FILENAME == ARGV[1] {
	at = index($0, " ")
	name = bare(substr($0, at + 3))
	where[name] = where[name] " " substr($0, 1, at - 1) " "
	next
}
# Removes what compilers and linkers add to the name of a part or a copy of a function.
function bare(name) {
	gsub(/ \[clone [^]]*\]/, "", name)
	while (sub(/\.(cold|isra|part|constprop|lto_priv|localalias|llvm|warm)(\.[0-9]+)*$/, "", name))
		;
	sub(/@.*/, "", name)
	return name
}
function is_alias(a, b,    list, count, i) {
	count = split(where[a], list, " ")
	for (i = 1; i <= count; i++)
		if (index(where[b], " " list[i] " "))
			return 1
	return 0
}
# Removes parameters, template arguments and the type from a name.
function stem(name) {
	gsub(/\(anonymous namespace\)/, "{anonymous}", name)
	gsub(/operator\(\)/, "operator{call}", name)
	while (gsub(/\([^()]*\)/, "", name))
		;
	while (gsub(/<[^<>]*>/, "", name))
		;
	sub(/ const$/, "", name)
	sub(/^.* /, "", name)
	return name
}
# For a function without a linkage name, one side may have only the bare name, and the other its scopes, too.
function same_name(a, b,    shorter, longer) {
	a = bare(a); b = bare(b)
	if (a == b || is_alias(a, b))
		return 1
	shorter = length(a) < length(b) ? a : b
	longer = length(a) < length(b) ? b : a
	if (b !~ /\)( const)?$/ && stem(a) == stem(b))
		return 1
	return substr(longer, length(longer) - length(shorter) - 1) == "::" shorter
}
function path_of(place) {
	sub(/:[0-9]+:[0-9]+$/, "", place)
	while (sub(/\/\.\//, "/", place))
		;
	sub(/^\.\//, "", place)
	while (sub(/\/[^\/.][^\/]*\/\.\.\//, "/", place))
		;
	return place
}
function line_of(place) {
	sub(/:[0-9]+$/, "", place)
	sub(/^.*:/, "", place)
	return place == "?" ? 0 : place
}
function report(kind, theirs, ours) { print kind "\t" $1 "\t" theirs "\t" ours }
FILENAME == ARGV[3] { ours[++our_count] = $0; next }
{
	total++
	split(ours[total], our, "\n")
	if (our[1] != $1) { print "out of step at " $1 " and " our[1]; exit 1 }
	our_fields = 0
	for (i = 2; i in our && our[i] != ""; i += 2)
		our_fields = i + 1
	if ($2 == "??") {
		report("nameless", our[2], our[3])
		nameless++
		next
	}
	if (same_name($2, our[2])) functions++
	else report("function", $2, our[2])
	if (line_of($3) == line_of(our[3]) &&
	    (path_of($3) == path_of(our[3]) || line_of($3) == 0)) lines++
	else report("line", $3, our[3])
	if (NF == our_fields) depth++
	else report("depth", (NF - 1) / 2, (our_fields - 1) / 2)
}
END {
	print "total", total, "nameless", nameless + 0, "same_function", functions + 0, \
		"same_line", lines + 0, "same_depth", depth + 0
}
