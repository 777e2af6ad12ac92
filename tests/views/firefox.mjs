// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Every step but `serve` first checks that all columns and indices of the file are valid.
//
//   firefox.mjs tables FILE...       only this, for files whatever their profiles were
//   firefox.mjs program FILE SOURCE  profiler-cli's functions, markers and times of a program are vgtool's
//   firefox.mjs unresolved FILE ID   a file that a viewer can symbolize: addresses, and the program's build id
//   firefox.mjs serve RESOLVED       a symbol server that has the symbols of another file; prints its port
//   firefox.mjs symbolized FILE      functions whose names come from the symbol server
//   firefox.mjs story FILE           the counter and the markers of the story (events_write.c)
//   firefox.mjs difference FILE      the thread "difference" is the new profile minus the old one
//   firefox.mjs intervals FILE ALONE intervals of a comparison are as long as those of the new profile alone
//   firefox.mjs several FILE         two profiles of one process, and one of another
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import assert from "node:assert/strict";

const [step, file, argument] = process.argv.slice(2);
const text = (name) => readFileSync(name, "utf8");
const read = (name) => JSON.parse(text(name));
const sum = (list) => list.reduce((a, b) => a + b, 0);
const profile = read(file);

// Milliseconds are doubles, of which profiler-cli adds up many.
const near = (ms, ns, what) => assert.ok(Math.abs(ms * 1e6 - ns) <= 1000, `${what}: ${ms} ms is not ${ns} ns`);

// All columns and indices are valid.
function tables(profile) {
	const pids = new Set(), tids = new Set();

	assert.equal(profile.meta.preprocessedProfileVersion, 50);
	for (const thread of profile.threads) {
		const { samples, stackTable, frameTable, funcTable, resourceTable, nativeSymbols, markers } = thread;
		const strings = thread.stringArray.length;
		const refers = (column, length, none) => {
			for (const index of column)
				assert.ok(index === none || (Number.isInteger(index) && index >= 0 && index < length));
		};

		for (const table of [samples, stackTable, frameTable, funcTable, resourceTable, nativeSymbols, markers]) {
			for (const [name, column] of Object.entries(table).filter(([, value]) => Array.isArray(value)))
				assert.equal(column.length, table.length, name);
		}
		refers(samples.stack, stackTable.length, null);
		refers(stackTable.frame, frameTable.length);
		stackTable.prefix.forEach((prefix, row) => assert.ok(prefix === null || (prefix >= 0 && prefix < row)));
		for (const { category, subcategory } of [stackTable, frameTable]) {
			refers(category, profile.meta.categories.length);
			category.forEach((index, row) =>
				assert.ok(subcategory[row] < profile.meta.categories[index].subcategories.length));
		}
		refers(frameTable.func, funcTable.length);
		refers(frameTable.nativeSymbol, nativeSymbols.length, null);
		refers(funcTable.name, strings);
		refers(funcTable.fileName, strings, null);
		refers(funcTable.resource, resourceTable.length, -1);
		refers(resourceTable.name, strings);
		refers(resourceTable.lib, profile.libs.length);
		refers(nativeSymbols.libIndex, profile.libs.length);
		refers(nativeSymbols.name, strings);
		refers(markers.name, strings);
		assert.ok(samples.timeDeltas.every((delta) => delta >= 0));
		assert.ok(frameTable.address.every((address) => Number.isInteger(address) && address >= -1));
		// An inlined frame is a callee of the frame that it is inlined into.
		stackTable.frame.forEach((frame, row) => {
			if (frameTable.inlineDepth[frame] > 0) {
				const caller = stackTable.frame[stackTable.prefix[row]];

				assert.equal(frameTable.inlineDepth[caller], frameTable.inlineDepth[frame] - 1);
				assert.equal(frameTable.address[caller], frameTable.address[frame]);
			}
		});
		assert.ok(!tids.has(thread.tid), `two threads ${thread.tid}`);
		tids.add(thread.tid);
		if (thread.isMainThread) {
			assert.ok(!pids.has(thread.pid), `two main threads of ${thread.pid}`);
			pids.add(thread.pid);
		}
	}
	for (const counter of profile.counters) {
		assert.equal(counter.samples.time.length, counter.samples.count.length);
		assert.equal(profile.threads[counter.mainThreadIndex].pid, counter.pid);
	}
}

// Compares rows of profiler-cli with those of the report, of functions that have a name in both: the report has one row
// for all addresses of a module without symbols.
function functions_equal(answer, rows, least) {
	const found = new Map(answer.functions.map((row) => [`${row.name} ${row.library ?? null}`, row]));
	let compared = 0;

	assert.equal(answer.weightType, "tracing-ms");
	for (const row of rows.filter((row) => row.name !== `[${row.module}]` && row.total_ns !== 0)) {
		const other = found.get(`${row.name} ${row.module}`);

		assert.ok(other, `profiler-cli has no ${JSON.stringify(row)}`);
		if (row.self_ns !== null)
			near(other.selfSamples, row.self_ns, `self of ${row.name}`);
		near(other.totalSamples, row.total_ns, `total of ${row.name}`);
		compared++;
	}
	assert.ok(compared >= least, `${compared} functions compared`);
}

