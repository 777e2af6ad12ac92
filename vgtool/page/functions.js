// SPDX-License-Identifier: MIT OR Apache-2.0
// Sums by function, as `vgtool report` has them: self is the time in a function itself, total counts each sample once.

// Returns { self: [Float64Array, Float64Array], total: ... }, by function.
function functionSums(m, w) {
	outermostFind(m);
	const sums = { self: [], total: [] };
	for (const side of [0, 1]) {
		const self = sums.self[side] = new Float64Array(m.functions);
		const total = sums.total[side] = new Float64Array(m.functions);
		for (let i = 0; i < w.self[side].length; i++) {
			self[m.func[i]] += w.self[side][i];
			if (m.outermost[i])
				total[m.func[i]] += w.total[side][i];
		}
	}
	return sums;
}

// The callers and callees of a function: [{ func, time: [new, base] }, ...], the heaviest first; func -1 is none.
// Each sample counts once: at the function's outermost frame.
function functionNeighbours(m, w, func) {
	outermostFind(m);
	const callers = new Map(), callees = new Map();
	const add = (sums, key, node) => {
		const time = sums.get(key) || [0, 0];
		time[0] += w.total[0][node];
		time[1] += w.total[1][node] || 0;
		sums.set(key, time);
	};
	for (let i = 0; i < m.count; i++) {
		if (m.func[i] !== func || !m.outermost[i])
			continue;
		add(callers, m.parent[i] < 0 ? -1 : m.func[m.parent[i]], i);
		for (let k = m.childFirst[i]; k < m.childFirst[i + 1]; k++)
			add(callees, m.func[m.child[k]], m.child[k]);
	}
	const sorted = (sums) => [...sums].map(([key, time]) => ({ func: key, time }))
		.filter(({ time }) => time[0] > 0 || time[1] > 0)
		.sort((a, b) => b.time[0] - a.time[0] || b.time[1] - a.time[1]);
	return { callers: sorted(callers), callees: sorted(callees) };
}

// The lines of a function: [{ line, self, total }, ...], by line; line 0 is unknown.
function functionLines(m, w, func) {
	outermostFind(m);
	const lines = new Map();
	for (let i = 0; i < m.count; i++) {
		if (m.func[i] !== func || !(w.total[0][i] > 0))
			continue;
		const line = m.data.frames.line[m.frame[i]];
		const sums = lines.get(line) || { line, self: 0, total: 0 };
		sums.self += w.self[0][i];
		if (m.outermostLine[i])
			sums.total += w.total[0][i];
		lines.set(line, sums);
	}
	return [...lines.values()].sort((a, b) => a.line - b.line);
}

// The texts of a file's lines, by number; empty if the data do not have the file.
function sourceLines(m, file) {
	const found = file >= 0 && m.data.sources.find((source) => source.file === file);
	return found ? found.lines : {};
}
