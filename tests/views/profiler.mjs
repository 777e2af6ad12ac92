// SPDX-License-Identifier: MIT OR Apache-2.0
//
//	node profiler.mjs PROFILER_CLI DIRECTORY FILE [--symbol-server URL] QUERY=OUT...
//
// Loads the file into Mozilla's profiler-cli, which reads it as the Firefox Profiler does, and writes the JSON of its
// answers.  profiler-cli runs as the daemon that its commands talk to, with its socket in DIRECTORY.  This program talks
// to the daemon itself: `profiler-cli load` gives the daemon only half a second to start, and each command starts node.
//
//	threads=OUT             as profiler-cli thread list --json
//	functions=OUT           as profiler-cli thread functions --include-idle --limit 0 --json, of the first thread
//	functions:NAME=OUT      the same of the thread NAME
//	functions:*=OUT         the same of all threads: one JSON document after the other
//	markers:NAME=OUT        as profiler-cli thread markers --thread ... --json
//	samples=OUT             as profiler-cli thread samples --include-idle --json
//	counter=OUT             as profiler-cli counter info c-0 --json
import { spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

const [cli, directory, file, ...rest] = process.argv.slice(2);
const server = rest[0] === "--symbol-server" ? rest.splice(0, 2) : [];
const session = `session-${process.pid}`, socketPath = `${directory}/${session}.sock`;
// The bound is for a program that hangs, as life_s in tests/lib.sh.
const end = Date.now() + 3000000;
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

mkdirSync(directory, { recursive: true });
const log = openSync(`${directory}/log`, "w");
// Without a symbol server profiler-cli would ask Mozilla's.
const daemon = spawn(process.execPath, [cli, "--daemon", file, "--session", session, ...server], {
	stdio: ["ignore", log, log],
	env: { ...process.env, PROFILER_CLI_SESSION_DIR: directory,
		...server.length ? {} : { PROFILER_CLI_NO_SYMBOLICATE: "1" } },
});
for (const signal of ["SIGTERM", "SIGINT"])
	process.on(signal, () => process.exit(1));
process.on("exit", () => daemon.kill());

function fail(text) {
	console.error(`${file}: ${text}: ${readFileSync(`${directory}/log`, "utf8").slice(-2000)}`);
	process.exit(1);
}
daemon.on("exit", (status, signal) => fail(`profiler-cli ended: ${status ?? signal}`));

async function connected() {
	for (; Date.now() < end; await pause()) {
		const socket = connect(socketPath);
		if (await new Promise((resolve) => socket.on("connect", () => resolve(true)).on("error", () => resolve(false))))
			return socket;
	}
	fail("profiler-cli did not begin to listen");
}
const socket = await connected();
const answers = [];
let text = "", arrived = () => {};
socket.setEncoding("utf8").on("data", (part) => {
	const lines = (text + part).split("\n");
	text = lines.pop();
	answers.push(...lines);
	arrived();
});
socket.on("close", () => fail("profiler-cli closed the connection"));

async function ask(message) {
	socket.write(`${JSON.stringify(message)}\n`);
	while (answers.length === 0)
		await new Promise((resolve) => { arrived = resolve; });
	return JSON.parse(answers.shift());
}
async function command(command) {
	const { type, result, error } = await ask({ type: "command", command });

	return type === "success" ? result : fail(`${JSON.stringify(command)}: ${error}`);
}

for (let state; (state = await ask({ type: "status" })).type !== "ready"; await pause()) {
	if (state.type === "error")
		fail(state.error);
	if (Date.now() > end)
		fail(`not loaded: ${state.type}`);
}
const { threads } = await command({ command: "thread", subcommand: "list" });
const handles = (name) => threads.filter((thread) => name === "*" || thread.name === name).map((thread) => thread.threadHandle);
const functions = (thread) => command({ command: "thread", subcommand: "functions", thread, includeIdle: true,
	functionFilters: {} });
for (const query of rest) {
	const [, what, name, out] = /^(\w+)(?::(.*?))?=(.*)$/.exec(query);
	const results = [];

	for (const thread of name === undefined ? [undefined] : handles(name)) {
		results.push(what === "threads" ? await command({ command: "thread", subcommand: "list" }) :
			what === "functions" ? await functions(thread) :
			what === "markers" ? await command({ command: "thread", subcommand: "markers", thread }) :
			what === "samples" ? await command({ command: "thread", subcommand: "samples", includeIdle: true }) :
			what === "counter" ? await command({ command: "counter", subcommand: "info", counter: "c-0" }) :
			fail(`${query}: no such query`));
	}
	if (results.length === 0)
		fail(`no thread ${name}; expected one of ${threads.map((thread) => thread.name).join()}`);
	writeFileSync(out, results.map((result) => `${JSON.stringify(result, null, 2)}\n`).join(""));
}
process.exit(0);
