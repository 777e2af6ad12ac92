// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Opens a page in a Chromium without a window, and controls it by the DevTools protocol: through two pipes, so that
// no port is needed.
//
//	const browser = await browserStart(directory);
//	const page = await pageOpen(browser, "file:///...", { width: 1600, height: 900 });
//	await page.value("document.title");
//	await browser.end();
import { spawn } from "node:child_process";
import { openSync, writeFileSync } from "node:fs";

// The bound is for a browser that hangs, as life_s in tests/lib.sh: on a busy machine a drawing can take minutes.
const deadline_ms = 3000000;

// Speedscope draws by WebGL.
export const webgl = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
	"--allow-file-access-from-files"];

export async function browserStart(directory, options = ["--disable-gpu"]) {
	const log = openSync(`${directory}/chromium.log`, "w");
	const child = spawn("chromium", ["--headless", "--no-sandbox", "--remote-debugging-pipe", ...options,
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
		"--disable-dev-shm-usage", `--user-data-dir=${directory}/profile`, "about:blank"],
		{ stdio: ["ignore", log, log, "pipe", "pipe"] });
	const waiting = new Map(), listeners = [];
	let text = "", number = 0;
	child.stdio[4].setEncoding("utf8");
	child.stdio[4].on("data", (part) => {
		const messages = (text + part).split("\0");
		text = messages.pop();
		for (const message of messages.map((json) => JSON.parse(json))) {
			waiting.get(message.id)?.(message);
			waiting.delete(message.id);
			for (const listener of listeners)
				listener(message);
		}
	});
	const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
		const id = ++number;
		const late = setTimeout(() => reject(new Error(`no answer to ${method}`)), deadline_ms);
		waiting.set(id, (message) => {
			clearTimeout(late);
			if (message.error)
				reject(new Error(`${method}: ${message.error.message}`));
			else
				resolve(message.result);
		});
		child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
	});
	const ended = new Promise((resolve) => child.on("exit", resolve));
	process.on("exit", () => child.kill());
	for (const signal of ["SIGTERM", "SIGINT"])
		process.on(signal, () => process.exit(1));
	const end = async () => {
		send("Browser.close").catch(() => {});
		await ended;
	};
	return { send, listeners, end };
}

const pageDrawn = "document.documentElement?.dataset.drawn > 0 || document.querySelector('.error') !== null";

// Opens an address and waits until the page has shown its data.
export async function pageOpen(browser, url,
	{ width, height, dark = false, mobile = false, scale = mobile ? 2 : 1, drawn = pageDrawn }) {
	const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
	const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
	const send = (method, params) => browser.send(method, params, sessionId);
	const page = { send, requests: [], errors: [], targetId };
	browser.listeners.push((message) => {
		if (message.sessionId !== sessionId)
			return;
		if (message.method === "Network.requestWillBeSent")
			page.requests.push(message.params.request.url);
		if (message.method === "Runtime.exceptionThrown")
			page.errors.push(message.params.exceptionDetails.exception?.description);
		if (message.method === "Log.entryAdded" && message.params.entry.level === "error")
			page.errors.push(message.params.entry.text);
		if (message.method === "Page.javascriptDialogOpening")
			page.errors.push("a dialog opened");
	});
	page.value = async (expression) => {
		const { result, exceptionDetails } = await send("Runtime.evaluate",
			{ expression, awaitPromise: true, returnByValue: true });
		if (exceptionDetails)
			throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
		return result.value;
	};
	page.until = async (expression) => {
		for (const end = Date.now() + deadline_ms; Date.now() < end;) {
			if (await page.value(expression))
				return;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
		throw new Error(`not in time: ${expression}`);
	};
	// Two frames: what was asked for in the first one is drawn in the second.
	page.frame = () => page.value(
		"new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))");
	page.key = async (key, text) => {
		for (const type of ["keyDown", "keyUp"])
			await send("Input.dispatchKeyEvent", { type, key, ...type === "keyDown" && text ? { text } : {} });
		await page.frame();
	};
	page.type = async (text) => {
		for (const letter of text)
			await page.key(letter, letter);
	};
	page.mouse = async (x, y, ...types) => {
		for (const type of types)
			await send("Input.dispatchMouseEvent", { type, x, y,
				...type === "mouseWheel" ? { deltaX: 0, deltaY: -300 } : { button: "left", clickCount: 1,
					buttons: type === "mouseReleased" ? 0 : 1 } });
		await page.frame();
	};
	page.move = async (x, y) => {
		await send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
		await page.frame();
	};
	page.click = (x, y) => page.mouse(x, y, "mousePressed", "mouseReleased");
	page.picture = async (file) => {
		const { data } = await send("Page.captureScreenshot", { format: "png" });
		writeFileSync(file, Buffer.from(data, "base64"));
	};
	page.close = () => browser.send("Target.closeTarget", { targetId });
	for (const domain of ["Page", "Network", "Runtime", "Log"])
		await send(`${domain}.enable`);
	await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile });
	const scheme = { name: "prefers-color-scheme", value: dark ? "dark" : "light" };
	await send("Emulation.setEmulatedMedia", { features: [scheme] });
	await send("Page.navigate", { url });
	await page.until(drawn);
	await page.frame();
	return page;
}
