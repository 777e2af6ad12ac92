// SPDX-License-Identifier: MIT OR Apache-2.0
// The tree that is drawn, as columns.  Box 0 is the root.  The callees of a box have adjacent numbers, from childFirst.
//
// Trees of time are made at once (timeline.js).  The others grow where they are drawn: a box knows the nodes that it
// stands for, and its callees are made when they are first needed.  So 100,000 stacks cost only what is wide enough to
// be seen.

function treeMake(m, side) {
	return {
		m, side, size: 0, room: 0,
		func: new Int32Array(0),        // function, -1 for the root
		parent: new Int32Array(0),
		depth: new Int32Array(0),
		x: new Float64Array(0),         // where the box begins, in microseconds
		total: [new Float64Array(0), new Float64Array(0)],
		self: [new Float64Array(0), new Float64Array(0)],
		childFirst: new Int32Array(0),
		childCount: new Int32Array(0),  // -1 before the callees are made
		itemFirst: new Int32Array(0),   // the box stands for items[itemFirst..itemEnd)
		itemEnd: new Int32Array(0),
		items: null, origins: null, itemCount: 0,
		ordered: true,                  // callees are in descending order of weight
	};
}

function larger(column, room) {
	const copy = new column.constructor(room);
	copy.set(column.subarray(0, room));
	return copy;
}

const boxColumns = ["func", "parent", "depth", "x", "childFirst", "childCount", "itemFirst", "itemEnd"];

function treeRoom(t, room) {
	if (room <= t.room)
		return;
	t.room = Math.max(room, 2 * t.room, 1024);
	for (const name of boxColumns)
		t[name] = larger(t[name], t.room);
	for (const pair of [t.total, t.self])
		for (const side of [0, 1])
			pair[side] = larger(pair[side], t.room);
}

// Merged stacks: callers above callees.
function mergedTree(m, w, side) {
	const t = treeRoot(m, w, side);
	t.items = t.origins = Int32Array.of(m.count);
	t.weights = w.total;
	t.selfs = w.self;
	t.itemEnd[0] = t.itemCount = 1;
	t.gather = mergedGather;
	return t;
}

// Inverted stacks: the frames that ran, with their callers below.  An item is a pair: the node of a caller, and the
// node that ran, which has the weight.
function invertedTree(m, w, side) {
	const t = treeRoot(m, w, side), ran = [];
	for (let i = 0; i < m.count; i++)
		if (w.self[0][i] > 0 || w.self[1][i] > 0)
			ran.push(i);
	t.items = Int32Array.from(ran);
	t.origins = t.items.slice();
	t.weights = w.self;
	t.selfs = null;
	t.itemEnd[0] = t.itemCount = ran.length;
	t.gather = invertedGather;
	return t;
}

function treeRoot(m, w, side) {
	const t = treeMake(m, side);
	treeRoom(t, 1);
	t.size = 1;
	t.func[0] = t.parent[0] = t.childCount[0] = -1;
	t.total[0][0] = w.kept[0];
	t.total[1][0] = w.kept[1];
	t.slot = new Int32Array(m.functions).fill(-1);
	return t;
}

// Fills `found` with the callees' nodes of a box.
function mergedGather(t, box, found) {
	const { m, items } = t;
	for (let i = t.itemFirst[box]; i < t.itemEnd[box]; i++)
		for (let k = m.childFirst[items[i]]; k < m.childFirst[items[i] + 1]; k++)
			foundAdd(found, m.child[k], m.child[k]);
}

function invertedGather(t, box, found) {
	const { m, items, origins } = t;
	for (let i = t.itemFirst[box]; i < t.itemEnd[box]; i++) {
		const node = box ? m.parent[items[i]] : items[i];
		if (node >= 0)
			foundAdd(found, node, origins[i]);
	}
}

// Reused by all calls, so that making callees allocates little.
const gathered = { nodes: new Int32Array(1024), origins: new Int32Array(1024), count: 0 };

function foundAdd(found, node, origin) {
	if (found.count === found.nodes.length) {
		found.nodes = larger(found.nodes, 2 * found.count);
		found.origins = larger(found.origins, 2 * found.count);
	}
	found.nodes[found.count] = node;
	found.origins[found.count++] = origin;
}

