// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files for Speedscope, and the real Speedscope in a Chromium without a window.  RELEASE is Speedscope's directory
// dist/release.
//   check RELEASE FILE...           checks the files against Speedscope's schema, and against further rules
//   show RELEASE DIR PAGE=OUT...    opens each page in the same browser, and writes what it shows.  PAGE is the number of
//                                   a profile of a file for Speedscope, FILE@NUMBER, whose table of functions is shown;
//                                   or it is a page of `vgtool view`, FILE.html#PART
//   judge FILE@NUMBER OUT TITLE [TEXT...]   fails unless that output of `show` has the title and the texts
//   picture RELEASE DIR FILE PNG    takes a picture of the flame graph
import fs from "node:fs";
import path from "node:path";
import { browserStart, pageOpen, webgl } from "./page_driver.mjs";

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

function read(file, release) {
	const view = JSON.parse(fs.readFileSync(file));
	const schema = JSON.parse(fs.readFileSync(path.join(release, "file-format-schema.json")));

	if (!matches(view, schema, schema))
		fail(`${file} does not fit file-format-schema.json`);
	for (const profile of view.profiles)
		profileCheck(profile, view.shared.frames);
	const keys = new Set(view.shared.frames.map((f) => JSON.stringify([f.name, f.file, f.line])));
	if (keys.size !== view.shared.frames.length)
		fail(`${file} has a frame twice`);
	return view;
}

let scripts = 0;
// Writes the script with which the page loads one profile of the file, and returns the page's address.
function address(release, directory, file, number, view) {
	const data = { ...read(file, release), activeProfileIndex: number }, script = `${directory}/load.${++scripts}.js`;

	fs.writeFileSync(script, "speedscope.loadFileFromBase64(" +
		`${JSON.stringify(path.basename(file))}, "${Buffer.from(JSON.stringify(data)).toString("base64")}");\n`);
	return `file://${fs.realpathSync(release)}/index.html#view=${view}&localProfilePath=${script}`;
}

async function show(release, directory, ...pages) {
	const browser = await browserStart(directory, webgl);

	try {
		for (const [, input, out] of pages.map((page) => /^(.*)=(.*?)$/.exec(page))) {
			const [, file, number] = /^(.*)@(\d+)$/.exec(input) ?? [];
			// Speedscope's rows have times with shares, and our page's table a caption.
			const page = file !== undefined ?
				await pageOpen(browser, address(release, directory, file, Number(number), "sandwich"), { width: 1600,
					height: 3000, drawn: "document.documentElement?.outerHTML.includes('%)<')" }) :
				await pageOpen(browser, `file://${input}`, { width: 1600, height: 1000,
					drawn: "document.querySelector('caption')?.textContent.includes('functions')" });
			let html = "", last;

			// Each page draws what fits into the window when it knows the window's size.
			do {
				last = html;
				await page.frame();
				html = await page.value("document.documentElement.outerHTML");
			} while (html !== last);
			fs.writeFileSync(out, html);
			await page.close();
		}
	} finally {
		await browser.end();
	}
}

// A picture counts if it is the same twice, and larger than one of the page without a profile.
async function picture(release, directory, file, png) {
	const browser = await browserStart(directory, webgl);

	try {
		const page = await pageOpen(browser, address(release, directory, file, 0, "left-heavy"), { width: 900,
			height: 400, scale: 2, drawn: "document.querySelector('canvas') !== null" });
		const end = Date.now() + 3000000;

		for (let last = Buffer.alloc(0); ;) {
			await page.frame();
			await page.picture(png);
			const now = fs.readFileSync(png);
			if (now.equals(last) && now.length >= 20000)
				break;
			if (Date.now() > end)
				fail(`${png}: the picture of ${file} has ${now.length} bytes; expected 20000 or more, twice the same`);
			last = now;
		}
	} finally {
		await browser.end();
	}
}

function textOf(html) {
	return html.replace(/<(style|script)[^>]*>[\s\S]*?<\/\1>/g, "").replace(/<[^>]*>/g, "\n")
		.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
		.replaceAll("&nbsp;", " ").replaceAll("&amp;", "&");
}

function judge(input, page, title, ...expected) {
	const [, file, number] = /^(.*)@(\d+)$/.exec(input);
	const view = JSON.parse(fs.readFileSync(file));
	const html = fs.readFileSync(page, "utf8");
	const shown = /<title>([\s\S]*?)<\/title>/.exec(html)?.[1] ?? "";
	const text = textOf(html);

	if (html.includes("Something went wrong"))
		fail("Speedscope shows: Something went wrong");
	if (!textOf(shown).includes(title) || shown === "speedscope")
		fail(`the title is "${shown}", without "${title}"`);
	for (const part of [view.profiles[number].name, ...expected]) {
		if (!text.includes(part))
			fail(`the page does not show "${part}"`);
	}
	console.log(`ok: "${shown}" shows ${view.profiles.length} profiles`);
}

const [step, ...rest] = process.argv.slice(2);
const check = (release, ...files) => files.forEach((file) => read(file, release));
await ({ check, show, judge, picture })[step](...rest);
