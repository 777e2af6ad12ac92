// SPDX-License-Identifier: MIT OR Apache-2.0
// demo.mjs DIRECTORY: checks that the demo's files in that directory show what its threads did.
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const directory = process.argv[2];
const read = (name) => JSON.parse(readFileSync(`${directory}/${name}`, "utf8"));
const info = read("info.json");
const report = read("report.json");
const graph = read("life.speedscope.json");
const frames = graph.shared.frames;
const output = readFileSync(`${directory}/output`, "utf8");

// There is one profile for each thread, with its name.
assert.equal(graph.profiles.pop().name, "all threads");
assert.deepEqual(graph.profiles.map((profile) => profile.name).sort(),
	["clock", "life", "worker-0", "worker-1"]);

// Every address of the program has a function name.
for (const frame of frames)
	assert.ok(!/^life\+0x/.test(frame.name), `a frame without a function name: ${frame.name}`);

// For each thread, the sum of weights is not longer than the recording.  With TIMING, it equals the time that the thread
// lived by its own clock.  If a thread exits between two activity reads, which may be 0.125 s apart on an idle machine, the
// time of its exit is estimated.
for (const profile of graph.profiles) {
	const ran = Number(new RegExp(`^${profile.name} ran for ([0-9.]+) s$`, "m").exec(output)[1]);
	const seconds = profile.weights.reduce((sum, weight) => sum + weight, 0) / 1e9;
	assert.ok(seconds > 0 && seconds <= 1.001 * info.duration_ns / 1e9,
		`${profile.name}: ${seconds} s of weights in a recording of ${info.duration_ns} ns`);
	assert.ok(!process.env.TIMING || Math.abs(seconds - ran) < Math.max(0.02 * ran, 0.15),
		`${profile.name}: ${seconds} s of weights, and it ran for ${ran} s`);
}

// neighbours() has the most samples of each worker that runs, and the program's report adds them up.  The machine decides
// whether the workers or the snake get more CPU time, and so which function is the first of all.
const most = (list) => list.reduce((a, b) => (b.self_samples > a.self_samples ? b : a));
const hottest = report.threads.filter((entry) => /^worker/.test(entry.name)).map((thread) => most(thread.functions));
assert.deepEqual(hottest.map((entry) => entry.name), ["neighbours", "neighbours"]);
assert.equal(report.functions.find((entry) => entry.name === "neighbours").self_samples,
	hottest[0].self_samples + hottest[1].self_samples);

// The recursion is as deep as the snake is long, inlined calls included.
let deepest = 0;
for (const profile of graph.profiles) {
	for (const stack of profile.samples) {
		const depth = stack.filter((frame) => frames[frame].name === "snake_measure").length;
		deepest = Math.max(deepest, depth);
	}
}
assert.ok(deepest > 1000 && deepest <= 1501, `the deepest recursion is ${deepest}, not near 1,500`);

assert.ok(info.samples >= 100, `${info.samples} samples`);
assert.ok(info.stacks_complete >= 0.999 * info.stacks,
	`${info.stacks_complete} of ${info.stacks} stacks are complete`);
assert.equal(info.truncated, false);
console.log(`${info.stacks_complete} of ${info.stacks} stacks complete, recursion ${deepest} deep`);
