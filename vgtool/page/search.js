// SPDX-License-Identifier: MIT OR Apache-2.0
// The search by regular expression.

// Which functions match: null without a search.  "module:" and "file:" search in those names.  Throws a SyntaxError.
function searchMatches(m, text) {
	if (text === "")
		return null;
	// Not in front of another colon: "module::open" is a name of C++ or Rust.
	const [, field, pattern] = /^(?:(module|file):(?!:))?(.*)$/s.exec(text);
	const expression = new RegExp(pattern, "i"), strings = m.data.strings;
	const names = field ? m.data.functions[field] : m.data.functions.name;
	return Uint8Array.from(names, (index) => index >= 0 && expression.test(strings[index]) ? 1 : 0);
}

// A pattern that only this text matches.
function searchExactly(text) {
	return `^${text.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&")}$`;
}

// Which nodes have a match among themselves and their callers.
function matchingNodes(m, matches) {
	const inside = new Uint8Array(m.count);
	for (let i = 0; i < m.count; i++)
		inside[i] = matches[m.func[i]] | (m.parent[i] >= 0 ? inside[m.parent[i]] : 0);
	return inside;
}

// Which nodes' stacks have a match: nodes below a match.  The time of a sample is at its node, so this decides.
function matchSums(m, w, matches, inside, side) {
	let time = 0, functions = 0;
	const self = w.self[side], seen = new Uint8Array(m.functions);
	for (let i = 0; i < self.length; i++) {
		if (inside[i])
			time += self[i];
		if (w.total[side][i] > 0 && matches[m.func[i]] && !seen[m.func[i]]) {
			seen[m.func[i]] = 1;
			functions++;
		}
	}
	return { time, functions };
}
