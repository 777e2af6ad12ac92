// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of functions: what the graph shows, as text.

const tableRows = 200;

// The functions of the table, sorted: those with time, and with a search those that match.
function tableFunctions(app, sort) {
	const { m, weights: w, matches } = app, sums = app.sums();
	const value = sort === "difference" ?
		(f) => Math.abs(shareDifference(w, [sums.total[0][f], sums.total[1][f]])) : (f) => sums[sort][app.state.side][f];
	const found = [];
	for (let f = 0; f < m.functions; f++)
		if ((sums.total[0][f] > 0 || sums.total[1][f] > 0) && (!matches || matches[f]))
			found.push(f);
	const other = sums.total[app.state.side];
	return found.sort((a, b) => value(b) - value(a) || other[b] - other[a] || a - b);
}

function tableFill(panel, app) {
	const { m, weights: w, state } = app, sums = app.sums(), side = state.side;
	const found = tableFunctions(app, app.sort), columns = [["self", "Self"], ["total", "Total"]];
	if (m.comparison)
		columns.push(["difference", "Difference"]);
	const head = element("tr", {});
	for (const [key, title] of columns) {
		const cell = element("th", { scope: "col", colSpan: key === "difference" ? 1 : 2 }, element("button", {
			type: "button", onclick: () => app.sortBy(key) }, title + (app.sort === key ? " \u25be" : "")));
		if (app.sort === key)
			cell.setAttribute("aria-sort", "descending");
		head.append(cell);
	}
	head.append(element("th", { scope: "col", className: "name" }, "Function"));
	const body = element("tbody", {});
	for (const f of found.slice(0, tableRows)) {
		const cells = [];
		for (const what of ["self", "total"])
			cells.push(timeText(sums[what][side][f]), shareText(sums[what][side][f], w.sum[side]));
		if (m.comparison)
			cells.push(differenceText(shareDifference(w, [sums.total[0][f], sums.total[1][f]])));
		const place = placeText(m, f);
		const row = element("tr", {}, ...cells.map((text) => element("td", {}, text)),
			element("td", { className: "name" }, element("button", { type: "button", onclick: () => app.functionShow(f) },
				nameElement(functionName(m, f), 300)), " ", element("small", { className: "faint" }, nameElement(place))));
		row.setAttribute("aria-selected", String(f === state.func));
		body.append(row);
	}
	const count = found.length > tableRows ? `The ${tableRows} first of ${found.length} functions` :
		found.length === 0 && app.matches ? "No function matches" :
		found.length === 1 ? "1 function" : `${found.length} functions`;
	panel.replaceChildren(element("table", { id: "rows" },
		element("caption", {}, `${count}; ${sumsText(m, w)}.`), element("thead", {}, head), body));
}
