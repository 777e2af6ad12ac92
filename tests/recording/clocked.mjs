// SPDX-License-Identifier: MIT OR Apache-2.0
// clocked.mjs CLOCKED [PROGRAM [CAPTURE [HZ]]]: records the programs of clocked.c, which measure themselves.  Prints
// the figures of the programs and of their profiles.  `make truth` runs it.  With CHECK in the environment it runs a
// few of the programs for a shorter time and without perf.  Then it judges less, unless TIMING is set, too:
// - On a busy machine a thread waits for a CPU most of the time.  A young thread's running samples take this time, and
//   stops find a thread in the call that woke it.  So shares have a bound of 20 points plus 6 standard errors, and CPU
//   shares by stops have none.  tests/unit/check_weights.c checks with random schedules where such time goes.
// - No bound of sums includes what the machine's delays change: the start and the end of threads, and ticks that are
//   skipped.  The delays are taken from the profile.  Threads that live for less than a period must be found in each of
//   their functions, no more: they are recorded again, for longer, until they are.
//
// A share is right if it differs from the truth by at most 2 points plus 2 standard errors (with CHECK and TIMING: 6
// points plus 6 standard errors).  The number of samples for the standard error is (sum of weights)^2 / (sum of squared
// weights).
//
// A larger error is "stated", and not wrong, if the program makes a system call every few hundred microseconds and one
// of these is true: stops were used (vignetted(8) states this limit), or perf's error is as large.
//
// A sum is right if it is within 3 %, cpu_unsampled_ns included.  A larger error is "declared", and not wrong, if wall
// time is missing and the profile has lost samples.
//
// The number of samples, merged ones included, is right if it is at least 97 % of the number of sampling periods in the
// wall time of all threads.
//
// `perf record --call-graph dwarf` also measures CPU shares, in a run of its own.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { cpus, release, tmpdir } from "node:os";
import { join } from "node:path";

const check = Boolean(process.env.CHECK);
const busy = check && !process.env.TIMING;      // the machine may be busy
const SECONDS = busy ? 1 : check ? 2 : 5;
const SLACK_NS = check ? 100e6 : 0;             // for the start of the program, before it reads its clocks
// `wrap`: a command that runs the helper and the program in namespaces of their own
const timeNamespace = (seconds) => ["unshare", "-T", "--monotonic", String(seconds), "--"];
const fewPids = ["unshare", "-p", "-f", "--mount-proc", "sh", "-c", 'echo 400 >/proc/sys/kernel/pid_max; exec "$@"', "sh"];
// `calls`: the program makes a system call every few hundred microseconds or less.  A stop takes effect when the thread
// next leaves the kernel.  So stops find such a thread in its system calls (vignetted(8)).
const programs = [
	{ name: "turns", args: [98.31, 30] },
	{ name: "turns", args: [993, 30] },
	{ name: "turns", args: [107, 30] },
	{ name: "naps", args: [3000, 7900], check: true },
	{ name: "naps", args: [100, 900], calls: true },
	{ name: "chance", args: [1000, 3000] },
	{ name: "yield", args: [], calls: true },
	{ name: "pipe", args: [1000, 2000], check: true },
	{ name: "pipe", args: [100, 200], calls: true },
	{ name: "births", args: [200, 1000, 500], check: true },
	{ name: "row", args: [30, 15] },
	{ name: "row", args: [700, 350] },
	{ name: "crowd", args: [200, 100, 50], calls: true },
	{ name: "crowd", args: [5000, 100, 1000], calls: true },
	{ name: "births", args: [200, 1000, 500], wrap: fewPids, title: "births, 400 pids" },
	{ name: "naps", args: [3000, 7900], wrap: timeNamespace(1000), title: "naps, clock +1000 s" },
	{ name: "naps", args: [3000, 7900], wrap: timeNamespace(-20), title: "naps, clock -20 s" },
];
const functions = ["work_a", "work_b", "rest"];

const [clocked, onlyProgram, onlyCapture, onlyRate] = process.argv.slice(2);
const { VIGNETTED: vignetted, VGTOOL: vgtool } = process.env;
const dir = mkdtempSync(join(tmpdir(), "clocked-"));
const file = (name) => join(dir, name);
const run = (command, ...args) => execFileSync(command, args, { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] }).toString();
const lines = (text) => text.split("\n").filter((line) => line !== "");
process.on("exit", () => rmSync(dir, { recursive: true }));

