// SPDX-License-Identifier: MIT OR Apache-2.0
//
//   views.mjs story DIR      the views of the story (events_write.c) agree with each other and with its known times
//   views.mjs phases DIR     a program's intervals are as long as the program has measured
//   views.mjs lines DIR      Speedscope's file has the times of functions, and their hottest lines, that vgtool report
//                            has; the trace has the same lines
//   views.mjs markers DIR    Mozilla's profiler-cli finds all markers of the trace
import { existsSync, readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [step, directory] = process.argv.slice(2);
const text = (name) => readFileSync(`${directory}/${name}`, "utf8");
const read = (name) => JSON.parse(text(name));
const sum = (list) => list.reduce((a, b) => a + b, 0);
const ms = 1e6;

function story() {
	const summary = read("summary.json");
	const rows = Object.fromEntries(summary.intervals.map((row) => [row.label, row]));
	const expected = { request: [10, 50, 100], parse: [10, 20, 20], reply: [10, 30, 30],
		job: [10, 50, 50], shutdown: [1, 10, 10] };

	for (const [label, [count, self, total]] of Object.entries(expected)) {
		assert.deepEqual([rows[label].count, rows[label].self_ns / ms, rows[label].total_ns / ms],
			[count, self, total], label);
		assert.equal(rows[label].open, label === "shutdown" ? 1 : 0, label);
		assert.equal(rows[label].detached, label === "job", label);
	}
	// The sum of self times is the time in which any interval was open.
	assert.equal(sum(summary.intervals.filter((row) => !row.detached).map((row) => row.self_ns)), 110 * ms);
	assert.deepEqual(summary.counters.map((row) => [row.label, row.min, row.max, row.last]),
		[["queue", -9, 0, -9]]);

	const folded = text("folded").trim().split("\n");
	assert.deepEqual(folded.sort(), ["main 50000", "main;parse_it 20000", "main;reply_it 30000"]);

	const intervals = read("intervals.json").intervals;
	assert.deepEqual(intervals.map((row) => [row.label, row.self_samples, row.total_samples]),
		[["request", 50, 100], ["reply", 30, 30], ["parse", 20, 20]]);
	assert.deepEqual(read("reply.json").functions.map((row) => [row.name, row.total_samples]),
		[["reply_it", 30], ["main", 30]]);

	const view = read("story.speedscope.json");
	const evented = view.profiles.filter((profile) => profile.type === "evented");
	assert.deepEqual(evented.map((profile) => profile.name), ["main: intervals"]);
	assert.equal(evented[0].events.length, 2 * 31);

	const lines = text("dump").trim().split("\n").map((line) => JSON.parse(line));
	const kinds = (kind) => lines.filter((line) => line.kind === kind);
	assert.equal(lines.length, 1 + kinds("event").length);
	assert.deepEqual(kinds("event").map((line) => line.time_ns / ms),
		[5, 15, 25, 35, 45, 55, 65, 75, 85, 95]);
}

function phases() {
	const rows = Object.fromEntries(read("phases.json").intervals.map((row) => [row.label, row]));
	const clock = {};

	for (const line of text("phases.out").trim().split("\n")) {
		const [label, inside_ns, around_ns] = line.split(" ");
		clock[label] ??= [0, 0];
		clock[label][0] += Number(inside_ns);
		clock[label][1] += Number(around_ns);
	}
	for (const label of ["parse", "write"]) {
		assert.equal(rows[label].count, 3);
		assert.ok(rows[label].total_ns >= 0.999 * clock[label][0] && rows[label].total_ns <= 1.001 * clock[label][1],
			`${label}: ${rows[label].total_ns} ns, and the program measured ${clock[label]}`);
	}
	assert.equal(rows.run.open, 0);
	assert.equal(read("killed.json").intervals.find((row) => row.label === "run").open, 1);
	assert.ok(read("killed.json").intervals.find((row) => row.label === "parse").count >= 2);

	// Samples are in the interval in which their function ran.
	const inside = (name) => sum(read("parse.json").functions.filter((row) => row.name === name)
		.map((row) => row.total_samples));
	assert.ok(inside("work_parse") > 10, `${inside("work_parse")} samples in parse`);
	assert.ok(inside("work_write") <= 0.1 * inside("work_parse"),
		`${inside("work_write")} samples of work_write in parse, ${inside("work_parse")} of work_parse`);
}

function lines() {
	const view = read("phases.speedscope.json"), { frames } = view.shared;
	const times = frames.map(() => ({ self: 0, total: 0 }));
	const key = (row) => `${row.name} ${row.file}`;

	for (const profile of view.profiles.filter((one) => one.type === "sampled" && one.name !== "all threads")) {
		profile.samples.forEach((stack, i) => {
			new Set(stack).forEach((frame) => { times[frame].total += profile.weights[i]; });
			times[stack.at(-1)].self += profile.weights[i];
		});
	}
	// Without a source file, report may show a module as one row.
	const rows = read("functions.json").functions.filter((row) => row.file !== null);
	assert.ok(rows.length > 2);
	for (const row of rows) {
		const number = frames.findIndex((frame) => key(frame) === key(row));
		assert.deepEqual([times[number].self, times[number].total], [row.self_ns, row.total_ns], row.name);
	}

	const hottest = {};
	for (const row of read("lines.json").lines.filter((one) => one.line > 0)) {
		if (!(hottest[key(row)]?.total_ns >= row.total_ns))
			hottest[key(row)] = row;
	}
	assert.ok(Object.keys(hottest).length > 2);
	for (const [name, row] of Object.entries(hottest)) {
		const { line } = frames.find((frame) => key(frame) === name);
		assert.ok(read("lines.json").lines.some((one) => key(one) === name && one.line === line &&
			one.total_ns === row.total_ns), `${name}: line ${line}`);
	}

	// V8 counts the lines of call frames from 0, and those of samples from 1.
	const chunks = read("trace.json").traceEvents.filter((event) => event.name === "ProfileChunk");
	const inside = new Set();
	for (const { cpuProfile, lines: at } of chunks.map((chunk) => chunk.args.data)) {
		for (const { callFrame } of cpuProfile.nodes) {
			assert.equal(callFrame.lineNumber + 1, callFrame.url === "" ? 0 : frames.find((frame) =>
				frame.name === callFrame.functionName && frame.file === callFrame.url).line ?? 0);
		}
		assert.ok(at === undefined || at.length === cpuProfile.samples.length);
		cpuProfile.samples.forEach((id, i) => {
			if (cpuProfile.nodes.find((node) => node.id === id)?.callFrame.functionName === "work_parse")
				inside.add(at[i]);
		});
	}
	const [{ file }] = frames.filter((frame) => frame.name === "work_parse");
	const known = read("lines.json").lines.filter((one) => one.self_ns > 0 && key(one) === `work_parse ${file}`);
	assert.deepEqual([...inside].sort(), known.map((one) => one.line).sort());
}

function markers() {
	const events = read("trace.json").traceEvents;
	// The two halves of an asynchronous event are one marker.  Counters are not markers.
	const marks = events.filter((event) => ["X", "b", "i"].includes(event.ph)).length;
	const found = sum(read("threads.out").threads.map((thread) => thread.markerCount));

	assert.ok(marks > 0);
	assert.equal(found, marks);
	if (existsSync(`${directory}/samples.out`)) {
		assert.equal(read("samples.out").categoryBreakdown.totalSamples, 100);
		assert.deepEqual(read("samples.out").topFunctionsBySelf.filter((row) => row.selfSamples > 0)
			.map((row) => [row.name, row.selfSamples]),
		[["server.c!main", 50], ["server.c!reply_it", 30], ["server.c!parse_it", 20]]);
	}
	console.log(`${found} markers in profiler-cli and in the trace`);
}

({ story, phases, lines, markers })[step]();
