// SPDX-License-Identifier: MIT OR Apache-2.0
// The page's parts together.  `state` says what is shown; each change of it makes anew what depends on it.

const app = {
	m: null, state: null,
	weights: null,                  // weightsMake() of the chosen samples
	sumsMade: null,                 // functionSums() of the weights, when needed
	tree: null, intervals: null,        // what the graph shows
	view: { left: 0, right: 1, scroll: 0 },
	selected: -1,                   // box of the tree
	matches: null, inside: null,    // by function and node; null without a search
	ranks: [], ranksBy: {}, colours: null,
	sort: "self",
	rows: 0,
	sums: () => app.sumsMade || (app.sumsMade = functionSums(app.m, app.weights)),
};

// Changes the state and shows it.
function change(changes) {
	const old = app.state, state = app.state = { ...old, ...changes };
	const differs = (...keys) => keys.some((key) => state[key] !== old[key]);
	threadSettle(state);
	const searched = differs("search"), filtered = differs("only") || searched && (state.only || old.only);
	if (searched)
		search();
	const weighed = differs("choice", "weight", "interval") || filtered;
	if (weighed)
		weigh();
	if (weighed || differs("mode", "side"))
		treeShow(state.at, !differs("mode", "choice"));
	if (searched || differs("colour", "mode"))
		colour();
	if (weighed || searched || differs("side"))
		foundShow();
	controlsShow();
	if (weighed || differs("func", "side", "table", "mode") || searched && state.table)
		textsShow();
	redraw();
}

// Everything anew, for a new address.
function showAll(state) {
	app.state = state;
	threadSettle(state);
	search();
	weigh();
	treeShow(state.at, false);
	if (state.range)
		viewSet(state.range[0], state.range[1]);
	colour();
	foundShow();
	controlsShow();
	textsShow();
	redraw();
}

// A view by time has one thread: the one with the most time, if none is chosen.
function threadSettle(state) {
	if (state.mode === "time" && heaviestTrack(state) < 0)
		[state.mode, state.range] = ["merged", null];
	else if (state.mode === "time" && state.choice.kind !== "track")
		state.choice = { kind: "track", index: heaviestTrack(state) };
}

// The thread with the most time among the chosen ones that have a view by time, or -1.  A thread of the base has to be
// chosen.
function heaviestTrack(state) {
	const { tracks, groups } = app.m.data, { kind, index } = state.choice;
	let best = -1;
	tracks.forEach((track, i) => {
		const chosen = kind === "all" ? !groups[track.group].base : index === (kind === "track" ? i : track.group);
		if (!chosen || track.overlaps)
			return;
		if (best < 0 || track.sum[state.weight] > tracks[best].sum[state.weight])
			best = i;
	});
	return best;
}

function search() {
	try {
		app.matches = searchMatches(app.m, app.state.search);
		app.invalid = "";
	} catch (error) {
		app.matches = null;
		app.invalid = error.message;
	}
	app.inside = app.matches && matchingNodes(app.m, app.matches);
}

function weigh() {
	const { m, state } = app;
	app.paths = state.interval === null ? null : pathsWith(m, state.interval);
	app.weights = weightsMake(m, tracksChosen(m, state.choice), state.weight, app.paths, state.only ? app.inside : null);
	app.sumsMade = null;
}

// Makes the tree, and finds the selected frame in it.  keep: whether to show the same part of the width as before.
function treeShow(at, keep) {
	const { m, weights, state } = app, fits = app.tree && app.selected >= 0 && isFitted(app.selected);
	const before = app.view;
	if (state.mode === "time") {
		const track = m.data.tracks[state.choice.index];
		app.tree = timeTree(m, track, app.paths, state.only ? app.inside : null);
		app.intervals = trackIntervals(m, state.choice.index);
	} else {
		app.tree = (state.mode === "merged" ? mergedTree : invertedTree)(m, weights, state.side);
		app.intervals = null;
	}
	const found = at.length && state.mode !== "time" ? boxFind(app.tree, at) : 0;
	app.selected = found || -1;
	viewSet(app.tree.x[0], app.tree.x[0] + rootWidth());
	if (keep && state.mode === "time")
		viewSet(before.left, before.right);
	else if (found && (fits || !keep))
		viewFit(found);
}

function rootWidth() {
	return app.tree.total[app.tree.side][0] || 1;
}

function colour() {
	const by = app.state.colour;
	app.ranks = app.ranksBy[by] || (app.ranksBy[by] = colourRanks(app.m, by));
	app.colours = colourTable(app.m, app.state.colour, app.ranks, app.matches);
	legendShow();
}

