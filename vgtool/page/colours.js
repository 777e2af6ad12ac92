// SPDX-License-Identifier: MIT OR Apache-2.0
// The colours of functions and of differences.
//
// The colours are tints of Okabe and Ito's, which people with any kind of colour vision can tell apart.  Black text is
// readable on all of them.

const tints = ["#f2b45f", "#86c8ec", "#6fcbaa", "#ede27f", "#97b4f0", "#f09a76", "#dca4c6", "#b9d38c"];
const rest = "#c3c3c3";
const marked = "#ffe600";
const grew = "#e8603c", shrank = "#5b9bf0", unchanged = "#d8d8d8";

// A colour as the canvas's memory has it: bytes red, green, blue, alpha.
function pixel(colour) {
	const rgb = parseInt(colour.slice(1), 16);
	return (0xff000000 | (rgb & 255) << 16 | (rgb & 0xff00) | rgb >> 16) >>> 0;
}

// Mixes two pixels; share 0 is the first one.
function mixed(a, b, share) {
	let result = 0xff000000;
	for (const shift of [0, 8, 16])
		result |= Math.round((a >> shift & 255) * (1 - share) + (b >> shift & 255) * share) << shift;
	return result >>> 0;
}

function isLight(p) {
	return (p & 255) * 0.3 + (p >> 8 & 255) * 0.59 + (p >> 16 & 255) * 0.11 > 110;
}

function isDark() {
	return matchMedia("(prefers-color-scheme: dark)").matches;
}

// The key of a function that its colour depends on: an index of strings or classes, -1 if it has none.
function colourKeys(m, by) {
	return by === "class" ? m.data.functions.class : by === "file" ? m.data.functions.file : m.data.functions.module;
}

// The keys with colours of their own, the heaviest first.  The time in functions themselves decides, of all threads, so
// that colours do not change with the choice of threads.
function colourRanks(m, by) {
	const keys = colourKeys(m, by), sums = new Map();
	for (let i = 0; i < m.count; i++) {
		const key = keys[m.func[i]];
		if (key >= 0)
			sums.set(key, (sums.get(key) || 0) + m.selfAll[i]);
	}
	return [...sums].sort((a, b) => b[1] - a[1]).slice(0, tints.length).map(([key]) => key);
}

// The pixel of each function.  Functions of one key differ a little, so that neighbours can be told apart.
function colourTable(m, by, ranks, matches) {
	const keys = colourKeys(m, by), dark = isDark();
	const black = pixel("#000000"), ground = pixel(dark ? "#1b1d21" : "#ffffff");
	const base = new Map(ranks.map((key, index) => [key, pixel(tints[index])]));
	const result = new Uint32Array(m.functions);
	for (let f = 0; f < m.functions; f++) {
		const own = base.get(keys[f]) || pixel(rest);
		result[f] = mixed(own, black, (f % 4) * 0.035 + (dark ? 0.1 : 0));
		if (matches)
			result[f] = matches[f] ? pixel(marked) : mixed(result[f], ground, 0.7);
	}
	return result;
}

// The colour of a difference of shares.  A tenth of the time has the full colour; the root makes small ones visible.
function differenceColour(difference) {
	const strength = Math.min(1, Math.sqrt(Math.abs(difference) / 0.1));
	return mixed(pixel(unchanged), pixel(difference > 0 ? grew : shrank), strength);
}