function program() {
	const report = read("report.json"), threads = read("threads.out").threads, source = text(argument).split("\n");
	const worker = profile.threads.find((thread) => thread.name === "worker-0");

	assert.deepEqual(threads.map((thread) => thread.name).sort(),
		["main", "reader", "sleeper", "worker-0", "worker-1"]);
	assert.ok(threads.every((thread) => thread.processName === "viewers"));
	for (const thread of threads) {
		const of = report.threads.find((row) => row.tid === thread.tid);

		if (["sleeper", "worker-0"].includes(thread.name))
			functions_equal(read(`functions-${thread.name}.out`), of.functions, 1);
		near(thread.cpuMs, of.cpu_ns, `CPU time of ${thread.name}`);
	}
	assert.deepEqual(profile.threads.filter((thread) => thread.isMainThread).map((thread) => thread.name), ["main"]);

	// Waits are idle, and nothing else is.  (How long a thread waits, and how long for a CPU, depends on the machine.)
	const idle = profile.meta.categories.findIndex((category) => category.name === "Idle");
	for (const [name, call, kind] of [["sleeper", "[clock_nanosleep]", "wait: time"], ["reader", "[read]", "wait: I/O"]]) {
		const { samples, stackTable, frameTable, funcTable, stringArray } =
			profile.threads.find((thread) => thread.name === name);
		let waits = 0;

		for (const row of samples.stack.filter((row) => row !== null)) {
			const leaf = stringArray[funcTable.name[frameTable.func[stackTable.frame[row]]]];
			const isIdle = stackTable.category[row] === idle;

			// The thread may wait for a lock of libvgctl, too, or for one of the kernel.
			assert.equal(isIdle, leaf.startsWith("["), `${name}: idle in ${leaf}: ${isIdle}`);
			if (leaf === call)
				assert.equal(profile.meta.categories[idle].subcategories[stackTable.subcategory[row]], kind);
			waits += leaf === call;
		}
		assert.ok(waits > 0, `${name}: no waits in ${samples.length} samples`);
	}

	// Inlined functions have the lines of their own source.
	const { frameTable, funcTable, stringArray, markers } = worker;
	const inlined = frameTable.func.map((func, frame) => [stringArray[funcTable.name[func]], frame])
		.filter(([name, frame]) => name === "mix<7>" && frameTable.inlineDepth[frame] > 0);
	assert.ok(inlined.length > 0);
	for (const [, frame] of inlined) {
		assert.ok(frameTable.inlineDepth[frame] >= 2);
		assert.match(source[frameTable.line[frame] - 1], /round|value/);
		assert.equal(stringArray[worker.nativeSymbols.name[frameTable.nativeSymbol[frame]]], "hash");
		assert.ok(stringArray[funcTable.fileName[frameTable.func[frame]]].endsWith("viewers.cc"));
	}

	const rows = read("markers.out").byType, intervals = read("summary.json").intervals;
	assert.deepEqual(rows.map((row) => [row.markerName, row.count]).sort(), [["free", 1200], ["locked", 1200]]);
	for (const interval of intervals.filter((row) => ["free", "locked"].includes(row.label))) {
		const ms = sum(profile.threads.flatMap((thread) => thread.markers.name.map((name, i) =>
			thread.stringArray[name] === interval.label ? thread.markers.endTime[i] - thread.markers.startTime[i] : 0)));

		near(ms, interval.total_ns, `interval ${interval.label}`);
	}
	assert.ok(markers.data.every((data) => data.type === "Interval" && data.kind === "work"));
}

function unresolved() {
	const lib = profile.libs.find((lib) => lib.debugName === "viewers");

	assert.equal(profile.meta.symbolicated, false);
	assert.equal(lib.codeId, argument);
	// Breakpad's id has the first 16 bytes of the build id, the first 4, 2 and 2 of them in reverse order.
	const [, a, b, c, rest] = /^(.{8})(.{4})(.{4})(.{16})0$/.exec(lib.breakpadId);
	assert.equal([a, b, c].map((part) => part.match(/../g).reverse().join("")).join("") + rest,
		argument.slice(0, 32).toUpperCase());
	for (const thread of profile.threads) {
		thread.frameTable.address.forEach((address, frame) => {
			const resource = thread.funcTable.resource[thread.frameTable.func[frame]];

			assert.equal(address === -1, resource === -1);
			assert.equal(thread.frameTable.nativeSymbol[frame], null);
		});
	}
}

