// SPDX-License-Identifier: MIT OR Apache-2.0
// The texts about a box and a function: tooltip, details, callers and callees, source lines.

function functionText(m, func, what) {
	const index = m.data.functions[what][func];
	return index < 0 ? "" : what === "class" ? m.data.classes[index] : m.data.strings[index];
}

function functionName(m, func) {
	return func < 0 ? "all" : functionText(m, func, "name");
}

// "12.3 ms, 4.5 %"
function timeShare(time, sum) {
	return `${timeText(time)}, ${shareText(time, sum)}`;
}

// A time with its share; in a comparison also the base's, and the difference of the shares.
function comparedTime(m, w, time) {
	const own = timeShare(time[0], w.sum[0]);
	return m.comparison ? `${own}; base ${timeShare(time[1] || 0, w.sum[1])}; ` +
		`difference ${differenceText(shareDifference(w, time))}` : own;
}

// The time of everything; in a comparison that of both sides.
function sumsText(m, w) {
	const [own, base] = w.sum;
	if (!m.comparison)
		return `all: ${timeText(own)}`;
	return `base: ${timeText(base)}; new: ${timeText(own)}` +
		(base > 0 ? `, ${differenceText(own / base - 1)}` : "");
}

function shareDifference(w, time) {
	return (w.sum[0] > 0 ? time[0] / w.sum[0] : 0) - (w.sum[1] > 0 ? (time[1] || 0) / w.sum[1] : 0);
}

// The times of a box, as pairs of names and texts.
function boxTimes(m, w, t, box, mode) {
	if (mode === "time")
		return [["lasted", timeText(t.total[0][box])], ["from", timeText(t.x[box] - t.x[0])]];
	const pair = (column) => [column[0][box], column[1][box]];
	const rows = [[mode === "inverted" ? "time" : "total", comparedTime(m, w, pair(t.total))]];
	if (mode === "merged" && box)
		rows.push(["self", comparedTime(m, w, pair(t.self))]);
	return rows;
}

function tipFill(tip, m, w, t, box, mode) {
	const func = t.func[box];
	tip.replaceChildren(element("b", {}, nameElement(functionName(m, func), 400)));
	if (func >= 0)
		tip.append(element("div", { className: "faint" }, nameElement(placeText(m, func, boxLines(t, box)))));
	tip.append(...boxTimes(m, w, t, box, mode).map(([name, text]) => element("div", {}, `${name}: ${text}`)));
}

// The lines of a box's nodes: ":12", ":12-40", or nothing.  A box of a large profile may have very many nodes, so the
// first ones have to do.
function boxLines(t, box) {
	let least = Infinity, most = 0;
	for (let i = t.itemFirst[box]; t.items && i < Math.min(t.itemEnd[box], t.itemFirst[box] + 10000); i++) {
		const line = t.m.data.frames.line[t.m.frame[t.items[i]]];
		if (line > 0) {
			least = Math.min(least, line);
			most = Math.max(most, line);
		}
	}
	return most === 0 ? "" : least === most ? `:${most}` : `:${least}-${most}`;
}

// "module, file:line": where a function is, in short
function placeText(m, func, lines = "") {
	const file = functionText(m, func, "file").replace(/^.*\/(?=.)/s, "");
	return [functionText(m, func, "module"), file && file + lines].filter(Boolean).join(", ") ||
		functionText(m, func, "class");
}

function detailsFill(panel, app) {
	const { m, weights: w, state } = app;
	panel.className = state.func < 0 ? "empty" : "";
	if (state.func < 0) {
		panel.replaceChildren(...helpElements(state.table));
		return;
	}
	const func = state.func, sums = app.sums();
	const list = element("dl", {});
	const row = (name, text) => text && list.append(element("dt", {}, name), element("dd", {}, nameElement(text)));
	row("module", functionText(m, func, "module"));
	row("file", functionText(m, func, "file"));
	row("kind", functionText(m, func, "class"));
	for (const what of ["self", "total"])
		row(what, comparedTime(m, w, [sums[what][0][func], sums[what][1][func]]));
	panel.replaceChildren(element("h2", {}, nameElement(functionName(m, func))), list);
	if (app.selected > 0 && app.tree.func[app.selected] === func) {
		const box = element("dl", {});
		for (const [name, text] of boxTimes(m, w, app.tree, app.selected, state.mode))
			box.append(element("dt", {}, name), element("dd", {}, text));
		panel.append(element("h2", {}, "This frame"), box);
	}
	const { callers, callees } = functionNeighbours(m, w, func);
	panel.append(linesTable(m, w, func));
	panel.append(...neighbourTable(app, "Callers", callers), ...neighbourTable(app, "Callees", callees));
}

