// SPDX-License-Identifier: MIT OR Apache-2.0
// What controls, keys and the mouse do.

function inputsListen() {
	for (const key of ["mode", "weight", "colour"])
		byId(key).addEventListener("change", (event) => change({ [key]: event.target.value }));
	byId("side").addEventListener("change", (event) => change({ side: Number(event.target.value) }));
	byId("choice").addEventListener("change", (event) => choiceChange(event.target.value));
	byId("interval").addEventListener("change", ({ target }) =>
		change({ interval: target.value === "" ? null : app.labels[Number(target.value)] }));
	for (const key of ["table", "only"])
		byId(key).addEventListener("change", (event) => change({ [key]: event.target.checked }));
	byId("search").addEventListener("input", (event) => searchSoon(event.target.value));
	byId("controls").addEventListener("submit", (event) => event.preventDefault());
	byId("reset").addEventListener("click", reset);
	addEventListener("hashchange", () => {
		app.address = null;
		if (location.hash.slice(1) !== stateText(app.m, app.state))
			showAll(stateRead(app.m, location.hash));
	});
	document.addEventListener("keydown", pageKey);
	new ResizeObserver(redraw).observe(byId("scroller"));
	byId("scroller").addEventListener("scroll", redraw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		colour();
		redraw();
	});
	canvasListen(byId("canvas"));
}

function choiceChange(value) {
	const [kind, index] = value.split(" "), state = { choice: { kind, index: Number(index) || 0 } };
	if (app.state.mode === "time" && kind !== "track")
		state.mode = "merged";
	change(state);
}

// Typing is not held up by the search: it follows with the next frame.
let searchText = null;
function searchSoon(text) {
	if (searchText === null)
		requestAnimationFrame(() => {
			change({ search: searchText });
			searchText = null;
		});
	searchText = text;
}

function reset() {
	select(0, true);
}

// Keys that work wherever no text is typed.
function pageKey(event) {
	const typing = event.target.matches("input[type=search], select");
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === "Escape" && event.target === byId("search") && app.state.search !== "") {
		change({ search: "" });
	} else if (event.key === "Escape") {
		reset();
		byId("canvas").focus();
	} else if (typing) {
		return;
	} else if (event.key === "/") {
		byId("search").focus();
		byId("search").select();
	} else if (event.key === "t") {
		change({ table: !app.state.table });
	} else if (event.key === "0") {
		reset();
	} else if (event.target !== byId("canvas") || !graphKey(event.key)) {
		return;
	}
	event.preventDefault();
}

// Keys of the graph.  Returns whether the key has a meaning.
function graphKey(key) {
	const { tree, view } = app, box = Math.max(app.selected, 0);
	const middle = app.selected > 0 ? tree.x[box] + tree.total[tree.side][box] / 2 : (view.left + view.right) / 2;
	if (key === "+" || key === "=")
		viewZoom(0.7, Math.min(Math.max(middle, view.left), view.right));
	else if (key === "-")
		viewZoom(1 / 0.7, Math.min(Math.max(middle, view.left), view.right));
	else if (key === "Enter" || key === " ")
		select(box, true);
	else if (key === "ArrowUp")
		selectByKey(tree.parent[box]);
	else if (key === "ArrowDown")
		selectByKey(heaviestCallee(box));
	else if (key === "ArrowLeft")
		selectByKey(neighbour(box, -1));
	else if (key === "ArrowRight")
		selectByKey(neighbour(box, 1));
	else
		return false;
	return true;
}

// Selects a box.  The graph follows if it was zoomed to the box before, or if the new one is hardly visible.
function selectByKey(box) {
	if (box < 0)
		return;
	const { tree, view } = app, width = tree.total[tree.side][box];
	const hidden = tree.x[box] + width <= view.left || tree.x[box] >= view.right ||
		width / (view.right - view.left) * byId("canvas").clientWidth < 4;
	select(box, hidden || isFitted(app.selected));
}

function heaviestCallee(box) {
	const { tree } = app, width = tree.total[tree.side];
	treeExpand(tree, box);
	let best = -1;
	for (let i = 0; i < tree.childCount[box]; i++) {
		const child = tree.childFirst[box] + i;
		if (best < 0 || width[child] > width[best])
			best = child;
	}
	return best;
}

