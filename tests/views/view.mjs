// SPDX-License-Identifier: MIT OR Apache-2.0
//
//     view.mjs holds PAGE EXPRESSION                    fails unless the JavaScript expression is true; `it` is the data of
//                                                       the page
//     view.mjs judge PAGE REPORT.json,... [LABEL|-base] fails unless self and total of all functions are those of each
//                                                       vgtool report --json: of all samples, of those in intervals
//                                                       with the LABEL, or of those of the base
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [what, pagePath, argument, selection] = process.argv.slice(2);
const html = readFileSync(pagePath, "latin1");
const encoded = /<script id="data" type="application\/octet-stream">\s*([A-Za-z0-9+/]+=*)\s*<\/script>/.exec(html);
if (!encoded) {
	console.error("the page has no data");
	process.exit(1);
}
const text = gunzipSync(Buffer.from(encoded[1], "base64")).toString();
const data = JSON.parse(text);

function fail(message) {
	console.error(message);
	process.exit(1);
}

/* True if an interval of the path has the label. */
function pathHas(path, label) {
	for (; path >= 0; path = data.paths.parent[path])
		if (data.strings[data.paths.label[path]] === label)
			return true;
	return false;
}

function isSelected(track, sample) {
	const isBase = data.groups[track.group].base;
	if (selection === "-base")
		return isBase;
	return !isBase && (selection === undefined || pathHas(track.path[sample], selection));
}

/* Self and total of each function, in microseconds. */
function functionSums(weight) {
	const { nodes, frames, functions } = data;
	const count = nodes.parent.length;
	const self = new Float64Array(count), subtree = new Float64Array(count), pieces = new Float64Array(count);
	let sum = 0;
	for (const track of data.tracks) {
		track.node.forEach((node, sample) => {
			if (!isSelected(track, sample))
				return;
			sum += track[weight][sample];
			if (node >= 0) {
				self[node] += track[weight][sample];
				pieces[node]++;
			}
		});
	}
	const rows = new Map();
	const row = (node) => {
		const f = frames.function[nodes.frame[node]], text = (index) => (index < 0 ? null : data.strings[index]);
		const key = JSON.stringify([text(functions.name[f]), text(functions.module[f]), text(functions.file[f])]);
		if (!rows.has(key))
			rows.set(key, { self: 0, total: 0, pieces: 0 });
		return rows.get(key);
	};
	for (let node = count - 1; node >= 0; node--) {
		const parent = nodes.parent[node], of = frames.function[nodes.frame[node]];
		if (parent >= node)
			fail(`the node ${node} has the caller ${parent}`);
		subtree[node] += self[node];
		if (parent >= 0) {
			subtree[parent] += subtree[node];
			pieces[parent] += pieces[node];
		}
		row(node).self += self[node];
		let outer = parent;
		while (outer >= 0 && frames.function[nodes.frame[outer]] !== of)
			outer = nodes.parent[outer];
		if (outer < 0) {
			row(node).total += subtree[node];
			row(node).pieces += pieces[node];
		}
	}
	return { rows, sum };
}

function judge(reportPath) {
	const report = JSON.parse(readFileSync(reportPath, "utf8"));
	const { rows, sum } = functionSums(report.weight);
	const reported = report[`${report.weight}_ns`] / 1000;
	let judged = 0;
	if (Math.abs(sum - reported) > data.tracks.length + (selection ? report.samples : 0))
		fail(`the samples have ${sum} us, not ${reported} us`);
	for (const { name, module, file, self_ns, total_ns } of report.functions) {
		const row = rows.get(JSON.stringify([name, module, file]));
		if (!row)
			fail(`${name} is not in the page`);
		if (Math.abs(row.self - self_ns / 1000) > row.pieces + 1 || Math.abs(row.total - total_ns / 1000) > row.pieces + 1)
			fail(`${name}: self ${row.self} us, total ${row.total} us, but in the report ${self_ns} ns, ${total_ns} ns`);
		rows.delete(JSON.stringify([name, module, file]));
		judged++;
	}
	for (const [key, row] of rows)
		if (row.total > 1 && !JSON.parse(key)[0].startsWith("[stack incomplete: "))
			fail(`${key} has ${row.total} us, and the report does not have it`);
	console.log(`${judged} functions`);
}

function holds(it) {
	if (eval(argument) !== true)
		fail(`not true: ${argument}: ${text.slice(0, 400)}`);
}

if (what === "judge")
	argument.split(",").forEach(judge);
else
	holds(data);