// Parses the output of the program: { work_a: { wall, cpu }, ..., all: { wall, cpu } }, in nanoseconds.
function truthOf(text) {
	return Object.fromEntries(lines(text).map((line) => line.split(" ")).filter((words) => words.length === 3)
		.map(([name, wall, cpu]) => [name, { wall: Number(wall), cpu: Number(cpu) }]));
}

function record(program, capture, rate, seconds) {
	const truth = openSync(file("truth"), "w"), log = openSync(file("log"), "w");
	const [command, ...words] = [...program.wrap ?? [], vignetted];
	const { status } = spawnSync(command, [...words, "--capture", capture, "--rate", rate, "-o", file("raw.vgp"), "--", clocked,
		program.name, seconds, ...program.args].map(String), { stdio: ["ignore", truth, log] });
	if (status !== 0)
		throw new Error(`vignetted: ${readFileSync(file("log"), "utf8")}`);
	run(vgtool, "symbols", "-o", file("symbols"), clocked);
	run(vgtool, "resolve", "-s", file("symbols"), file("raw.vgp"), "-o", file("named.vgp"));
	const profile = { info: JSON.parse(run(vgtool, "info", "--json", file("raw.vgp"))) };
	for (const weight of ["wall", "cpu"]) {
		const report = JSON.parse(run(vgtool, "report", "--json", "--weight", weight, file("named.vgp")));
		profile[weight] = { all: report[`${weight}_ns`], samples: 0 };
		for (const name of functions)
			profile[weight][name] = report.functions.filter((f) => f.name === name || f.name.startsWith(`${name}_by_`))
				.reduce((sum, f) => sum + f.total_ns, 0);
	}
	const sums = { wall: [0, 0], cpu: [0, 0] }, largest = { wall: 0, cpu: 0 };
	for (const line of lines(run(vgtool, "dump", file("raw.vgp")))) {
		const it = JSON.parse(line);
		if (it.kind !== "sample")
			continue;
		const count = it.count ?? 1, wall = it.wall_us ?? it.since_us, cpu = it.cpu_100us;
		sums.wall[0] += wall, sums.wall[1] += wall * wall / count;
		sums.cpu[0] += cpu, sums.cpu[1] += cpu * cpu / count;
		largest.wall = Math.max(largest.wall, wall * 1e3), largest.cpu = Math.max(largest.cpu, cpu * 1e5);
	}
	for (const weight of ["wall", "cpu"]) {
		profile[weight].samples = sums[weight][0] ** 2 / (sums[weight][1] || 1);
		profile[weight].largest = largest[weight];
	}
	return { truth: truthOf(readFileSync(file("truth"), "utf8")), profile };
}

// Records the program.  On a busy machine, no sample may find the threads that live for 1.5 ms in their first function:
// then records again, up to sixteen times as long.
function recordFound(program, capture, rate) {
	for (let seconds = SECONDS; ; seconds *= 2) {
		const recorded = record(program, capture, rate, seconds), { truth, profile } = recorded;
		if (!busy || program.name !== "births" || seconds >= 16 * SECONDS ||
			functions.every((name) => truth[name].wall === 0 || profile.wall[name] > 0))
			return recorded;
	}
}

// Measures the CPU shares with perf; returns them and the truth of that run.
function perf(program, rate) {
	const truth = openSync(file("truth"), "w");
	spawnSync("perf", ["record", "-q", "-e", "cpu-clock", "-F", rate, "--call-graph", "dwarf,2048", "-o", file("perf"), "--",
		clocked, program.name, SECONDS, ...program.args].map(String), { stdio: ["ignore", truth, "ignore"] });
	const shares = { samples: 0, work_a: 0, work_b: 0, rest: 0 };
	let seen = new Set();
	for (const line of run("perf", "script", "--no-inline", "-F", "comm,ip,sym", "-i", file("perf")).split("\n")) {
		const frame = line.match(/^\s+[0-9a-f]+ (\w+)/);
		if (frame) {
			seen.add(functions.find((name) => frame[1] === name || frame[1].startsWith(`${name}_by_`)));
		} else if (line === "") {
			for (const name of seen)
				shares[name] += name !== undefined;
			seen = new Set();
		} else {
			shares.samples += /^clocked/.test(line.trim());
		}
	}
	return { truth: truthOf(readFileSync(file("truth"), "utf8")), shares };
}

const percent = (part, all) => 100 * part / all;
const bound = (share, samples) => (busy ? 20 : check ? 6 : 2) +
	(check ? 6 : 2) * Math.sqrt(share * (100 - share) / Math.max(samples, 1));
