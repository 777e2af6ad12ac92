// SPDX-License-Identifier: MIT OR Apache-2.0
// incomplete.mjs DUMP: prints the last frames of incomplete stacks, the most frequent first, with the reason and one
// whole stack, root first.  DUMP is the output of `vgtool dump`.
import { readFileSync } from "node:fs";

const reasons = ["complete", "stack truncated", "no unwind information",
	"bad unwind information", "frame limit", "unreadable", "register unknown", "module unloaded", "work limit"];
const modules = new Map(), stacks = new Map(), found = new Map();
const text = (frame) => (modules.get(frame.module) ?? "") + "+0x" + frame.address.toString(16) +
	(frame.found_by ? "(" + frame.found_by + ")" : "");

for (const line of readFileSync(process.argv[2], "utf8").split("\n")) {
	const record = line ? JSON.parse(line) : {};
	if (record.kind === "module")
		modules.set(record.id, record.name);
	else if (record.kind === "stack")
		stacks.set(record.id, record);
	else if (record.kind === "sample") {
		const frames = [];
		let id = record.stack;
		for (; stacks.has(id); id = stacks.get(id).parent)
			frames.push(text(stacks.get(id)));
		if (id === 0)
			continue;
		const outermost = frames.at(-1) ?? "";
		const key = (reasons[id] ?? id) + ": " + outermost.replace(/^\+0x.*/, "code in no module");
		const entry = found.get(key) ?? { samples: 0, example: frames.reverse() };
		entry.samples += record.count ?? 1;
		found.set(key, entry);
	}
}
for (const [key, { samples, example }] of [...found].sort((a, b) => b[1].samples - a[1].samples).slice(0, 8)) {
	console.log("   ", samples, key);
	console.log("        ", example.slice(0, 30).join(" > "));
}
