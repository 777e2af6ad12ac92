// SPDX-License-Identifier: MIT OR Apache-2.0
// leaves.mjs STORE DUMP PERF: compares vignetted with perf.  The shares of perf's ten top functions must be within two
// points of vignetted's.  DUMP is the output of `vgtool dump`, PERF the output of `perf script -F ip,dso`.  Only the
// leaf frame in user space counts.  The function names of both recorders come from the symbol store.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [store, dump, perf] = process.argv.slice(2);

function symbolsRead(name) {
	const functions = [];
	try {
		for (const id of readdirSync(join(store, name)))
			for (const line of readFileSync(join(store, name, id, name + ".sym"), "utf8").split("\n")) {
				const found = line.match(/^FUNC (?:m )?([0-9a-f]+) ([0-9a-f]+) [0-9a-f]+ (.*)/);
				if (found)
					functions.push([parseInt(found[1], 16), parseInt(found[2], 16), found[3]]);
			}
	} catch (error) {
		if (error.code !== "ENOENT")
			throw error;
	}
	return functions.sort((a, b) => a[0] - b[0]);
}

function nameOf(module, address) {
	module.functions ??= symbolsRead(module.name);
	let low = 0, high = module.functions.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (module.functions[middle][0] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const found = module.functions[low - 1];
	return found && address < found[0] + found[1] ? found[2] : module.name;
}

const modules = new Map(), stacks = new Map(), ours = new Map(), theirs = new Map();
const count = (map, key, by) => map.set(key, (map.get(key) ?? 0) + by);
let oursAll = 0, theirsAll = 0;

// Returns the function of the first frame from the leaf that is in a module.
function leafOf(id) {
	for (let stack = stacks.get(id); stack; stack = stacks.get(stack.parent))
		if (modules.has(stack.module))
			return nameOf(modules.get(stack.module), stack.address);
	return "nowhere";
}
for (const line of readFileSync(dump, "utf8").split("\n")) {
	const record = line ? JSON.parse(line) : {};
	if (record.kind === "module")
		modules.set(record.id, record);
	else if (record.kind === "stack")
		stacks.set(record.id, record);
	else if (record.kind === "sample") {
		count(ours, leafOf(record.stack), record.count ?? 1);
		oursAll += record.count ?? 1;
	}
}
for (const sample of readFileSync(perf, "utf8").split(/\n\s*\n/)) {
	const leaf = sample.split("\n").find((line) => line.trim() && !/\[kernel|\(\[unknown\]\)/.test(line));
	if (!leaf)
		continue;
	// perf prints offsets in the file.  For files that GNU ld has linked, these equal the addresses in the module.
	const [, offset, file] = leaf.match(/^\s*([0-9a-f]+) \(.*?([^/]*)\)$/);
	const module = [...modules.values()].find((m) => m.name === file);
	count(theirs, module ? nameOf(module, parseInt(offset, 16)) : file, 1);
	theirsAll++;
}

let status = 0;
for (const [name, samples] of [...theirs].sort((a, b) => b[1] - a[1]).slice(0, 10)) {
	const a = 100 * samples / theirsAll, b = 100 * (ours.get(name) ?? 0) / oursAll;
	const wrong = Math.abs(a - b) > 2;
	status ||= wrong ? 1 : 0;
	console.log(name.padEnd(40), `perf ${a.toFixed(2)} %, vignetted ${b.toFixed(2)} %${wrong ? "   WRONG" : ""}`);
}
console.log(`${theirsAll} samples of perf, ${oursAll} of vignetted`);
process.exit(status || theirsAll < 1000 || oursAll < 1000 ? 1 : 0);