// The largest and the smallest right sum of a program's times, on a busy machine.  The program does not measure the
// time before and after its own clocks, which is at most the recording's duration in each of its threads.  The helper
// notices the begin and the end of a thread as late as its largest gap between samples.
function busySum(weight, truth, { info, [weight]: { largest } }) {
	const delay = weight === "wall" ? info.threads * info.duration_ns - truth : SLACK_NS;
	return { most: 1.03 * (truth + Math.max(delay, 0)), least: 0.97 * truth - 2 * info.threads * largest };
}
const columns = [32, 8, 5, 5, 7, 8, 8, 7, 7, 9, 8];
const row = (...cells) => console.log(cells.map((cell, i) => i === 0 ? String(cell).padEnd(columns[i]) :
	String(cell).padStart(columns[i])).join(" "));
let wrong = 0;

if (!check)
	console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} CPUs (${cpus()[0].model.trim()}), Linux ${release().split(".").slice(0, 2).join(".")}, ` +
		`${process.env.COMMIT ?? "no commit"}\n`);
// "figure" is a function, whose share of the time is compared, or "counts" (numbers of samples), or "sum" (seconds).
// "error" and "bound" of a share are in points.
row("program", "capture", "Hz", "time", "figure", "truth", "profile", "error", "bound", "perf err.", "");
for (const program of programs.filter((p) => check ? p.check : !onlyProgram || p.name === onlyProgram)) {
	for (const rate of (check ? [499] : [99, 499, 997]).filter((r) => !onlyRate || r === Number(onlyRate))) {
		const other = check ? null : perf(program, rate);
		for (const capture of ["auto", "stop"].filter((c) => !onlyCapture || c === onlyCapture)) {
			const { truth, profile } = recordFound(program, capture, rate);
			const title = program.title ?? `${program.name} ${program.args.join(" ")}`;
			for (const weight of ["wall", "cpu"]) {
				for (const name of functions.filter((f) => truth[f].wall > 0)) {
					const share = percent(truth[name][weight], truth.all[weight]);
					const found = percent(profile[weight][name], profile[weight].all);
					const most = bound(share, profile[weight].samples);
					const perfError = weight === "cpu" && other ? percent(other.shares[name], other.shares.samples) -
						percent(other.truth[name].cpu, other.truth.all.cpu) : NaN;
					const right = Math.abs(found - share) <= most ||
						(busy && program.name === "births" && found > 0);
					const stated = busy && weight === "cpu" && !profile.info.timer_samples || program.calls && (capture === "stop" ||
						(weight === "cpu" && Math.abs(found - share) <= Math.abs(perfError) + most));
					wrong += !right && !stated;
					row(title, capture, rate, weight, name, `${share.toFixed(1)}%`, `${found.toFixed(1)}%`,
						(found - share).toFixed(1), most.toFixed(1), isNaN(perfError) ? "" : perfError.toFixed(1),
						right ? "" : stated ? "stated" : "WRONG");
				}
				const missing = weight === "cpu" ? profile.info.cpu_unsampled_ns : 0, all = profile[weight].all;
				// Threads that live for less than a period are sampled by chance, each with the weight
				// of a period.  On a busy machine the scans for threads are late.
				const slack = SLACK_NS + (program.name !== "births" ? 0 : check && weight === "wall" ? truth.all.wall / 2 :
					2e9 / rate * Math.sqrt(profile.info.threads));
				const sum = busy ? busySum(weight, truth.all[weight], profile) :
					{ most: 1.03 * truth.all[weight] + slack, least: 0.97 * truth.all[weight] - slack };
				const right = (all <= sum.most && all + missing >= sum.least) || (busy && program.name === "births");
				if (weight === "wall" && !busy) {
					const due = truth.all.wall / 1e9 * rate, found = profile.info.samples + profile.info.samples_merged;
					const counted = found >= 0.97 * due - slack / 1e9 * rate;
					wrong += !counted;
					row(title, capture, rate, weight, "counts", Math.round(due), found,
						`${percent(found - due, due).toFixed(1)}%`, "-3%", "", counted ? "" : "WRONG");
				}
				const declared = weight === "wall" && all < truth.all.wall && Object.keys(profile.info.lost).length > 0;
				wrong += !right && !declared;
				row(title, capture, rate, weight, "sum", `${(truth.all[weight] / 1e9).toFixed(2)}s`,
					`${(all / 1e9).toFixed(2)}s`, `${percent(all - truth.all[weight], truth.all[weight]).toFixed(1)}%`, "3%",
					missing > 0 ? `-${(missing / 1e9).toFixed(2)}s` : "", right ? "" : declared ? "declared" : "WRONG");
			}
		}
	}
}
console.log(wrong === 0 ? "all figures are right" : `${wrong} figures are wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
