// SPDX-License-Identifier: MIT OR Apache-2.0
// The controls and texts around the graph.

function controlsMake() {
	const { m } = app, { data } = m;
	document.title = shown(data.title, 200);
	byId("title").replaceChildren(nameElement(data.title));
	// The duration of a comparison would be the time from the base to the profile.
	byId("facts").textContent = [data.recorded ? new Date(data.recorded * 1000).toLocaleString() : "",
		m.comparison ? "" : timeText(data.duration), shown(data.exporter)].filter(Boolean).join(" \u00b7 ");
	choicesMake(byId("choice"), data);
	byId("side-label").hidden = byId("difference").hidden = byId("difference").disabled = !m.comparison;
	const times = intervalTimes(m, data.weight === 1 ? "cpu" : "wall");
	byId("interval-label").hidden = !times.length;
	byId("interval").append(element("option", { value: "" }, "all"));
	app.labels = [];
	for (const [label, time] of times.slice(0, labelsMax))
		intervalAdd(label, ` \u2013 ${timeText(time)}`);
	if (times.length > labelsMax)
		byId("interval").append(element("option", { disabled: true }, `\u2026 and ${times.length - labelsMax} more`));
}

// More cannot be looked through.  A link can have any.
const labelsMax = 500;

// The option's value is a number, because a label may be any text.
function intervalAdd(label, time) {
	byId("interval").append(element("option", { value: String(app.labels.length) }, isolated(shown(label, 60)) + time));
	byId("interval-label").hidden = false;
	app.labels.push(label);
}

// Options have no elements inside, so characters isolate their names' direction.
function isolated(text) {
	return `\u2068${text}\u2069`;
}

function choicesMake(select, { groups, tracks }) {
	select.append(element("option", { value: "all" }, "all threads"));
	groups.forEach((group, index) => {
		const name = `${group.base ? "base: " : ""}${isolated(shown(group.name, 60))} (${group.pid})`;
		const own = element("optgroup", { label: name });
		if (groups.length > 1)
			own.append(element("option", { value: `process ${index}` }, `all of ${name}`));
		tracks.forEach((track, i) => {
			if (track.group === index)
				own.append(element("option", { value: `track ${i}` }, isolated(shown(track.name, 60))));
		});
		select.append(own);
	});
}

// Sets the controls to the state.
function controlsShow() {
	const { state } = app;
	for (const key of ["mode", "weight", "colour", "side"])
		byId(key).value = String(state[key]);
	byId("time").disabled = heaviestTrack(state) < 0;
	byId("mode").title = byId("time").disabled ? "Threads that ran at the same time have no view by time." : "";
	byId("choice").value = state.choice.kind === "all" ? "all" : `${state.choice.kind} ${state.choice.index}`;
	if (state.interval !== null && !app.labels.includes(state.interval))
		intervalAdd(state.interval, "");
	byId("interval").value = state.interval === null ? "" : String(app.labels.indexOf(state.interval));
	byId("table").checked = state.table;
	byId("only").checked = state.only;
	if (byId("search").value !== state.search)
		byId("search").value = state.search;
	byId("canvas").setAttribute("aria-label", `Flame graph, ${byId("mode").selectedOptions[0].text}. ` +
		"The table has the same times as text. Arrow keys select frames.");
	byId("search").setAttribute("aria-invalid", String(app.invalid !== ""));
}

// What the search found: "12.3 %, 1.23 s in 4 functions".
function foundShow() {
	const { m, state, weights, matches, inside } = app;
	let text = app.invalid;
	if (matches) {
		const { time, functions } = matchSums(m, weights, matches, inside, state.side);
		text = `${shareText(time, weights.sum[state.side])}, ${timeText(time)} in ${functions} ` +
			(functions === 1 ? "function" : "functions");
	}
	byId("found").textContent = text;
}

// The texts that depend on the selection.
function textsShow() {
	const { state } = app;
	byId("graph").hidden = state.table;
	byId("functions").hidden = !state.table;
	if (state.table)
		tableFill(byId("functions"), app);
	detailsFill(byId("details"), app);
	crumbsShow();
}

const crumbsMax = 40;

function crumbsShow() {
	const { tree, selected, m } = app, crumbs = byId("crumbs"), boxes = [];
	for (let box = Math.max(selected, 0); box > 0 && boxes.length < crumbsMax; box = tree.parent[box])
		boxes.push(box);
	const button = (box, text) => element("button", { type: "button", onclick: () => select(box, true) }, text);
	crumbs.replaceChildren(button(0, "all"));
	if (boxes.length === crumbsMax)
		crumbs.append("\u203a \u2026");
	for (const box of boxes.reverse()) {
		const made = button(box, nameElement(functionName(m, tree.func[box]), 200));
		made.title = shown(functionName(m, tree.func[box]));
		if (box === selected)
			made.setAttribute("aria-current", "true");
		crumbs.append("\u203a", made);
	}
	crumbs.scrollLeft = crumbs.scrollWidth;
}

function legendShow() {
	const { m, state, ranks } = app, legend = byId("legend");
	const swatch = (colour) => {
		const made = element("i", {});
		made.style.background = colour;
		return made;
	};
	if (state.colour === "difference" && state.mode !== "time") {
		legend.replaceChildren(element("small", {}, swatch(grew), "larger share than in the base"),
			element("small", {}, swatch(shrank), "smaller share"));
		return;
	}
	const texts = state.colour === "class" ? m.data.classes : m.data.strings;
	const field = { module: "module", file: "file" }[state.colour];
	legend.replaceChildren(...ranks.map((key, index) => {
		const name = nameElement(texts[key].replace(/^.*\/(?=.)/s, ""), 60);
		return element(field ? "button" : "small", field ? { type: "button", title: `Search ${shown(texts[key])}`,
			onclick: () => change({ search: `${field}:${searchExactly(texts[key])}` }) } : {}, swatch(tints[index]), name);
	}), element("small", {}, swatch(rest), "others"));
}

// Which part is shown.
function rangeShow() {
	const { state, tree, view } = app, whole = rootWidth(), begin = tree.x[0];
	let text = "";
	if (state.mode === "time")
		text = `${timeText(view.left - begin)} to ${timeText(view.right - begin)} of ${timeText(whole)}` +
			(tree.every > 1 ? `, 1 of ${tree.every} samples` : "");
	else if (view.right - view.left < whole)
		text = `${timeText(view.right - view.left)} of ${timeText(whole)}`;
	byId("range").textContent = text;
}

// The selected frame in words, for screen readers.
function announce() {
	const { m, weights, tree, selected, state } = app, box = Math.max(selected, 0);
	const words = boxTimes(m, weights, tree, box, state.mode).map((pair) => pair.join(" ")).join(", ");
	byId("announce").textContent = `${shown(functionName(m, tree.func[box]), 200)}: ${words}`;
}

// Browsers allow only some changes of the address in a second.
let addressTimer = 0;
function addressSoon() {
	if (!addressTimer)
		addressTimer = setTimeout(addressWrite, 250);
}

function addressWrite() {
	const { m, state, view } = app, whole = view.right - view.left >= rootWidth();
	clearTimeout(addressTimer);
	addressTimer = 0;
	state.range = whole || state.at.length && isFitted(app.selected) ? null : [view.left, view.right];
	const hash = stateText(m, state);
	if (hash === app.address)
		return;
	app.address = hash;
	history.replaceState(null, "", `${location.pathname}${location.search}#${hash}`);
}
