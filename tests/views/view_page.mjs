// SPDX-License-Identifier: MIT OR Apache-2.0
//
//	node view_page.mjs DIRECTORY
//
// DIRECTORY has template.html, the page with "DATA" in place of its data.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { browserStart, pageOpen } from "./page_driver.mjs";
import { dataMake, sumsMake, hostileNames } from "./page_data.mjs";

const directory = process.argv[2], pictures = process.env.PICTURES;
const [head, tail] = readFileSync(`${directory}/template.html`, "utf8").split("DATA\n");
const wide = { width: 1600, height: 900 }, narrow = { width: 390, height: 844, mobile: true };

function pageWrite(name, data) {
	const text = gzipSync(JSON.stringify(data)).toString("base64").replace(/.{76}/g, "$&\n");
	writeFileSync(`${directory}/${name}.html`, `${head}${text}\n${tail}`);
	return `file://${directory}/${name}.html`;
}

const browser = await browserStart(directory);
// Opens the page, runs a function on it, and checks that nothing failed and nothing was requested.
async function onPage(name, url, hash, window, check) {
	const page = await pageOpen(browser, hash ? `${url}#${hash}` : url, window);
	await check(page);
	if (pictures)
		await page.picture(`${pictures}/${name}.png`);
	assert.deepEqual(page.errors, [], name);
	assert.deepEqual(page.requests.filter((request) => !request.startsWith(url)), [], `${name}: requests`);
	assert.equal(page.requests.length, 1, `${name}: requests`);
	await page.close();
	console.log(`ok ${name}`);
}

const text = (page, id) => page.value(`document.getElementById("${id}").textContent`);
const hash = async (page) => new URLSearchParams((await page.value("addressWrite(), location.hash")).slice(1));
// The table's rows: [self, share, total, share, ..., name]
const rows = (page) => page.value(`[...document.querySelectorAll("#rows tbody tr")].map((row) =>
	[...row.cells].map((cell) => cell.querySelector("bdi")?.textContent ?? cell.textContent))`);
// Where a box is on the screen: the middle of what is visible of the first box with this name
const place = (page, name) => page.value(`(() => {
	const { tree, view, m } = app, canvas = byId("canvas").getBoundingClientRect();
	for (let box = 1; box < tree.size; box++) {
		if (functionName(m, tree.func[box]) !== "${name}")
			continue;
		const left = Math.max(tree.x[box], view.left);
		const right = Math.min(tree.x[box] + tree.total[tree.side][box], view.right);
		const x = ((left + right) / 2 - view.left) / (view.right - view.left) * canvas.width;
		return [canvas.left + x, canvas.top + (tree.depth[box] + headRows() + 0.5) * rowHeight - byId("scroller").scrollTop];
	}
})()`);

function share(part, whole) {
	return `${(100 * part / whole).toFixed(1)} %`;
}

function seconds(us) {
	return us >= 1e6 ? `${(us / 1e6).toPrecision(3)} s` : `${(us / 1e3).toPrecision(3)} ms`;
}

// Compares the table with sums: { self: Map, total: Map, sum }
function tableIs(found, sums) {
	const expected = [...sums.total.keys()].map((name) => [name, share(sums.self.get(name) || 0, sums.sum),
		share(sums.total.get(name), sums.sum)]);
	assert.deepEqual(found.map((cells) => [cells.at(-1), cells[1], cells[3]]).sort(), expected.sort());
	const selfs = found.map((cells) => sums.self.get(cells.at(-1)) || 0);
	assert.deepEqual(selfs, [...selfs].sort((a, b) => b - a), "the table is sorted by self");
}

try {
	await checks();
} finally {
	await browser.end();
}

