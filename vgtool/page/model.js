// SPDX-License-Identifier: MIT OR Apache-2.0
// The data as typed arrays, and the weights of a selection of samples.
//
// A node is one frame of a stack, below its callers.  Callers have lower numbers than their callees.  In all pairs of
// arrays the first one is about the profile, and the second one about the base of a comparison.

// Reads the text of the page's data: base64 of gzip of JSON.
async function dataRead(text) {
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(stream).json();
}

function modelMake(data) {
	const count = data.nodes.parent.length;
	const m = {
		data, count,
		parent: new Int32Array(data.nodes.parent),
		frame: new Int32Array(data.nodes.frame),
		func: new Int32Array(count),
		functions: data.functions.name.length,
		frameFunction: new Int32Array(data.frames.function),
		comparison: data.comparison && data.groups.some((group) => group.base),
	};
	for (let i = 0; i < count; i++)
		m.func[i] = m.frameFunction[m.frame[i]];
	for (const track of data.tracks) {
		for (const column of ["node", "path"])
			track[column] = new Int32Array(track[column]);
		for (const column of ["end", "wall", "cpu"])
			track[column] = new Float64Array(track[column]);
		const sum = (column) => column.reduce((whole, value) => whole + value, 0);
		track.sum = { wall: sum(track.wall), cpu: sum(track.cpu) };
		for (let i = 1; i < track.end.length; i++)
			track.end[i] += track.end[i - 1];
	}
	[m.childFirst, m.child] = childrenFind(m.parent);
	return m;
}

// The children of n are child[first[n]] up to child[first[n + 1] - 1].  The number parent.length stands for the parent
// of those that have none.
function childrenFind(parent) {
	const count = parent.length, first = new Int32Array(count + 2), child = new Int32Array(count);
	for (let i = 0; i < count; i++)
		first[(parent[i] < 0 ? count : parent[i]) + 1]++;
	for (let i = 1; i < first.length; i++)
		first[i] += first[i - 1];
	const next = first.slice();
	for (let i = 0; i < count; i++)
		child[next[parent[i] < 0 ? count : parent[i]]++] = i;
	return [first, child];
}

// Walks through a tree: enter(n) before the children of n, leave(n) after them.
function treeWalk(parent, [first, child], enter, leave) {
	const count = parent.length, next = first.slice();
	for (let node = count; ;) {
		if (next[node] < first[node + 1]) {
			node = child[next[node]++];
			enter(node);
		} else if (node === count) {
			return;
		} else {
			leave(node);
			node = parent[node] < 0 ? count : parent[node];
		}
	}
}

// Marks the nodes that have no caller of the same function, and those that have none of the same function and line.
// Time is counted at these nodes, so that recursion counts once.  They are found by one walk through the tree.
function outermostFind(m) {
	if (m.outermost)
		return;
	const lines = frameLines(m);
	m.outermost = new Uint8Array(m.count);
	m.outermostLine = new Uint8Array(m.count);
	const open = new Int32Array(m.functions), openLine = new Int32Array(lines.count);
	treeWalk(m.parent, [m.childFirst, m.child], (node) => {
		m.outermost[node] = open[m.func[node]]++ === 0 ? 1 : 0;
		m.outermostLine[node] = openLine[lines.of[m.frame[node]]]++ === 0 ? 1 : 0;
	}, (node) => {
		open[m.func[node]]--;
		openLine[lines.of[m.frame[node]]]--;
	});
}

// Numbers the pairs of function and line: frames differ also in whether they are inlined.
function frameLines(m) {
	const numbers = new Map(), of = new Int32Array(m.frameFunction.length);
	for (let i = 0; i < of.length; i++) {
		const key = m.frameFunction[i] * 4294967296 + m.data.frames.line[i];
		let number = numbers.get(key);
		if (number === undefined)
			numbers.set(key, number = numbers.size);
		of[i] = number;
	}
	return { of, count: numbers.size };
}

// Which paths of intervals contain one with this label: nested intervals count, too.
function pathsWith(m, label) {
	const { label: labels, parent } = m.data.paths, strings = m.data.strings;
	const inside = new Uint8Array(labels.length);
	for (let i = 0; i < labels.length; i++)
		inside[i] = strings[labels[i]] === label || (parent[i] >= 0 && inside[parent[i]]) ? 1 : 0;
	return inside;
}

