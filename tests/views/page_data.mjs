// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Made-up data for the page of `vgtool view`, and their sums, computed sample by sample.

export const hostileNames = ["main", "<img src=x onerror='harmed = 1'>", "<script>harmed = 1</script>", "\"'><b>&amp;",
	"two\nlines\tand\u0000controls\u0085", "\u202eright-to-left\u2066\u200f \u05d0\u05d1", "__proto__", "a".repeat(50000)];
const usualNames = ["main", "parse", "read", "hash", "report", "sleep", "flush", "sort"];

// names: of the functions;  deep: the depth of one stack of recursion;  base: whether there is a base
export function dataMake({ base, names = usualNames, deep = 0 }) {
	let seed = 7;
	const random = (below) => {
		seed = (seed * 1103515245 + 12345) % 2147483648;
		return Math.floor(seed / 2147483648 * below);
	};
	const strings = [...names, "/usr/bin/program", "/usr/lib/libc.so.6", "/src/main.c", "frame", "inner", "</script>"];
	const string = (text) => strings.indexOf(text);
	const functions = { name: [], file: [], module: [], class: [] };
	names.forEach((name, index) => {
		functions.name.push(index);
		functions.file.push(index % 3 === 2 ? -1 : string("/src/main.c"));
		functions.module.push(index === 7 ? -1 : string(index % 4 === 3 ? "/usr/lib/libc.so.6" : "/usr/bin/program"));
		functions.class.push(index % 4 === 3 ? 1 : 0);
	});
	// Two lines for each function, the second one also inlined
	const frames = { function: [], line: [], inlined: [] };
	names.forEach((_, index) => {
		for (const [line, inlined] of [[10 * index, 0], [10 * index + 3, 0], [10 * index + 3, 1]]) {
			frames.function.push(index);
			frames.line.push(line);
			frames.inlined.push(inlined);
		}
	});
	const nodes = { parent: [-1, 0, 0], frame: [0, 4, 7] };
	// Each function has time.
	for (let i = 2; i < names.length; i++) {
		nodes.parent.push(1);
		nodes.frame.push(3 * i);
	}
	while (nodes.parent.length < 60) {
		nodes.parent.push(random(nodes.parent.length));
		nodes.frame.push(3 + random(frames.function.length - 3));
	}
	for (let i = 0; i < deep; i++) {
		nodes.parent.push(i ? nodes.parent.length - 1 : 0);
		nodes.frame.push(3 * (1 + i % 2));
	}
	const groups = [{ name: "program", program: "program", pid: 4711, base: false }], tracks = [], intervals = [];
	if (base)
		groups.unshift({ name: "old", program: "program", pid: 42, base: true });
	groups.forEach((group, index) => {
		for (const [name, samples] of [["program", 150], ["</script>", 70]]) {
			const track = { name: `${name} (${group.pid})`, tid: group.pid + tracks.length % 2, group: index,
				node: [], end: [], wall: [], cpu: [], path: [] };
			for (let i = 0; i < samples; i++) {
				const wall = 9000 + random(2000), gap = i % 10 === 9 ? 5000 : 0;
				track.node.push(i % 25 === 24 ? -1 : i % 9 === 0 ? nodes.parent.length - 1 :
					group.base ? random(30) : random(nodes.parent.length));
				track.end.push(wall + gap);
				track.wall.push(wall);
				track.cpu.push(random(wall));
				track.path.push([-1, 0, 1, 2][i % 4]);
			}
			intervals.push({ track: tracks.length, label: [string("frame"), string("inner")], begin: [0, 30000],
				length: [100000, 20000], depth: [0, 1] });
			tracks.push(track);
		}
	});
	// Path 2 is an "inner" without a "frame" around it.
	const paths = { label: [string("frame"), string("inner"), string("inner")], parent: [-1, 0, -1] };
	const lines = { 10: "\tint total = <b>0</b>;", 11: "\t\tread(total);", 13: "\treturn total;" };
	return {
		version: 1, exporter: "vignette", title: names === usualNames ? "program" : "</title><script>harmed = 1</script>",
		recorded: 1764127316, duration: 1500000, weight: 0, comparison: base, strings,
		classes: ["program", "library"], functions, frames, nodes, groups, tracks, paths, intervals,
		sources: [{ file: string("/src/main.c"), lines }],
	};
}

// The sums of the chosen samples by name: { self, total, sum, matched, below }.
//  matched: time with a name like the pattern;  below: time of the stacks that begin with the names of `path`
export function sumsMake(data, choice, pattern = null) {
	const { weight = "wall", track = -1, interval = null, base = false, path = [] } = choice;
	const sums = { self: new Map(), total: new Map(), sum: 0, matched: 0, below: 0 };
	const add = (map, name, time) => map.set(name, (map.get(name) || 0) + time);
	data.tracks.forEach((own, index) => {
		if (data.groups[own.group].base !== base || (track >= 0 && track !== index))
			return;
		own.node.forEach((node, i) => {
			const labels = [], names = [], time = own[weight][i];
			for (let open = own.path[i]; open >= 0; open = data.paths.parent[open])
				labels.push(data.strings[data.paths.label[open]]);
			if (interval !== null && !labels.includes(interval))
				return;
			for (let at = node; at >= 0; at = data.nodes.parent[at])
				names.push(data.strings[data.functions.name[data.frames.function[data.nodes.frame[at]]]]);
			sums.sum += time;
			if (names.length)
				add(sums.self, names[0], time);
			for (const name of new Set(names))
				add(sums.total, name, time);
			if (pattern && names.some((name) => pattern.test(name)))
				sums.matched += time;
			if (path.every((name, depth) => names.at(-1 - depth) === name))
				sums.below += time;
		});
	});
	return sums;
}
