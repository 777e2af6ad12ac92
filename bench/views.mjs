// SPDX-License-Identifier: MIT OR Apache-2.0
// views.mjs FOLDER PROGRAM ROUNDS FUNCTION...: compares what the views of vgtool and of perf show: see views.sh.  The
// files of recording ROUND of set SET are FOLDER/PROGRAM.SET.ROUND.vgtool.* and FOLDER/PROGRAM.SET.ROUND.perf.*.
//
// The standard error of the difference of two shares is sqrt(p (1 - p) (1 / n1 + 1 / n2)), where p is the share in
// both together.  This assumes that the samples are independent, and that the speed of the program is the same in each
// run.  n is the number of samples.  Samples of vgtool have weights, so n is (sum of weights)^2 / sum of their squares.
import { readFileSync } from "node:fs";
import { basename } from "node:path";

const [folder, program, rounds, ...functions] = process.argv.slice(2);
const ROWS = 20, LIMIT = 3;

const text = (path) => readFileSync(path, "utf8");
const json = (path) => JSON.parse(text(path));

// A set of tables.  Each row of a table has its share of the samples.
class Tables {
	n = 0;
	tables = new Map();

	add(table, row, amount) {
		if (!this.tables.has(table))
			this.tables.set(table, new Map());
		this.tables.get(table).set(row, (this.tables.get(table).get(row) ?? 0) + amount);
	}
	share(table, row) {
		return (this.tables.get(table)?.get(row) ?? 0) / this.n;
	}
}

// Several symbols can have one address: vgtool prints __qsort_r where perf prints __GI___qsort_r.  All of them become
// the shortest one.  The file has the output of nm.
function aliasesRead(path) {
	const byAddress = new Map(), aliases = new Map(), seen = new Set();
	for (const [, address, name] of text(path).matchAll(/^([0-9a-f]+) [tTwWi] (\S+)$/gm)) {
		const symbol = name.replace(/@.*/, "");
		byAddress.set(address, (byAddress.get(address) ?? new Set()).add(symbol));
	}
	for (const names of byAddress.values()) {
		const shortest = [...names].sort((a, b) => a.length - b.length || (a < b ? -1 : 1))[0];
		for (const name of names) {
			aliases.set(name, seen.has(name) ? name : shortest);
			seen.add(name);
		}
	}
	return aliases;
}
const aliases = aliasesRead(`${folder}/symbols`);

// The compiler may split parts off a function.  These parts get the function's name, as in debug information.
function plain(symbol) {
	const name = symbol.replace(/ \(inlined\)$|\.(part|constprop|isra|cold)\b.*|@.*/g, "");
	return aliases.get(name) ?? name;
}
const place = (file, line) => `${basename(file)}:${line}`;
const lineOnly = (row) => row.replace(/\S+:(\d+)$/, "$1");

// ---- vgtool ----

// Calls row(entry, path) for each row of a tree; the path has the names from the root on.
function treeRows(tree, row) {
	const path = [];
	for (const entry of tree.rows) {
		path.length = entry.depth;
		path.push(plain(entry.name));
		row(entry, path);
	}
}

// `counts` has the same tables by the number of samples, without their weights.
function vgtoolRead(tables, counts, path) {
	let sum = 0, squares = 0;
	for (const line of text(`${path}.dump`).split("\n")) {
		const record = line ? JSON.parse(line) : {};
		if (record.kind === "sample") {
			sum += record.cpu_100us;
			squares += record.cpu_100us ** 2;
		}
	}
	const report = json(`${path}.functions`), n = sum ** 2 / squares;
	tables.n += n;
	counts.n += report.samples;
	const add = (table, row, ns, samples) => {
		tables.add(table, row, ns / report.cpu_ns * n);
		counts.add(table, row, samples);
	};
	for (const row of report.functions)
		for (const kind of ["", ", perf report"]) {
			add(`self${kind}`, plain(row.name), row.self_ns, row.self_samples);
			add(`total${kind}`, plain(row.name), row.total_ns, row.total_samples);
		}
	for (const row of json(`${path}.lines`).lines.filter((line) => line.line > 0)) {
		const at = place(row.file, row.line), name = plain(row.name);
		add("lines, self, perf report", at, row.self_ns, row.self_samples);
		add("lines, self", at, row.self_ns, row.self_samples);
		add("lines, total", `${name} ${at}`, row.total_ns, row.total_samples);
		add(".lines", `${name} ${row.line}`, row.total_ns, row.total_samples);
	}
	treeRows(json(`${path}.tree`), (row, names) => add("tree", names.join(" > "), row.total_ns, row.samples));
	treeRows(json(`${path}.inverted`), (row, names) =>
		add("inverted tree", names.join(" < "), row.total_ns, row.samples));
	for (const name of functions) {
		treeRows(json(`${path}.callers.${name}`), (row, names) =>
			row.depth === 1 && add("callers", names.join(" < "), row.total_ns, row.samples));
		treeRows(json(`${path}.callees.${name}`), (row, names) =>
			row.depth === 1 && add("callees", names.join(" > "), row.total_ns, row.samples));
	}
	// Lines with samples have two percentages of the whole, with one decimal.
	const shares = /^ *([\d.]+)% +[\d.]+% +(\d+) /gm;
	for (const name of functions)
		for (const [, self, line] of text(`${path}.annotate.${name}`).matchAll(shares))
			tables.add("annotate", `${name}, line ${line}`, self / 100 * n);
}