// The next box with the same caller, or -1.
function neighbour(box, step) {
	const { tree } = app, caller = tree.parent[box], next = box + step;
	return box > 0 && next >= tree.childFirst[caller] && next < tree.childFirst[caller] + tree.childCount[caller] ?
		next : -1;
}

// ---- the mouse, and fingers ----

// What is at a point of the canvas: { box, interval }, -1 for none; box 0 is the root.
function thingAt(event) {
	const canvas = byId("canvas"), area = canvas.getBoundingClientRect(), { view, tree, intervals } = app;
	const x = view.left + (event.clientX - area.left) / area.width * (view.right - view.left);
	const row = Math.floor((event.clientY - area.top + byId("scroller").scrollTop) / rowHeight), depth = row - headRows();
	let interval = -1;
	for (let i = 0; intervals && depth < 0 && i < intervals.count; i++)
		if (intervals.depth[i] === row - 1 && x >= intervals.begin[i] && x < intervals.begin[i] + intervals.length[i])
			interval = i;
	return { x, interval, box: depth < 0 ? -1 : boxAt(tree, depth, x) };
}

function canvasListen(canvas) {
	let drag = null;
	canvas.addEventListener("pointerdown", (event) => {
		if (event.button === 0)
			drag = { x: event.clientX, y: event.clientY, moved: false, ...app.view, top: byId("scroller").scrollTop };
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!drag) {
			tipShow(event);
			return;
		}
		const right = event.clientX - drag.x, down = event.clientY - drag.y;
		if (!drag.moved && Math.hypot(right, down) < 5)
			return;
		if (!drag.moved)
			canvas.setPointerCapture(event.pointerId);
		drag.moved = true;
		byId("tip").hidden = true;
		const move = right / canvas.clientWidth * (drag.right - drag.left);
		viewSet(drag.left - move, drag.right - move);
		if (event.pointerType === "mouse")
			byId("scroller").scrollTop = drag.top - down;
		redraw();
	});
	canvas.addEventListener("pointerup", (event) => {
		if (drag && !drag.moved)
			click(event);
		drag = null;
	});
	for (const name of ["pointercancel", "pointerleave"])
		canvas.addEventListener(name, () => {
			drag = null;
			byId("tip").hidden = true;
		});
	canvas.addEventListener("wheel", wheel, { passive: false });
}

function click(event) {
	const { box, interval } = thingAt(event);
	byId("canvas").focus({ preventScroll: true });
	byId("tip").hidden = true;
	if (box >= 0)
		select(box, true);
	else if (interval >= 0) {
		viewSet(app.intervals.begin[interval], app.intervals.begin[interval] + app.intervals.length[interval]);
		redraw();
	}
}

// The wheel zooms at the pointer.  Sideways it moves; with Shift it scrolls.
function wheel(event) {
	event.preventDefault();
	const lines = event.deltaMode === 1 ? 16 : 1, { view } = app;
	if (event.shiftKey) {
		byId("scroller").scrollTop += (event.deltaY || event.deltaX) * lines;
	} else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
		const move = event.deltaX * lines / byId("canvas").clientWidth * (view.right - view.left);
		viewSet(view.left + move, view.right + move);
		redraw();
	} else {
		viewZoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * lines / 400))), thingAt(event).x);
	}
}

function tipShow(event) {
	const tip = byId("tip"), { box, interval } = thingAt(event), { m, weights, tree, state, intervals } = app;
	tip.hidden = box < 0 && interval < 0;
	if (tip.hidden)
		return;
	if (interval >= 0)
		tip.replaceChildren(element("b", {}, nameElement(m.data.strings[intervals.label[interval]])),
			element("div", {}, `lasted: ${timeText(intervals.length[interval])}`),
			element("div", {}, `from: ${timeText(intervals.begin[interval] - tree.x[0])}`));
	else
		tipFill(tip, m, weights, tree, box, state.mode);
	// Beside the pointer, inside of the graph.
	const area = byId("graph").getBoundingClientRect();
	const x = event.clientX - area.left, y = event.clientY - area.top;
	tip.style.left = `${Math.max(4, Math.min(x + 14, area.width - tip.offsetWidth - 4))}px`;
	tip.style.top = `${y + 20 + tip.offsetHeight > area.height ? Math.max(4, y - tip.offsetHeight - 12) : y + 20}px`;
}