const neighboursMax = 30;

function neighbourTable(app, title, rows) {
	const { m, weights: w, state } = app, side = state.side;
	if (!rows.length)
		return [];
	const table = element("table", {});
	for (const { func, time } of rows.slice(0, neighboursMax)) {
		const name = element("td", { className: "name" });
		if (func < 0)
			name.append("(none: outermost frame)");
		else
			name.append(element("button", { type: "button", onclick: () => app.functionShow(func) },
				nameElement(functionName(m, func), 300)));
		const cells = [timeText(time[side]), shareText(time[side], w.sum[side])];
		if (m.comparison)
			cells.push(differenceText(shareDifference(w, time)));
		table.append(element("tr", {}, ...cells.map((text) => element("td", {}, text)), name));
	}
	const more = rows.length > neighboursMax ? ` (${neighboursMax} of ${rows.length})` : "";
	return [element("h2", {}, title + more), table];
}

// The lines with samples; with their texts, and those around them, if the data have texts.
function linesTable(m, w, func) {
	const lines = functionLines(m, w, func), texts = sourceLines(m, m.data.functions.file[func]);
	const known = lines.filter(({ line }) => line > 0);
	if (!known.length)
		return "";
	const sums = new Map(lines.map((line) => [line.line, line]));
	const first = known[0].line - 4, last = known[known.length - 1].line + 4;
	const around = Object.keys(texts).map(Number).filter((line) => line >= first && line <= last);
	const numbers = [...new Set([...sums.keys(), ...around])].sort((a, b) => a - b).slice(0, 1000);
	// Without the indentation that all lines have.
	const codes = new Map(numbers.map((number) =>
		[number, Object.hasOwn(texts, number) ? texts[number].replaceAll("\t", "    ") : ""]));
	const indent = [...codes.values()].filter((code) => code.trim())
		.reduce((least, code) => Math.min(least, code.search(/\S/)), 1000);
	const head = ["line", "self", "total"].map((text) => element("th", { scope: "col" }, text));
	const table = element("table", {}, element("thead", {}, element("tr", {}, ...head, element("th", {}))));
	for (const number of numbers) {
		const line = sums.get(number);
		const cells = [number || "?", line ? timeText(line.self) : "", line ? timeText(line.total) : ""];
		const code = codes.get(number).slice(indent);
		table.append(element("tr", {}, ...cells.map((text) => element("td", {}, String(text))),
			element("td", { className: "code", title: shown(code) }, element("bdi", {}, shown(code)))));
	}
	return element("section", {}, element("h2", {}, "Lines"), table);
}

function helpElements(isTable) {
	const keys = [["Enter", "zoom to the selected frame"], ["+ \u2212", "zoom in, out"],
		["\u2191 \u2193", "caller, callee"], ["\u2190 \u2192", "neighbour"], ["0", "show all (also Escape)"],
		["/", "search"], ["t", isTable ? "graph" : "table"]].slice(isTable ? -2 : 0);
	const list = element("dl", { id: "keys" });
	for (const [key, text] of keys)
		list.append(element("dt", {}, element("kbd", {}, key)), element("dd", {}, text));
	return [element("h2", {}, isTable ? "Select a function" : "Select a frame"),
		element("p", {}, isTable ? "Click its name." : "Click a frame to zoom to it. The wheel zooms at the pointer; " +
			"with Shift it scrolls. Drag to move. Widths are times."),
		list];
}