// ---- perf ----

// Returns the frames of each sample, the root first.
function chains(path) {
	const samples = [];
	for (const sample of text(path).split(/\n\s*\n/)) {
		const frames = [];
		for (const line of sample.split("\n")) {
			const frame = line.match(/^\s+[0-9a-f]+ (.*)/);
			const source = line.match(/^ +([^ ?].*):(\d+)(?: \(.*\))?$/);
			if (frame)
				frames.unshift({ name: plain(frame[1]) });
			else if (source && frames.length > 0)
				frames[0].place = place(source[1], source[2]);
		}
		if (frames.length > 0)
			samples.push(frames);
	}
	return samples;
}

function perfRead(tables, path) {
	const samples = chains(`${path}.script`);
	tables.n += samples.length;
	for (const frames of samples) {
		const names = frames.map((frame) => frame.name), leaf = frames.at(-1);
		tables.add("self", leaf.name, 1);
		new Set(names).forEach((name) => tables.add("total", name, 1));
		if (leaf.place)
			tables.add("lines, self", leaf.place, 1);
		const known = frames.filter((frame) => frame.place);
		const lines = new Set(known.map((frame) => `${frame.name} ${frame.place}`));
		lines.forEach((row) => tables.add("lines, total", row, 1));
		new Set([...lines].map(lineOnly)).forEach((row) => tables.add(".lines", row, 1));
		names.forEach((_, at) => tables.add("tree", names.slice(0, at + 1).join(" > "), 1));
		names.forEach((_, at) => tables.add("inverted tree", names.slice(at).reverse().join(" < "), 1));
		for (const name of functions) {
			const at = names.indexOf(name);
			if (at > 0)
				tables.add("callers", `${name} < ${names[at - 1]}`, 1);
			if (at >= 0 && at + 1 < names.length)
				tables.add("callees", `${name} > ${names[at + 1]}`, 1);
		}
	}
	const rows = (file) => text(file).split("\n").filter((line) => line && !line.startsWith("#"))
		.map((line) => line.split("|").map((cell) => cell.trim()));
	for (const [total, self, name] of rows(`${path}.functions`)) {
		const row = plain(name.replace(/^\[.\] /, ""));
		tables.add("total, perf report", row, parseFloat(total) / 100 * samples.length);
		tables.add("self, perf report", row, parseFloat(self) / 100 * samples.length);
	}
	for (const [, count, source] of rows(`${path}.lines`))
		tables.add("lines, self, perf report", source, Number(count));
	// The summary has percentages of the function by source line.
	for (const name of functions) {
		const [summary, code] = text(`${path}.annotate.${name}`).split(" Percent |");
		const count = code?.match(/\((\d+) samples,/)?.[1] ?? 0;
		for (const [, percent, line] of summary.matchAll(/^ +([0-9.]+) +\S+?:(\d+)$/gm))
			tables.add("annotate", `${name}, line ${line}`, percent / 100 * count);
	}
}

// ---- the comparison ----

function setRead(set) {
	const ours = new Tables(), counts = new Tables(), theirs = new Tables();
	for (let round = 1; round <= rounds; round++) {
		vgtoolRead(ours, counts, `${folder}/${program}.${set}.${round}.vgtool`);
		perfRead(theirs, `${folder}/${program}.${set}.${round}.perf`);
	}
	return { ours, counts, theirs };
}

// The difference in standard errors.
function distance({ ours, theirs }, table, row) {
	const a = ours.share(table, row), b = theirs.share(table, row);
	const p = (a * ours.n + b * theirs.n) / (ours.n + theirs.n);
	const error = Math.sqrt(p * (1 - p) * (1 / ours.n + 1 / theirs.n));
	return error > 0 ? (a - b) / error : 0;
}

const agrees = (table, row) => Math.abs(distance(first, table, row)) <= LIMIT;

// Differences that are not errors of vgtool.
const causes = [
	// perf report counts an inlined function in self of the function that contains it, and has a row for each of
	// its copies.  So inlining is the cause if the call chains of the same recording agree with vgtool.
	{ name: "inlined functions in perf report", explains: (table, row) => table.endsWith(", perf report") &&
		agrees(table.replace(/, perf report$/, ""), row) },
	// perf annotate prints the lines of inlined functions in the function that contains them.  For vgtool annotate,
	// an inlined function is a function of its own.
	{ name: "inlined functions in perf annotate", explains: (table, row) => {
		const [name, line] = row.split(", line ");
		return table === "annotate" && first.ours.share(".lines", `${name} ${line}`) === 0 &&
			first.ours.share("lines, self", `views_work.c:${line}`) > 0;
	} },
	// GNU addr2line, which perf starts, prints a wrong file for some lines in DWARF 5.
	{ name: "file names by addr2line", explains: (table, row) => table === "lines, total" &&
		row !== lineOnly(row) && agrees(".lines", lineOnly(row)) },
	// On a busy machine the recorder may skip samples.  Then the next sample has their weight.
	{ name: "a sample with a large weight", explains: (table, row) => table !== "annotate" &&
		Math.abs(distance({ ours: first.counts, theirs: first.theirs }, table, row)) <= LIMIT },
];

const percent = (share, columns) => `${(100 * share).toFixed(2).padStart(columns)}%`;
const first = setRead(1), second = setRead(2);
let compared = 0, beyond = 0, chance = 0, unexplained = 0, largest = 0;
const explained = new Map();
console.log(`${program}: ${Math.round(first.ours.n)} and ${Math.round(second.ours.n)} samples of vgtool, ` +
	`${first.theirs.n} and ${second.theirs.n} of perf`);
for (const table of [...first.ours.tables.keys()].filter((name) => !name.startsWith("."))) {
	const heavy = (row) => Math.max(first.ours.share(table, row), first.theirs.share(table, row));
	const rows = new Set([first, second].flatMap(({ ours, theirs }) =>
		[...ours.tables.get(table).keys(), ...theirs.tables.get(table)?.keys() ?? []]));
	console.log(`\n${program}: ${table}\n${"vgtool".padStart(9)} ${"perf".padStart(8)} ${"errors".padStart(7)}`);
	for (const row of [...rows].sort((a, b) => heavy(b) - heavy(a)).slice(0, ROWS)) {
		const errors = distance(first, table, row), again = distance(second, table, row);
		const cause = Math.abs(errors) > LIMIT ? causes.find((entry) => entry.explains(table, row)) : undefined;
		let note = "";
		compared++;
		if (cause) {
			note = `   cause: ${cause.name}`;
			explained.set(cause.name, (explained.get(cause.name) ?? 0) + 1);
		} else if (Math.abs(errors) > LIMIT) {
			const isChance = Math.abs(again) <= LIMIT;
			note = `   ${isChance ? "chance" : "NO CAUSE"}: ${again.toFixed(1)} in the second set`;
			isChance ? chance++ : unexplained++;
		}
		beyond += Math.abs(errors) > LIMIT;
		if (!cause)
			largest = Math.max(largest, Math.abs(errors));
		const a = first.ours.share(table, row), b = first.theirs.share(table, row);
		console.log(`${percent(a, 8)} ${percent(b, 7)} ${errors.toFixed(1).padStart(7)}  ${row}${note}`);
	}
}
console.log(`\nrows: ${compared}\nrows beyond: ${beyond}\nby chance: ${chance}\nwithout a cause: ${unexplained}`);
console.log(`largest difference: ${largest.toFixed(1)}`);
for (const [name, count] of explained)
	console.log(`cause: ${count} by ${name}`);
