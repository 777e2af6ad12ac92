# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Prints RESULTS.md with one section replaced, or added in alphabetical order.
#
#     awk -v name=TITLE -v rows=FILE -v run=TEXT -f results.awk RESULTS.md
#
# FILE has the rows of the section's table.  TEXT says when, where and how they were measured.
function section() {
	if (done) return
	done = 1
	print "## " name "\n\n" run "\n\n| What | Figure | Target | Result |\n|---|---|---|---|"
	while ((getline line <rows) > 0) print line
	print ""
}
/^## / {
	title = substr($0, 4)
	skipped = title == name
	if (title >= name) section()
}
!skipped { print }
END { section() }
