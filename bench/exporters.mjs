// SPDX-License-Identifier: MIT OR Apache-2.0
// exporters.mjs DIRECTORY PAGE.html: opens the page of vgtool view in Chromium.  Prints the seconds until it is drawn,
// and the 0.95 quantiles of the milliseconds that frames take while it zooms and while it searches, by Chromium's trace.
//
// A frame takes what the tasks of the page's thread take from one animation frame to the next.
import { browserStart, pageOpen } from "../tests/views/page_driver.mjs";

const [directory, file] = process.argv.slice(2);
const browser = await browserStart(directory);

async function frames(page, act) {
	const events = [];
	const complete = new Promise((resolve) => browser.listeners.push(({ method, params }) => {
		if (method === "Tracing.dataCollected")
			events.push(...params.value);
		else if (method === "Tracing.tracingComplete")
			resolve();
	}));
	await browser.send("Tracing.start", { transferMode: "ReportEvents",
		traceConfig: { includedCategories: ["devtools.timeline", "toplevel", "disabled-by-default-devtools.timeline"] } });
	await act();
	await browser.send("Tracing.end");
	await complete;
	browser.listeners.pop();
	const drawn = events.filter(({ name }) => name === "FireAnimationFrame").sort((a, b) => a.ts - b.ts);
	const tasks = events.filter(({ name, pid, tid, dur }) =>
		name.endsWith("RunTask") && dur && pid === drawn[0].pid && tid === drawn[0].tid);
	const times = drawn.map(({ ts }, i) => tasks.filter((task) => task.ts <= ts && task.ts > (drawn[i - 1]?.ts ?? 0))
		.reduce((sum, { dur }) => sum + dur / 1000, 0));
	return times.sort((a, b) => a - b)[Math.floor(0.95 * (times.length - 1))];
}

try {
	const page = await pageOpen(browser, `file://${file}`, { width: 1600, height: 900 });
	const opened = await page.value("Number(document.documentElement.dataset.drawn)") / 1000;
	const zoom = await frames(page, async () => {
		for (let i = 0; i < 40; i++)
			await page.mouse(200 + 20 * i, 300, "mouseWheel");
		for (let i = 0; i < 20; i++) {
			await page.key("0", "0");
			await page.click(100 + 40 * i, 200 + 10 * i);
		}
	});
	await page.key("0", "0");
	await page.key("/", "/");
	const search = await frames(page, () => page.type("function.*[13579]$"));
	console.log(opened.toFixed(2), zoom.toFixed(1), search.toFixed(1));
} finally {
	await browser.end();
}
