// SPDX-License-Identifier: MIT OR Apache-2.0
// tutorial.mjs FILE.md: runs the fenced blocks of a page in the current directory, in order.
//   c, diff     the block is written to a file; the last line of text before the block has its name: `words.c`
//   console     lines that begin with "$ " are commands; the lines after a command are its standard output
// In the output a number stands for any number, and a line "..." for any lines.  Other lines must be equal.  Which
// functions are the first N depends on samples, so the rows of functions of a command with "--limit N" must be in the
// output of the same command with a larger limit, in any order; then the command as written must exit with 0.
import { readFileSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import assert from "node:assert/strict";

function* blocks(text) {
	let block = null;
	let before = "";

	for (const line of text.split("\n")) {
		const fence = /^```(\w*)$/.exec(line);

		if (fence && block) {
			yield block;
			block = null;
		} else if (fence) {
			block = { language: fence[1], before, lines: [] };
		} else if (block) {
			block.lines.push(line);
		} else if (line !== "") {
			before = line;
		}
	}
	assert.equal(block, null, "the last block has no end");
}

// Gives equal texts for lines that differ only in numbers, units, spaces, or the variant of strcmp for this CPU.  "-"
// counts as a number: vgtool diff prints it in the column +-95% if the error range is not known.
const plain = (line) => line.replace(/\b(__\w+?)_(evex|avx2|sse2|sse42|evex512|avx2_rtm|sse2_unaligned)\b/g, "$1_X")
	.replace(/(?<=\s)-(?=\s)/g, "0")
	.replace(/[-+]?\d+(\.\d+)?( (ns|us|ms|s))?(?=\s|%|,|$)/g, "N").replace(/\s+/g, " ").trim();

function same(expected, lines) {
	if (expected.length === 0)
		return lines.length === 0;
	if (expected[0] === "...")
		return same(expected.slice(1), lines) || (lines.length > 0 && same(expected, lines.slice(1)));
	return lines.length > 0 && plain(expected[0]) === plain(lines[0]) && same(expected.slice(1), lines.slice(1));
}

function output(command) {
	const { status, stdout, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });

	console.log(`$ ${command}\n${stdout}${stderr}`);
	assert.equal(status, 0, `${command}: status ${status}`);
	return stdout.split("\n").slice(0, -1);
}

function run(command, expected) {
	const isRow = (line) => / \[\S+\]$/.test(line);
	let lines = output(command);

	if (/ --limit \d+/.test(command)) {
		const all = output(command.replace(/ --limit \d+/, " --limit 100"));

		for (const row of expected.filter(isRow))
			assert.ok(all.some((line) => plain(line) === plain(row)), `${command}: no row "${row}"`);
		assert.ok(lines.filter(isRow).length >= expected.filter(isRow).length, `${command}: rows`);
		[expected, lines] = [expected, lines].map((list) => list.filter((line) => !isRow(line)));
	}
	assert.ok(same(expected, lines), `${command}: expected\n${expected.join("\n")}`);
}

const languages = new Set();
for (const { language, before, lines } of blocks(readFileSync(process.argv[2], "utf8"))) {
	languages.add(language);
	if (language !== "console") {
		writeFileSync(/`(\w+\.\w+)`/.exec(before)[1], `${lines.join("\n")}\n`);
		continue;
	}
	assert.ok(lines[0].startsWith("$ "), `output without a command: ${lines[0]}`);
	for (let at = 0; at < lines.length;) {
		let end = at + 1;

		while (end < lines.length && !lines[end].startsWith("$ "))
			end++;
		run(lines[at].slice(2), lines.slice(at + 1, end));
		at = end;
	}
}
assert.deepEqual([...languages].sort(), ["c", "console", "diff"]);