async function checks() {
	const data = dataMake({ base: false });
	const url = pageWrite("plain", data);

	// ---- the table has the sums of the samples that are chosen ----
	await onPage("table", url, "table=1", wide, async (page) => {
		for (const [query, choice] of [["", {}], ["weight=cpu", { weight: "cpu" }], ["track=1", { track: 1 }],
			["interval=frame", { interval: "frame" }],
			["interval=inner&weight=cpu&process=0", { interval: "inner", weight: "cpu" }]]) {
			// The page learns of its new address later, by an event, and must not write the old one before.
			await page.value(`new Promise((done) => {
				addressWrite();
				addEventListener("hashchange", () => done(), { once: true });
				location.hash = "table=1&${query}";
			})`);
			await page.frame();
			const sums = sumsMake(data, choice);
			tableIs(await rows(page), sums);
			assert.match(await page.value("document.querySelector('#rows caption').textContent"),
				new RegExp(`all: ${seconds(sums.sum)}`));
		}
	});

	// ---- the whole, by mouse and keyboard ----
	await onPage("whole", url, "", wide, async (page) => {
		const sums = sumsMake(data, { path: ["main", "parse"] });
		assert.equal(await page.value("document.title"), "program");
		assert.match(await page.value("rootName()"), new RegExp(seconds(sums.sum)));
		// The tooltip, a click, the breadcrumbs and the details
		await page.move(...await place(page, "parse"));
		assert.match(await text(page, "tip"),
			new RegExp(`^parse/usr/bin/program, main.c:1\\d.*total: ${seconds(sums.below)}`, "s"));
		await page.click(...await place(page, "parse"));
		assert.equal(await text(page, "crumbs"), "all\u203amain\u203aparse");
		assert.equal(await page.value("isFitted(app.selected)"), true);
		assert.match(await text(page, "details"), new RegExp(`self${seconds(sums.self.get("parse"))}`));
		assert.match(await text(page, "details"), /Lines.*10.*total = <b>0<\/b>;.*Callers.*main.*Callees.*read/s);
		assert.equal((await hash(page)).get("at"), await page.value("boxPath(app.tree, app.selected).join('.')"));
		// Caller, callee, neighbour, the whole
		await page.key("ArrowUp");
		assert.match(await text(page, "crumbs"), /main$/);
		await page.key("ArrowDown");
		await page.key("ArrowRight");
		assert.match(await text(page, "announce"), /^(?!parse|main).*total [\d.]+ m?s/);
		await page.key("Escape");
		assert.equal(await text(page, "crumbs"), "all");
		assert.equal((await hash(page)).size, 0);
		// The wheel and keys zoom, dragging moves, Escape shows the whole.
		const width = () => page.value("app.view.right - app.view.left"), left = () => page.value("app.view.left");
		const whole = await width();
		await page.mouse(500, 300, "mouseWheel");
		const zoomed = await width(), before = await left();
		assert.ok(zoomed < whole);
		await page.mouse(500, 300, "mousePressed");
		await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: 420, y: 300, button: "left", buttons: 1 });
		await page.mouse(420, 300, "mouseReleased");
		assert.ok(await left() > before && Math.abs(await width() - zoomed) < 1);
		assert.equal(await text(page, "crumbs"), "all", "dragging does not select");
		await page.key("+", "+");
		assert.ok(await width() < zoomed);
		await page.key("0", "0");
		assert.equal(await width(), whole);
	});

	// ---- search ----
	await onPage("search", url, "", wide, async (page) => {
		const sums = sumsMake(data, {}, /^re/);
		await page.key("/", "/");
		await page.type("^RE");
		assert.equal(await text(page, "found"), `${share(sums.matched, sums.sum)}, ${seconds(sums.matched)} in 2 functions`);
		assert.equal((await hash(page)).get("search"), "^RE");
		await page.value("byId('only').click()");
		await page.frame();
		assert.equal(await page.value("app.tree.total[0][0]"), sums.matched);
		await page.type("(");
		assert.equal(await page.value("byId('search').getAttribute('aria-invalid')"), "true");
		assert.match(await text(page, "found"), /Invalid regular expression/);
		await page.key("Escape");
		assert.equal(await text(page, "found"), "");
		assert.equal(await page.value("app.tree.total[0][0]"), sums.sum);
		// "module:" is no field in front of another colon.
		assert.equal(await page.value("searchMatches(app.m, 'module::x|parse').includes(1)"), true);
		assert.equal(await page.value("searchMatches(app.m, 'module:program').includes(1)"), true);
		// The legend searches for a module.
		await page.value("document.querySelector('#legend button').click()");
		await page.frame();
		assert.match((await hash(page)).get("search"), /^module:\^\\\/usr\\\/bin\\\/program\$$/);
	});

	// ---- inverted, by time ----
	await onPage("inverted", url, "mode=inverted&search=read&at=3", wide, async (page) => {
		const sums = sumsMake(data, {}), [name, time] = [...sums.self].sort((a, b) => b[1] - a[1])[0];
		assert.equal(await page.value("functionName(app.m, app.tree.func[1])"), name);
		assert.equal(await page.value("app.tree.total[0][1]"), time);
		assert.equal(await text(page, "crumbs"), `all\u203a${data.strings[data.functions.name[3]]}`);
	});
	await onPage("time", url, "mode=time&track=1", wide, async (page) => {
		// The samples of track 1, one after the other, at their times
		const { node, end, wall } = data.tracks[1];
		let at = 0;
		for (let i = 0; i < node.length; i++) {
			at += end[i];
			const stack = [];
			for (let n = node[i]; n >= 0; n = data.nodes.parent[n])
				stack.unshift(data.frames.function[data.nodes.frame[n]]);
			if (i % 7 === 0 && stack.length)
				assert.deepEqual(await page.value(`boxPath(app.tree, boxAt(app.tree, ${stack.length}, ${at - wall[i] / 2}))`),
					stack);
		}
		assert.equal(await page.value("app.intervals.rows"), 2);
		await page.move(20, await page.value("byId('canvas').getBoundingClientRect().top + 1.5 * rowHeight"));
		assert.match(await text(page, "tip"), /^frame/);
	});

	// ---- a comparison ----
	const compared = dataMake({ base: true }), comparedUrl = pageWrite("compared", compared);
	await onPage("comparison", comparedUrl, "", wide, async (page) => {
		const path = ["main", "parse"], now = sumsMake(compared, { path });
		const base = sumsMake(compared, { base: true, path });
		await page.move(...await place(page, "parse"));
		const difference = 100 * (now.below / now.sum - base.below / base.sum);
		assert.match(await text(page, "tip"), new RegExp(`total: ${seconds(now.below)}.*base ` +
			`${seconds(base.below)}.*difference .?${Math.abs(difference).toFixed(1)} %`));
		await page.key("t", "t");
		tableIs(await rows(page), now);
		assert.match(await text(page, "functions"),
			new RegExp(` functions; base: ${seconds(base.sum)}; new: ${seconds(now.sum)}, [+-]?[\\d.]+ %\\.`));
		assert.match(await text(page, "details"), /^Select a function/);
		await page.value("change({ search: 'no such function' })");
		assert.match(await text(page, "functions"), /No function matches;/);
		await page.value("change({ search: '^parse$' })");
		assert.match(await text(page, "functions"), /1 function;/);
		await page.value("change({ search: '' })");
		await page.value("change({ side: 1 })");
		tableIs(await rows(page), base);
		await page.key("t", "t");
		assert.equal((await hash(page)).toString(), "base=1");
		assert.equal(await page.value("rootWidth()"), base.sum);
		// The base's process has another name.
		assert.equal(await page.value("tracksChosen(app.m, { kind: 'process', index: 1 }).join()"), "2,2,1,1");
		assert.equal(await page.value("tracksChosen(app.m, { kind: 'track', index: 2 }).join()"), "2,0,1,0");
		// Threads without a name have their ids.
		await page.value("app.m.data.tracks.forEach((track) => track.name = 'thread ' + track.tid)");
		assert.equal(await page.value("tracksChosen(app.m, { kind: 'track', index: 3 }).join()"), "0,2,0,1");
		// A view by time has a thread of the base only if that is chosen.
		const sum = (track) => track.wall.reduce((a, b) => a + b);
		assert.ok(sum(compared.tracks[0]) > sum(compared.tracks[3]));
		await page.value("app.m.data.tracks[2].overlaps = true, change({ choice: { kind: 'all' }, mode: 'time' })");
		assert.equal((await hash(page)).get("track"), "3");
		await page.value("change({ choice: { kind: 'track', index: 0 } })");
		assert.equal(await page.value("app.state.mode"), "time");
		// Threads that ran at the same time have none.
		await page.value("change({ choice: { kind: 'track', index: 2 } })");
		assert.equal(await page.value("app.state.mode + byId('time').disabled"), "mergedtrue");
	});

	// ---- untrusted names, a narrow window, a deep stack ----
	const hostile = dataMake({ base: false, names: hostileNames, deep: 3000 }), hostileUrl = pageWrite("hostile", hostile);
	for (const [name, query] of [["narrow", ""], ["narrow table", "table=1&function=2"], ["narrow time", "mode=time"]])
		await onPage(name, hostileUrl, query, { ...narrow, dark: name !== "narrow" }, async (page) => {
			await page.move(60, 420);
			await page.click(60, 420);
			assert.equal(await page.value("globalThis.harmed"), undefined);
			assert.equal(await page.value("document.querySelectorAll('img, iframe, script[src], main script').length"), 0);
			assert.ok(await page.value("document.documentElement.scrollWidth") <= 390, "the page is wider than the window");
			const all = await page.value("document.body.innerText + document.title");
			assert.doesNotMatch(all, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066\u2067]/);
		});
	await onPage("hostile", hostileUrl, "function=2", wide, async (page) => {
		assert.match(await text(page, "details"), /<script>harmed = 1<\/script>/);
		const rowsShown = await page.value("Math.floor(parseFloat(byId('space').style.height) / rowHeight)");
		assert.ok(rowsShown >= 3000, `${rowsShown} rows`);
		await page.value("byId('scroller').scrollTop = 20000");
		await page.frame();
		assert.equal(await page.value("app.view.scroll"), 20000);
	});

	// ---- many intervals inside of each other ----
	const nested = dataMake({ base: false }), { label, parent } = nested.paths;
	for (let i = 0; i < 100000; i++) {
		if (i < 600)
			nested.strings.push(`interval ${i}`);
		parent.push(i ? label.length - 1 : -1);
		label.push(nested.strings.indexOf("interval 0") + i % 600);
	}
	nested.tracks[0].path.fill(label.length - 1);
	const nestedUrl = pageWrite("nested", nested);
	await onPage("nested", nestedUrl, "interval=interval+599", wide, async (page) => {
		const wall = nested.tracks[0].wall.reduce((a, b) => a + b), options = "[...byId('interval').options]";
		assert.equal(await page.value("rootWidth()"), wall);
		assert.equal(await page.value("byId('interval').selectedOptions[0].text"), "\u2068interval 599\u2069");
		assert.match(await page.value(`${options}.at(-2).text`), /^\u2026 and 10\d more$/);
		assert.match(await page.value(`${options}[1].text`),
			new RegExp(`^\u2068interval \\d+\u2069 \u2013 ${seconds(wall)}$`));
	});

	// ---- damaged data ----
	writeFileSync(`${directory}/damaged.html`, `${head}AAAA\n${tail}`);
	await onPage("damaged", `file://${directory}/damaged.html`, "", wide, async (page) => {
		assert.match(await page.value("document.body.innerText"), /cannot be shown/);
	});
}
