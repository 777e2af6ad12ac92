// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The steps of tests/views/speedscope.sh before and after the browser:
//   prepare FILE SCHEMA DIR      checks FILE against Speedscope's schema, and against further rules; writes
//                                DIR/load.js, with which the page loads FILE
//   judge FILE PAGE TITLE [TEXT] checks the page that the browser has written
import fs from "node:fs";
import path from "node:path";

function fail(message) {
	console.error(`speedscope: ${message}`);
	process.exit(1);
}

// The part of JSON Schema (draft 7) that Speedscope's schema uses.  Any other keyword is an error, so that no rule
// stays unchecked.
const annotations = new Set(["title", "description", "$schema", "definitions"]);

function typeOf(value) {
	return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}

const keywords = {
	type: (value, type) => [].concat(type).some((t) => t === typeOf(value) ||
		(t === "integer" && Number.isInteger(value))),
	const: (value, constant) => value === constant,
	enum: (value, list) => list.includes(value),
	required: (value, names) => typeOf(value) !== "object" || names.every((name) => name in value),
	properties: (value, schemas, root) => typeOf(value) !== "object" || Object.entries(schemas)
		.every(([name, schema]) => !(name in value) || matches(value[name], schema, root)),
	items: (value, schema, root) => !Array.isArray(value) ||
		value.every((item) => matches(item, schema, root)),
	anyOf: (value, schemas, root) => schemas.some((schema) => matches(value, schema, root)),
	$ref: (value, ref, root) => matches(value, ref.slice(2).split("/")
		.reduce((at, name) => at[name], root), root),
};

function matches(value, schema, root) {
	for (const [keyword, argument] of Object.entries(schema)) {
		if (annotations.has(keyword))
			continue;
		if (!(keyword in keywords))
			fail(`the schema has a keyword that this test does not know: ${keyword}`);
		if (!keywords[keyword](value, argument, root))
			return false;
	}
	return true;
}

// Frames open and close like brackets, in the order of time, and all are closed.
function eventsCheck(profile, frames) {
	const open = [];
	let now = profile.startValue;

	for (const { type, frame, at } of profile.events) {
		if (at < now || at > profile.endValue)
			fail(`${profile.name}: an event at ${at}; expected ${now} (the previous event) to ` +
			     `${profile.endValue} (the end)`);
		now = at;
		if (!(frame >= 0 && frame < frames.length))
			fail(`${profile.name}: a frame that is not in the file`);
		if (type === "O")
			open.push(frame);
		else if (open.pop() !== frame)
			fail(`${profile.name}: not well nested at ${at}`);
	}
	if (open.length > 0)
		fail(`${profile.name}: ${open.length} frames left open`);
}

function profileCheck(profile, frames) {
	if (profile.type === "evented")
		return eventsCheck(profile, frames);
	const sum = profile.weights.reduce((a, b) => a + b, 0);

	if (profile.samples.length !== profile.weights.length)
		fail(`${profile.name}: ${profile.samples.length} samples, ${profile.weights.length} weights`);
	if (Math.abs(profile.endValue - profile.startValue - sum) > 1e-9 * sum)
		fail(`${profile.name}: weights sum up to ${sum}, and the profile ends at ${profile.endValue}`);
	for (const sample of profile.samples) {
		if (!sample.every((frame) => Number.isInteger(frame) && frame >= 0 && frame < frames.length))
			fail(`${profile.name}: a frame that is not in the file`);
	}
}

function prepare(file, schemaFile, scratch) {
	const bytes = fs.readFileSync(file);
	const view = JSON.parse(bytes);
	const schema = JSON.parse(fs.readFileSync(schemaFile));

	if (!matches(view, schema, schema))
		fail(`${file} does not fit file-format-schema.json`);
	for (const profile of view.profiles)
		profileCheck(profile, view.shared.frames);
	const keys = new Set(view.shared.frames.map((f) => JSON.stringify([f.name, f.file, f.line])));
	if (keys.size !== view.shared.frames.length)
		fail("the file has a frame twice");
	fs.writeFileSync(path.join(scratch, "load.js"), "speedscope.loadFileFromBase64(" +
		`${JSON.stringify(path.basename(file))}, "${bytes.toString("base64")}");\n`);
}

function textOf(html) {
	return html.replace(/<(style|script)[^>]*>[\s\S]*?<\/\1>/g, "").replace(/<[^>]*>/g, "\n")
		.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
		.replaceAll("&nbsp;", " ").replaceAll("&amp;", "&");
}

function judge(file, page, title, ...expected) {
	const view = JSON.parse(fs.readFileSync(file));
	const html = fs.readFileSync(page, "utf8");
	const shown = /<title>([\s\S]*?)<\/title>/.exec(html)?.[1] ?? "";
	const text = textOf(html);

	if (html.includes("Something went wrong"))
		fail("Speedscope shows: Something went wrong");
	if (!textOf(shown).includes(title) || shown === "speedscope")
		fail(`the title is "${shown}", without "${title}"`);
	for (const part of [view.profiles[view.activeProfileIndex].name, ...expected]) {
		if (!text.includes(part))
			fail(`the page does not show "${part}"`);
	}
	console.log(`ok: "${shown}" shows ${view.profiles.length} profiles`);
}

const [step, ...rest] = process.argv.slice(2);
({ prepare, judge })[step](...rest);