// A box's colour in a comparison: red if its share grew, blue if it shrank.
function comparedColour(box) {
	const { tree, matches, weights } = app;
	const own = differenceColour(shareDifference(weights, [tree.total[0][box], tree.total[1][box]]));
	if (!matches)
		return own;
	return matches[tree.func[box]] ? pixel(marked) : mixed(own, pixel(isDark() ? "#1b1d21" : "#ffffff"), 0.7);
}

// ---- the part of the width that is shown ----

function viewSet(left, right) {
	const begin = app.tree.x[0], whole = rootWidth();
	const width = Math.min(whole, Math.max(right - left, Math.min(whole, 1)));
	app.view.left = Math.min(Math.max(left, begin), begin + whole - width);
	app.view.right = app.view.left + width;
}

function viewFit(box) {
	viewSet(app.tree.x[box], app.tree.x[box] + app.tree.total[app.tree.side][box]);
}

function isFitted(box) {
	const { tree, view } = app;
	return box > 0 && tree.x[box] === view.left && tree.x[box] + tree.total[tree.side][box] === view.right;
}

// factor below 1 zooms in; `at` stays where it is
function viewZoom(factor, at) {
	const { left, right } = app.view;
	viewSet(at - (at - left) * factor, at + (right - at) * factor);
	redraw();
}

function headRows() {
	return app.intervals ? app.intervals.rows + 1 : 0;
}

// ---- drawing, at most once per frame of the screen ----

let drawing = 0;
function redraw() {
	if (!drawing)
		drawing = requestAnimationFrame(draw);
}

function draw() {
	drawing = 0;
	const { state, tree, intervals, view, m } = app, scroller = byId("scroller"), canvas = byId("canvas");
	addressSoon();
	if (state.table || !scroller.clientHeight)
		return;
	canvas.style.height = `${scroller.clientHeight}px`;
	view.scroll = scroller.scrollTop;
	const rows = sceneDraw(canvas, placesMake(canvas, view, headRows()), {
		tree, intervals, colours: app.colours, selected: app.selected, begin: tree.x[0],
		colourOf: m.comparison && state.colour === "difference" && state.mode !== "time" ? comparedColour : null,
		name: (func) => func < 0 ? rootName() : shown(functionName(m, func), 400),
		label: (i) => shown(m.data.strings[intervals.label[i]], 200),
	});
	if (rows !== app.rows) {
		app.rows = rows;
		byId("space").style.height = `${rows * rowHeight + 8}px`;
	}
	rangeShow();
}

function rootName() {
	const { state, m, weights } = app;
	if (state.mode === "time")
		return shown(m.data.tracks[state.choice.index].name);
	return `all: ${timeText(weights.kept[state.side])}`;
}

// ---- selecting ----

function select(box, zoom) {
	app.selected = box > 0 ? box : -1;
	if (zoom)
		viewFit(Math.max(box, 0));
	app.state.at = box > 0 && app.state.mode !== "time" ? boxPath(app.tree, box) : [];
	app.state.func = box > 0 ? app.tree.func[box] : -1;
	rowShow(box);
	textsShow();
	announce();
	redraw();
}

// Scrolls so that the box's row is visible.
function rowShow(box) {
	const scroller = byId("scroller"), y = (app.tree.depth[Math.max(box, 0)] + headRows()) * rowHeight;
	byId("space").style.height = `${Math.max(app.rows * rowHeight, y + rowHeight) + 8}px`;
	if (y < scroller.scrollTop)
		scroller.scrollTop = Math.max(0, y - rowHeight);
	else if (y + 2 * rowHeight > scroller.scrollTop + scroller.clientHeight)
		scroller.scrollTop = y + 2 * rowHeight - scroller.clientHeight;
}

app.functionShow = (func) => change({ func });
app.sortBy = (key) => {
	app.sort = key;
	textsShow();
};

// ---- start ----

async function start() {
	const holder = byId("data"), text = holder.textContent;
	holder.remove();
	try {
		app.m = modelMake(await dataRead(text));
	} catch (error) {
		document.body.replaceChildren(element("p", { className: "error" },
			`This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
		return;
	}
	const { m } = app;
	m.selfAll = weightsMake(m, tracksChosen(m, { kind: "all" }), "wall", null, null).self[0];
	controlsMake();
	inputsListen();
	showAll(stateRead(m, location.hash));
	// For tests and benchmarks: the first picture is drawn, after so many milliseconds.
	requestAnimationFrame(() => {
		document.documentElement.dataset.drawn = performance.now();
	});
	// The first selection needs this, and should not wait for it.
	setTimeout(() => outermostFind(m), 100);
}

start();