// Makes the callees of a box: its nodes' callees by function, the heaviest first.
function treeExpand(t, box) {
	if (t.childCount[box] >= 0)
		return;
	gathered.count = 0;
	t.gather(t, box, gathered);
	const made = calleesGroup(t, gathered);
	// Callees without weight on the side that is shown have no width.
	const order = made.func.map((_, index) => index).filter((index) => made.total[t.side][index] > 0);
	order.sort((a, b) => made.total[t.side][b] - made.total[t.side][a] || made.func[a] - made.func[b]);
	treeRoom(t, t.size + order.length);
	t.childFirst[box] = t.size;
	t.childCount[box] = order.length;
	let x = t.x[box];
	for (const index of order) {
		const child = t.size++;
		t.func[child] = made.func[index];
		t.parent[child] = box;
		t.depth[child] = t.depth[box] + 1;
		t.x[child] = x;
		for (const side of [0, 1]) {
			t.total[side][child] = made.total[side][index];
			t.self[side][child] = made.self[side][index];
		}
		t.childCount[child] = -1;
		x += t.total[t.side][child];
		made.box[index] = child;
	}
	itemsPlace(t, gathered, made);
	for (const func of made.func)
		t.slot[func] = -1;
}

// The sums by function.  t.slot has the index of each function in the result.
function calleesGroup(t, found) {
	const func = [], count = [], total = [[], []], self = [[], []], box = [];
	const [weight, baseWeight] = t.weights, [selfs, baseSelfs] = t.selfs || t.weights;
	for (let i = 0; i < found.count; i++) {
		const origin = found.origins[i], a = weight[origin], b = baseWeight[origin] || 0;
		if (a === 0 && b === 0)
			continue;
		const f = t.m.func[found.nodes[i]];
		let s = t.slot[f];
		if (s < 0) {
			s = t.slot[f] = func.length;
			func.push(f);
			count.push(0);
			box.push(-1);
			for (const column of [...total, ...self])
				column.push(0);
		}
		count[s]++;
		total[0][s] += a;
		total[1][s] += b;
		if (t.selfs) {
			self[0][s] += selfs[origin];
			self[1][s] += baseSelfs[origin] || 0;
		}
	}
	return { func, count, total, self, box };
}

// Gives each new box its items.
function itemsPlace(t, found, made) {
	let end = t.itemCount;
	const next = made.count.map((count, index) => {
		const first = end;
		if (made.box[index] >= 0)
			end += count;
		return first;
	});
	if (end > t.items.length) {
		const same = t.items === t.origins;
		t.items = larger(t.items, Math.max(end, 2 * t.items.length));
		t.origins = same ? t.items : larger(t.origins, t.items.length);
	}
	t.itemCount = end;
	made.box.forEach((box, index) => {
		if (box >= 0) {
			t.itemFirst[box] = next[index];
			t.itemEnd[box] = next[index] + made.count[index];
		}
	});
	for (let i = 0; i < found.count; i++) {
		const origin = found.origins[i];
		if (t.weights[0][origin] === 0 && !(t.weights[1][origin] > 0))
			continue;
		const s = t.slot[t.m.func[found.nodes[i]]];
		if (made.box[s] < 0)
			continue;
		t.items[next[s]] = found.nodes[i];
		t.origins[next[s]++] = origin;
	}
}

// The functions of a box and its callers, from the root.
function boxPath(t, box) {
	const path = [];
	for (; box > 0; box = t.parent[box])
		path.push(t.func[box]);
	return path.reverse();
}

// The box with this path, or the last one on the way to it.
function boxFind(t, path) {
	let box = 0;
	for (const func of path) {
		treeExpand(t, box);
		let child = t.childFirst[box];
		const end = child + t.childCount[box];
		while (child < end && t.func[child] !== func)
			child++;
		if (child === end)
			break;
		box = child;
	}
	return box;
}

// The first callee of a box that ends after x; the number after the last one if none does.
function childAt(t, box, x) {
	const width = t.total[t.side];
	let low = t.childFirst[box], high = low + t.childCount[box];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (t.x[middle] + width[middle] <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// The box at a depth that contains x, or -1.
function boxAt(t, depth, x) {
	let box = 0;
	if (depth < 0 || x < t.x[0] || x >= t.x[0] + t.total[t.side][0])
		return -1;
	while (t.depth[box] < depth) {
		treeExpand(t, box);
		const child = childAt(t, box, x);
		if (child === t.childFirst[box] + t.childCount[box] || t.x[child] > x)
			return -1;
		box = child;
	}
	return box;
}
