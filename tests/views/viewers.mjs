// SPDX-License-Identifier: MIT OR Apache-2.0
// viewers.mjs DIR NAME [PROGRAM]: checks that each viewer shows the same functions as `vgtool report`.
//
//     DIR/NAME.report            vgtool report --json
//     DIR/NAME.pprof.top, .raw   go tool pprof -top, -raw
//     DIR/NAME.firefox.cli       profiler-cli: JSON documents, one after the other, one for each thread
//     DIR/NAME.chrome.cli        the same for the Chrome trace, in samples
//     DIR/NAME.speedscope.html   Speedscope's table of functions
//     DIR/NAME.view.html         the page's table of functions
//
// With PROGRAM, also checks the source lines of its addresses with llvm-symbolizer.
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { gunzipSync } from "node:zlib";
import assert from "node:assert/strict";

const [dir, name, program] = process.argv.slice(2);
const text = (suffix) => readFileSync(`${dir}/${name}.${suffix}`, "utf8");
const report = JSON.parse(text("report"));

// Several functions can have one name, and then viewers that count by name cannot be compared.  Views show addresses
// in modules without symbols, and the report shows the module.
const seen = new Map();
for (const f of report.functions)
	seen.set(f.name, (seen.get(f.name) ?? 0) + 1);
const comparable = report.functions.filter((f) => seen.get(f.name) === 1 && f.name !== `[${f.module}]`);
const top = (key) => comparable.toSorted((a, b) => b[key] - a[key]).slice(0, 20);

// Compares the 20 top functions.  `near(expected, got)` is true if they are equal within the viewer's rounding.
// Speedscope's page has only the rows that fit into the window, and our page 200 rows; they are sorted by self.
function compare(viewer, got, near, unit = "ns", isWhole = true) {
	let count = 0;
	for (const key of ["self", "total"]) {
		for (const f of top(`${key}_${unit}`).filter((each) => each[`${key}_${unit}`] > 0)) {
			const value = got.get(f.name)?.[key];
			if (value === undefined && key === "total" && !isWhole)
				continue;
			assert.ok(value !== undefined, `${name}: ${viewer} does not show ${f.name}`);
			assert.ok(near(f[`${key}_${unit}`], value),
				`${name}: ${key} of ${f.name}: ${viewer} shows ${value}, and report ${f[`${key}_${unit}`]}`);
			count++;
		}
	}
	assert.ok(count >= 20, `${name}: only ${count} figures to compare`);
	console.log(`${name}: ${count} figures of ${viewer} are those of the report`);
}

function add(map, key, self, total) {
	const sum = map.get(key) ?? { self: 0, total: 0 };
	map.set(key, { self: sum.self + self, total: sum.total + total });
}

function pprofTop() {
	const found = new Map();
	for (const line of text("pprof.top").split("\n")) {
		const fields = /^ *(-?[0-9.]+)(?:us)? +\S+ +\S+ +(-?[0-9.]+)(?:us)? +\S+ +(.*?)( \((partial-)?inline\))?$/.exec(line);
		if (fields)
			add(found, fields[3], Number(fields[1]) * 1e3, Number(fields[2]) * 1e3);
	}
	return found;
}

