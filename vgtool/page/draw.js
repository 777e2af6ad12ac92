// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws a tree on a canvas.
//
// Boxes are written into the pixels of an image, row by row, because that is several times as fast as fillRect(): of a
// row of boxes one line of pixels is made and then copied.  The texts are drawn on the image.

const rowHeight = 20;
const intervalColour = "#cfd8e3";

// Where things are: sizes in CSS pixels.
//  view.left, view.right: what part of the tree's width is shown;  view.scroll: how far down
function placesMake(canvas, view, headRows) {
	const width = canvas.clientWidth, height = canvas.clientHeight;
	return { width, height, ratio: devicePixelRatio || 1, scale: width / (view.right - view.left), headRows, ...view };
}

// Draws everything.  `scene`: the tree, its selected box, colours by function, colourOf(box) or null, intervals and the
// time at which they begin, name(function), label(interval).
// Returns the number of rows that the tree has at this zoom.
function sceneDraw(canvas, places, scene) {
	const { ratio } = places;
	const W = Math.max(1, Math.round(places.width * ratio)), H = Math.max(1, Math.round(places.height * ratio));
	if (canvas.width !== W || canvas.height !== H) {
		canvas.width = W;
		canvas.height = H;
	}
	const context = canvas.getContext("2d", { alpha: false });
	const ground = pixel(isDark() ? "#1b1d21" : "#ffffff");
	const image = imageOf(context, W, H);
	const pixels = new Uint32Array(image.data.buffer);
	pixels.fill(ground);
	const texts = [];
	if (scene.intervals)
		intervalsDraw(pixels, W, H, places, scene, texts);
	const depths = treeDraw(pixels, W, H, ground, places, scene, texts);
	context.putImageData(image, 0, 0);
	textsDraw(context, places, texts);
	selectedDraw(context, places, scene);
	return depths + places.headRows;
}

// One image for all frames of the same size.
let imageKept = null;
function imageOf(context, W, H) {
	if (!imageKept || imageKept.width !== W || imageKept.height !== H)
		imageKept = context.createImageData(W, H);
	return imageKept;
}

function treeDraw(pixels, W, H, ground, places, scene, texts) {
	const { tree } = scene, line = new Uint32Array(W);
	let level = [0], depth = 0;
	while (level.length) {
		const row = rowDraw(line.fill(ground), W, places, scene, level, depth, texts);
		if (row.drawn)
			lineCopy(pixels, W, H, line, places, depth + places.headRows);
		level = row.next;
		depth++;
	}
	return depth;
}

// Draws the callees of boxes; for depth 0 the root itself.  Returns those that are wide enough to have visible callees.
function rowDraw(line, W, places, scene, level, depth, texts) {
	const { tree, colours, colourOf } = scene, width = tree.total[tree.side];
	const perUnit = places.scale * places.ratio, next = [];
	const top = (depth + places.headRows) * rowHeight - places.scroll;
	const visible = top > -rowHeight && top < places.height;
	let used = -1, drawn = false;
	for (const box of level) {
		const begin = (tree.x[box] - places.left) * perUnit, wide = width[box] * perUnit;
		const from = Math.max(0, Math.round(begin)), to = Math.min(W, Math.max(Math.round(begin + wide), from + 1));
		if (to <= used || from >= W)
			continue;
		drawn = true;
		childrenVisible(tree, box, places, W, next);
		if (!visible)
			continue;
		const colour = box === 0 ? pixel(rest) : colourOf ? colourOf(box) : colours[tree.func[box]];
		// A gap between boxes, where there is room for it.
		line.fill(colour, Math.max(from, used), to - from >= 4 && to < W ? to - 1 : to);
		used = to;
		if (to - from > 26 * places.ratio)
			texts.push({ from, to, top, name: scene.name(tree.func[box]), light: isLight(colour) });
	}
	return { drawn, next };
}

// Adds the callees of a box that are drawn: those of at least half a pixel.  In order of time, a narrower one is drawn
// where no other one is, so that a busy thread is not blank.
function childrenVisible(tree, box, places, W, next) {
	treeExpand(tree, box);
	const width = tree.total[tree.side], perUnit = places.scale * places.ratio;
	const end = tree.childFirst[box] + tree.childCount[box];
	const right = places.left + W / perUnit;
	let child = childAt(tree, box, places.left);
	while (child < end && tree.x[child] < right) {
		const wide = width[child] * perUnit;
		if (wide >= 0.5) {
			next.push(child++);
			continue;
		}
		if (tree.ordered)
			return;
		next.push(child);
		const pixelEnd = Math.floor((tree.x[child] - places.left) * perUnit) + 1;
		child = Math.max(child + 1, childAt(tree, box, places.left + pixelEnd / perUnit));
	}
}

