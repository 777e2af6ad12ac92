// SPDX-License-Identifier: MIT OR Apache-2.0
// The tree of one thread by time: adjacent samples with the same callers share a box.

// More boxes than this cannot be told apart on a screen, and would need too much time and memory.  A thread with more
// shows only one of several samples.
const timeBoxesMax = 2000000;

// Returns a tree whose x is the time.  `t.every` is 1 if it has all samples.
function timeTree(m, track, paths, keep) {
	for (let every = 1; ;) {
		const { t, done } = timeTreeTry(m, track, paths, keep, every);
		if (done === track.node.length)
			return t;
		every = Math.ceil(every * 1.1 * track.node.length / Math.max(1, done));
	}
}

// The median time from one sample to the next, of up to 1000 samples.  Weights are exact only as sums: one sample may
// have some of its neighbours' time.  So only a gap of several steps is time without samples.
function usualStep({ end }) {
	const steps = [], stride = Math.ceil(end.length / 1000);
	for (let i = 1; i < end.length; i += stride)
		steps.push(end[i] - end[i - 1]);
	return steps.sort((a, b) => a - b)[steps.length >> 1] || 0;
}

// Columns that grow.  Other columns are made by timeOrder().
function timeRoom(t, room) {
	if (room <= t.room)
		return;
	t.room = Math.max(room, 2 * t.room);
	for (const name of ["func", "parent", "depth", "x"])
		t[name] = larger(t[name], t.room);
	t.total[0] = larger(t.total[0], t.room);
}

// Returns the tree, and how many samples fit into it.
function timeTreeTry(m, track, paths, keep, every) {
	const t = treeMake(m, 0), open = [0], path = [], gap = 4 * usualStep(track);
	timeRoom(t, 4096);
	t.every = every;
	t.ordered = false;
	t.func[0] = t.parent[0] = -1;
	t.size = 1;
	let end = track.end.length ? track.end[0] - track.wall[0] : 0, until = end, last = -2;
	t.x[0] = end;
	// Ends the boxes below a depth.
	const close = (depth) => {
		while (open.length > depth) {
			const box = open.pop();
			t.total[0][box] = until - t.x[box];
		}
	};
	for (let i = 0; i < track.node.length; i++) {
		const begin = track.end[i] - track.wall[i] > end + gap ? track.end[i] - track.wall[i] : end;
		end = Math.max(track.end[i], end);
		if (i % every)
			continue;
		const node = track.node[i];
		const counts = node >= 0 && (!paths || (track.path[i] >= 0 && paths[track.path[i]])) && (!keep || keep[node]);
		if (begin > until && every === 1 || !counts) {
			close(1);
			last = -2;
		}
		const start = open.length > 1 ? until : begin;
		if (counts && node !== last) {
			path.length = 0;
			for (let at = node; at >= 0; at = m.parent[at])
				path.push(m.func[at]);
			let depth = 1;
			while (depth < open.length && depth <= path.length && t.func[open[depth]] === path[path.length - depth])
				depth++;
			close(depth);
			if (t.size + path.length > timeBoxesMax)
				return { t, done: i };
			timeRoom(t, t.size + path.length);
			for (; depth <= path.length; depth++) {
				const box = t.size++;
				t.func[box] = path[path.length - depth];
				t.parent[box] = open[depth - 1];
				t.depth[box] = depth;
				t.x[box] = start;
				open.push(box);
			}
			last = node;
		}
		until = end;
	}
	until = end;
	close(0);
	return { t: timeOrder(t), done: track.node.length };
}

// Numbers the boxes by depth, then by time.  The callees of a box have adjacent numbers then.
function timeOrder(t) {
	let depths = 0;
	for (let i = 0; i < t.size; i++)
		depths = Math.max(depths, t.depth[i] + 1);
	const first = new Int32Array(depths + 1);
	for (let i = 0; i < t.size; i++)
		first[t.depth[i] + 1]++;
	for (let i = 1; i <= depths; i++)
		first[i] += first[i - 1];
	const number = new Int32Array(t.size);
	for (let i = 0; i < t.size; i++)
		number[i] = first[t.depth[i]]++;
	const from = { func: t.func, depth: t.depth, x: t.x, parent: t.parent, total: t.total[0] };
	for (const name of ["func", "depth", "x", "parent"])
		t[name] = new from[name].constructor(t.size);
	t.total = [new Float64Array(t.size), new Float64Array(t.size)];
	t.self = [new Float64Array(t.size), new Float64Array(t.size)];
	t.childFirst = new Int32Array(t.size);
	t.childCount = new Int32Array(t.size);
	t.room = t.size;
	for (let i = 0; i < t.size; i++) {
		const box = number[i];
		t.func[box] = from.func[i];
		t.depth[box] = from.depth[i];
		t.x[box] = from.x[i];
		t.total[0][box] = from.total[i];
		t.parent[box] = from.parent[i] < 0 ? -1 : number[from.parent[i]];
	}
	for (let box = t.size - 1; box > 0; box--) {
		t.childFirst[t.parent[box]] = box;
		t.childCount[t.parent[box]]++;
	}
	return t;
}

// The intervals of a track, as columns with absolute times.  `rows` is the number of their depths.
function trackIntervals(m, index) {
	const found = (m.data.intervals || []).find((intervals) => intervals.track === index);
	if (!found)
		return { count: 0, rows: 0 };
	const rows = found.depth.reduce((most, depth) => Math.max(most, depth + 1), 0);
	// More nested intervals than this would leave no room for the stacks.
	return { count: found.label.length, rows: Math.min(rows, 12), ...found };
}