// Answers as Mozilla's symbol server does (the API "symbolicate v5").
function serve() {
	const names = new Map();

	for (const { frameTable, funcTable, nativeSymbols, stringArray } of profile.threads) {
		frameTable.nativeSymbol.forEach((symbol, frame) => {
			if (symbol === null || frameTable.inlineDepth[frame] > 0)
				return;
			const lib = profile.libs[nativeSymbols.libIndex[symbol]];

			names.set(`${lib.debugName} ${lib.breakpadId} ${frameTable.address[frame]}`, {
				function: stringArray[funcTable.name[frameTable.func[frame]]],
				function_offset: `0x${(frameTable.address[frame] - nativeSymbols.address[symbol]).toString(16)}`,
			});
		});
	}
	const answer = ({ memoryMap, stacks }) => ({
		found_modules: Object.fromEntries(memoryMap.map((pair) => [pair.join("/"), true])),
		stacks: stacks.map((stack) => stack.map(([lib, address], frame) => ({ frame, module: memoryMap[lib][0],
			module_offset: `0x${address.toString(16)}`, ...names.get([...memoryMap[lib], address].join(" ")) }))),
	});
	const server = createServer((request, response) => {
		const parts = [];

		request.on("data", (part) => parts.push(part)).on("end", () => {
			const { jobs } = JSON.parse(Buffer.concat(parts));

			response.setHeader("Content-Type", "application/json").end(JSON.stringify({ results: jobs.map(answer) }));
		});
	});

	server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

function symbolized() {
	const rows = read("report.json").threads.find((thread) => thread.name === "worker-0").functions;

	// The server has no inlined functions.
	functions_equal(read("functions.out"), rows.filter((row) => ["worker", "hash", "descend"].includes(row.name))
		.map((row) => ({ ...row, self_ns: null })), 3);
}

function story() {
	const counter = profile.counters[0], { markers, stringArray } = profile.threads[0], summary = read("summary.json");
	let value = 0;

	assert.deepEqual(counter.samples.count.map((change) => value += change), [0, -1, -2, -3, -4, -5, -6, -7, -8, -9]);
	assert.deepEqual([counter.name, counter.display.graphType], ["queue", "line-accumulated"]);
	assert.equal(read("counter.out").sampleCount, 10);
	for (const row of summary.intervals)
		assert.equal(markers.name.filter((name) => stringArray[name] === row.label).length, row.count, row.label);
	const at = markers.name.findIndex((name) => stringArray[name] === "shutdown");
	assert.match(markers.data[at].end, /still open/);
	assert.equal(markers.data.filter((data) => data.detached === "yes").length, 10);
	assert.equal(markers.length, read("threads.out").threads[0].markerCount);
}

// Intervals are as long as in the new profile alone: times of both processes have the same origin.
function intervals() {
	const lengths = (profile) => profile.threads.filter(({ processName }) => !processName.endsWith(" (base)"))
		.flatMap(({ name, markers }) => markers.endTime.map((end, i) =>
			`${name} ${end === null ? "open" : (end - markers.startTime[i]).toFixed(3)}`));

	assert.ok(lengths(profile).length > 0);
	assert.deepEqual(lengths(profile), lengths(read(argument)));
}

function difference() {
	const [older, newer] = ["old.json", "new.json"].map((name) => new Map(read(name).functions
		.map((row) => [row.name, row])));
	const answer = read("functions.out");

	assert.equal(answer.friendlyThreadName, "difference");
	assert.deepEqual(profile.threads.map((thread) => `${thread.processName} ${thread.name}`),
		["server (base) main", "server (base) worker", "server main", "server worker", "difference difference"]);
	functions_equal(answer, [...newer.values()].map((row) => ({ ...row,
		self_ns: row.self_ns - older.get(row.name).self_ns, total_ns: row.total_ns - older.get(row.name).total_ns })), 3);
	assert.ok(answer.functions.some((row) => row.selfSamples < 0));
}

function several() {
	const names = profile.threads.map((thread) => `${thread.processName} ${thread.name}`);

	assert.deepEqual(names.filter((name) => name.startsWith("server")), ["server main", "server worker"]);
	assert.equal(names.filter((name) => name.startsWith("viewers")).length, 5);
	for (const name of ["server main", "server worker"]) {
		const { samples } = profile.threads[names.indexOf(name)];
		let time = 0;

		// Samples of both profiles, in order of time.
		assert.ok(samples.timeDeltas.every((delta) => (time += delta) >= 0));
		assert.ok(name !== "server main" || Math.round(sum(samples.weight)) === 92 + 95);
	}
}

if (step !== "serve")
	tables(profile);
if (step === "tables")
	process.argv.slice(4).forEach((name) => tables(read(name)));
else
	({ program, unresolved, serve, symbolized, story, intervals, difference, several })[step]();