// The time in intervals of each label, in descending order: [[label, time], ...]
function intervalTimes(m, weight) {
	const { label, parent } = m.data.paths, time = new Float64Array(label.length), sums = new Map();
	for (const track of m.data.tracks)
		for (let i = 0; i < track.path.length; i++)
			if (track.path[i] >= 0)
				time[track.path[i]] += track[weight][i];
	for (let i = label.length - 1; i >= 0; i--)
		if (parent[i] >= 0)
			time[parent[i]] += time[i];
	// Intervals inside of one with the same label count once.
	const open = new Int32Array(m.data.strings.length);
	treeWalk(parent, childrenFind(parent), (i) => {
		if (open[label[i]]++ === 0)
			sums.set(label[i], (sums.get(label[i]) || 0) + time[i]);
	}, (i) => open[label[i]]--);
	return [...sums].map(([text, sum]) => [m.data.strings[text], sum]).sort((a, b) => b[1] - a[1]);
}

// The sides of the tracks that a choice includes: 1 the profile, 2 the base, 0 not included.  A chosen process includes
// those of the base that ran the same program, or the base's only process if the profile has only one, too.  A chosen
// thread includes their threads of the same name, and a main thread their main threads.
function tracksChosen(m, choice) {
	const { tracks, groups } = m.data;
	// Ids differ between recordings.  A thread without a name is "thread ID".
	const threadName = (track) => track.name.replace(/ \(\d+\)$|(?<=^thread )\d+$/, "");
	const isMain = (track) => track.tid === groups[track.group].pid;
	const isBaseOf = (a, b) => a.program === b.program || groups.length === 2;
	return Uint8Array.from(tracks, (track, index) => {
		const group = groups[track.group], side = m.comparison && group.base ? 2 : 1;
		let chosen = true;
		if (choice.kind === "process") {
			const wanted = groups[choice.index];
			chosen = wanted.base === group.base ? track.group === choice.index : isBaseOf(wanted, group);
		} else if (choice.kind === "track") {
			const wanted = tracks[choice.index], wantedGroup = groups[wanted.group];
			chosen = wantedGroup.base === group.base ? index === choice.index :
				isBaseOf(wantedGroup, group) &&
				isMain(wanted) === isMain(track) && (isMain(track) || threadName(wanted) === threadName(track));
		}
		return chosen ? side : 0;
	});
}

// The weights of nodes: self, total, and the sums of all samples.
//  sides: from tracksChosen();  weight: "wall" or "cpu";  paths: from pathsWith(), or null for all samples
//  keep: which nodes' samples count, or null for all.  The sums include the others.
function weightsMake(m, sides, weight, paths, keep) {
	const w = {
		self: [new Float64Array(m.count), new Float64Array(m.comparison ? m.count : 0)],
		total: [], sum: [0, 0], kept: [0, 0],
	};
	m.data.tracks.forEach((track, index) => {
		if (sides[index])
			w.sum[sides[index] - 1] += trackAdd(track, w.self[sides[index] - 1], track[weight], paths);
	});
	for (const side of m.comparison ? [0, 1] : [0]) {
		const self = w.self[side];
		for (let i = 0; keep && i < m.count; i++)
			if (!keep[i])
				self[i] = 0;
		w.kept[side] = keep ? self.reduce((sum, value) => sum + value, 0) : w.sum[side];
		const total = w.total[side] = self.slice();
		for (let i = m.count - 1; i >= 0; i--)
			if (m.parent[i] >= 0)
				total[m.parent[i]] += total[i];
	}
	if (!m.comparison)
		w.self[1] = w.total[1] = w.self[0].subarray(0, 0);
	return w;
}

// Adds the weights of a track's samples to their nodes.  Returns the sum, which includes samples without a stack.
function trackAdd(track, self, weights, paths) {
	const { node, path } = track;
	let sum = 0;
	for (let i = 0; i < node.length; i++) {
		if (paths && (path[i] < 0 || !paths[path[i]]))
			continue;
		sum += weights[i];
		if (node[i] >= 0)
			self[node[i]] += weights[i];
	}
	return sum;
}