function cliFunctions(view, unit) {
	const found = new Map();
	for (const document of text(`${view}.cli`).split(/^(?=\{)/m).map((part) => JSON.parse(part)))
		for (const f of document.functions)
			add(found, f.name, f.selfSamples * unit, f.totalSamples * unit);
	return found;
}

// The samples of the trace, as its nodes count them.  interval_ms: leaves out those that follow the last one that was
// counted by less
function traceFunctions(interval_ms = 0) {
	const nodes = new Map(), found = new Map(), seen = new Map(), counted = new Map();
	for (const { name: kind, tid, args } of JSON.parse(text("chrome")).traceEvents) {
		if (kind === "Profile")
			seen.set(tid, args.data.startTime / 1e3);
		for (const node of kind === "ProfileChunk" ? args.data.cpuProfile.nodes : [])
			nodes.set(`${tid} ${node.id}`, node);
		for (const [i, leaf] of kind === "ProfileChunk" ? args.data.cpuProfile.samples.entries() : []) {
			const functions = [];
			seen.set(tid, seen.get(tid) + args.data.timeDeltas[i] / 1e3);
			if (seen.get(tid) - (counted.get(tid) ?? 0) < interval_ms)
				continue;
			counted.set(tid, seen.get(tid));
			for (let node = nodes.get(`${tid} ${leaf}`); node; node = nodes.get(`${tid} ${node.parent}`))
				functions.push(node.callFrame.functionName);
			add(found, functions[0], 1, 0);
			new Set(functions).forEach((each) => add(found, each, 0, 1));
		}
	}
	return found;
}

// The Firefox Profiler's importer of Chrome traces leaves out samples that follow another one by less than 0.5 ms.
function compareImported(viewer, got) {
	const kept = traceFunctions(0.5);
	for (const f of top("total_samples")) {
		const expected = kept.get(f.name) ?? { self: 0, total: 0 }, shown = got.get(f.name) ?? { self: 0, total: 0 };
		assert.deepEqual(shown, expected, `${name}: samples of ${f.name} in ${viewer}`);
	}
	console.log(`${name}: the samples of ${viewer} are those of the trace that are 0.5 ms apart`);
}

const plain = (html) => html.replace(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">")
	.replaceAll("&quot;", '"').replaceAll("&nbsp;", " ").replaceAll("&amp;", "&").trim();
const units = { ns: 1, "\u00b5s": 1e3, "\u03bcs": 1e3, us: 1e3, ms: 1e6, s: 1e9, min: 60e9 };

// "1.23s (29%)", "963 ms"; also 1:02.50 for minutes
function timeParse(shown) {
	const minutes = /^(\d+):(\d+(?:\.\d+)?)/.exec(shown);
	if (minutes)
		return (Number(minutes[1]) * 60 + Number(minutes[2])) * 1e9;
	const [, value, unit] = /^([0-9.]+) ?([a-z\u00b5\u03bc]+)/.exec(shown) ?? [];
	return Number(value) * units[unit];                         // NaN: not a time
}

// columns: which cells have total, self and name
function tableRows(html, columns) {
	const found = new Map();
	for (const [, row] of html.matchAll(/<tr[^>]*>([\s\S]*?)<\/tr>/g)) {
		const cells = [...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell]) => cell);
		// Speedscope's list of profiles has rows, too.
		if (cells.length > columns.name && !isNaN(timeParse(plain(cells[columns.self]))))
			add(found, columns.text(cells[columns.name]), timeParse(plain(cells[columns.self])),
				timeParse(plain(cells[columns.total])));
	}
	return found;
}

// Both pages show three or more digits, so a figure differs by less than 0.6 %.
const threeDigits = (expected, got) => Math.abs(expected - got) <= 0.006 * expected + 1000;

compare("pprof", pprofTop(), (expected, got) => Math.abs(expected - got) <= 1000);
// profiler-cli adds up milliseconds with three decimals.
compare("the Firefox Profiler", cliFunctions("firefox", 1e6), (expected, got) => Math.abs(expected - got) <= 2e5);
compare("the Chrome trace", traceFunctions(), (expected, got) => expected === got, "samples");
compareImported("the Firefox Profiler with the Chrome trace", cliFunctions("chrome", 1));
compare("Speedscope", tableRows(text("speedscope.html"), { total: 0, self: 1, name: 2, text: plain }), threeDigits, "ns", false);
compare("the page", tableRows(text("view.html"), { self: 0, total: 2, name: 4,
	text: (cell) => plain(/<button[^>]*>([\s\S]*?)<\/button>/.exec(cell)[1]) }), threeDigits, "ns", false);

// ---- source lines ----

// [file:line, ...] of an address, the innermost inlined function first
function symbolized(addresses) {
	const known = new Map();
	const printed = execFileSync("llvm-symbolizer", [`--obj=${program}`, "--inlines", "--output-style=JSON",
		...addresses.map((address) => `0x${address.toString(16)}`)], { encoding: "utf8", maxBuffer: 1 << 26 });
	for (const line of printed.trim().split("\n"))
		for (const { Address, Symbol } of [].concat(JSON.parse(line)))
			known.set(Number(Address), Symbol.map((symbol) => symbol.Line).join(" "));
	return known;
}