// Copies a line of pixels to all lines of its row except for the last one.
function lineCopy(pixels, W, H, line, places, row) {
	const top = Math.round((row * rowHeight - places.scroll) * places.ratio);
	const bottom = Math.round(((row + 1) * rowHeight - places.scroll) * places.ratio) - 1;
	for (let y = Math.max(0, top); y < Math.min(H, bottom); y++)
		pixels.set(line, y * W);
}

// The rows above the stacks: times, and the intervals of the thread.
function intervalsDraw(pixels, W, H, places, scene, texts) {
	const { intervals } = scene, perUnit = places.scale * places.ratio, colour = pixel(intervalColour);
	const ground = pixel(isDark() ? "#1b1d21" : "#ffffff");
	for (let row = 0; row < intervals.rows; row++) {
		const line = new Uint32Array(W).fill(ground);
		let used = 0;
		for (let i = 0; i < intervals.count; i++) {
			if (intervals.depth[i] !== row)
				continue;
			const begin = (intervals.begin[i] - places.left) * perUnit;
			const wide = intervals.length[i] * perUnit, from = Math.max(0, Math.round(begin));
			const to = Math.min(W, Math.max(Math.round(begin + wide), from + 1));
			if (begin + wide < 0 || from >= W || to <= used && wide < 1)
				continue;
			line.fill(colour, from, to - from >= 4 && to < W ? to - 1 : to);
			used = Math.max(used, to);
			if (to - from > 26 * places.ratio)
				texts.push({ from, to, top: (row + 1) * rowHeight - places.scroll, name: scene.label(i), light: true });
		}
		lineCopy(pixels, W, H, line, places, row + 1);
	}
	rulerTexts(places, texts, scene.begin);
}

// The times above the graph, at round numbers.
function rulerTexts(places, texts, begin) {
	const goal = (places.right - places.left) / Math.max(1, places.width / 120);
	let step = 10 ** Math.floor(Math.log10(goal));
	step *= goal / step > 5 ? 10 : goal / step > 2 ? 5 : 2;
	for (let at = Math.ceil((places.left - begin) / step) * step + begin; at < places.right; at += step) {
		const from = Math.round((at - places.left) * places.scale * places.ratio);
		texts.push({ from, to: from + Math.round(110 * places.ratio), top: -places.scroll, plain: true,
			name: `| ${Number(((at - begin) / 1e6).toFixed(6))} s` });
	}
}

const fontSize = 12;
let letterWidth = 0;

function textsDraw(context, places, texts) {
	const { ratio } = places;
	context.font = `${fontSize * ratio}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace`;
	context.textBaseline = "middle";
	context.direction = "ltr";
	letterWidth = context.measureText("0123456789").width / 10;
	const light = isDark() ? "#e6e6e6" : "#222222";
	for (const text of texts) {
		const room = text.to - text.from - 6 * ratio, letters = Math.floor(room / letterWidth);
		if (letters < 2)
			continue;
		const name = text.name.length > letters ? text.name.slice(0, letters - 1) + "\u2026" : text.name;
		context.fillStyle = text.plain ? light : text.light ? "#111111" : "#f2f2f2";
		const y = Math.round((text.top + rowHeight / 2) * ratio);
		// Other scripts have wider letters; those are condensed.
		if (/^[\x20-\x7e\u2026]*$/.test(name))
			context.fillText(name, text.from + 3 * ratio, y);
		else
			context.fillText(name, text.from + 3 * ratio, y, room);
	}
}

// A frame around the selected box.
function selectedDraw(context, places, { tree, selected }) {
	if (selected < 0)
		return;
	const { ratio } = places, width = tree.total[tree.side][selected];
	const from = Math.max(-4, (tree.x[selected] - places.left) * places.scale * ratio);
	const to = Math.min(places.width * ratio + 4, (tree.x[selected] + width - places.left) * places.scale * ratio);
	const y = ((tree.depth[selected] + places.headRows) * rowHeight - places.scroll) * ratio;
	if (to < from)
		return;
	context.lineWidth = 2 * ratio;
	context.strokeStyle = isDark() ? "#ffffff" : "#000000";
	context.strokeRect(from + ratio, y + ratio, Math.max(2, to - from - 2 * ratio), (rowHeight - 3) * ratio);
}