// The lines of a location in pprof's raw output, by address in the first mapping, the program
function pprofLines() {
	const found = new Map(), lines = text("pprof.raw").split("\n");
	let at = null, start = 0n;
	for (const line of lines) {
		const mapping = /^1: (0x[0-9a-f]+)\/0x[0-9a-f]+\/(0x[0-9a-f]+) /.exec(line);
		if (mapping)
			start = BigInt(mapping[1]) - BigInt(mapping[2]);
	}
	for (const line of lines.slice(lines.indexOf("Locations"), lines.indexOf("Mappings"))) {
		const location = /^ *\d+: (0x[0-9a-f]+) (M=(\d+) )?/.exec(line), source = /:(\d+) s=\d+\(\)$/.exec(line);
		if (location)
			at = location[3] === "1" ? Number(BigInt(location[1]) - start) : null;
		if (at !== null && source)
			found.set(at, [...found.get(at) ?? [], Number(source[1])]);
	}
	return found;
}

function firefoxLines() {
	const profile = JSON.parse(gunzipSync(readFileSync(`${dir}/${name}.firefox`))), found = new Map();
	const lib = profile.libs.findIndex((each) => program.endsWith(`/${each.name}`));
	for (const { frameTable: frames, funcTable: funcs, resourceTable: resources } of profile.threads) {
		for (let i = 0; i < frames.length; i++) {
			const resource = funcs.resource[frames.func[i]];
			if (resource < 0 || resources.lib[resource] !== lib || frames.address[i] < 0)
				continue;
			const lines = found.get(frames.address[i]) ?? [];
			lines[frames.inlineDepth[i]] = frames.line[i] ?? 0;
			found.set(frames.address[i], lines);
		}
	}
	for (const [address, lines] of found)
		found.set(address, lines.toReversed());
	return found;
}

function linesCompare(viewer, found) {
	const addresses = [...found.keys()], expected = symbolized(addresses);
	assert.ok(addresses.length >= 20, `${viewer}: only ${addresses.length} addresses of the program`);
	for (const [address, lines] of found)
		assert.equal(lines.join(" "), expected.get(address), `${viewer}: the lines of 0x${address.toString(16)}`);
	console.log(`${name}: ${viewer} has the lines of llvm-symbolizer at ${addresses.length} addresses`);
	return expected;
}

// Speedscope, the trace and the page have lines without addresses: each is one that the function has in pprof's file.
function functionLines() {
	const found = new Map();
	for (const [, func, line] of text("pprof.raw").matchAll(/ ([^ ].*?) [^ ]*:(\d+) s=\d+\(\)$/gm)) {
		const last = func.replace(/^\d+: 0x[0-9a-f]+ (M=\d+ )?/, "");
		found.set(last, (found.get(last) ?? new Set()).add(Number(line)));
	}
	return found;
}

function linesKnown(viewer, pairs) {
	const known = functionLines();
	let count = 0;
	for (const [func, line] of pairs.filter(([, each]) => each > 0)) {
		assert.ok(known.get(func)?.has(line), `${viewer}: ${func} has no line ${line}: ${[...known.get(func) ?? []]}`);
		count++;
	}
	assert.ok(count >= 10, `${viewer}: only ${count} lines`);
	console.log(`${name}: ${viewer} has ${count} lines, all of them known`);
}

if (program) {
	const speedscope = JSON.parse(text("speedscope")), trace = JSON.parse(text("chrome"));
	const page = JSON.parse(gunzipSync(Buffer.from(/<script id="data"[^>]*>([^<]*)</.exec(text("html"))[1], "base64")));
	const nodes = trace.traceEvents.flatMap((event) => event.args?.data?.cpuProfile?.nodes ?? []);

	linesCompare("pprof", pprofLines());
	linesCompare("the Firefox Profiler", firefoxLines());
	linesKnown("Speedscope", speedscope.shared.frames.map((frame) => [frame.name, frame.line ?? 0]));
	linesKnown("the Chrome trace", nodes.map(({ callFrame }) => [callFrame.functionName, callFrame.lineNumber + 1]));
	linesKnown("the page", page.frames.function.map((f, i) => [page.strings[page.functions.name[f]],
		page.frames.line[i]]));
}
