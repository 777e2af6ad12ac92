// SPDX-License-Identifier: MIT OR Apache-2.0
// What the page shows, in the address after "#": a link shows the same.  For example
// #mode=inverted&search=alloc&track=2&weight=cpu&table=1
//
//  mode=merged|time|inverted   process=N or track=N (of the data's groups and tracks)   weight=wall|cpu
//  interval=LABEL   search=REGEX   only=1 (matches)   colour=module|class|file|difference   table=1   base=1 (widths)
//  at=F.F.F   the selected frame: functions from the outermost one   function=F   the function in the details
//  from=US, to=US   the part of the width that is shown, in microseconds

function stateDefault(m) {
	return {
		mode: "merged", choice: { kind: "all", index: 0 }, weight: m.data.weight === 1 ? "cpu" : "wall",
		interval: null, search: "", only: false, colour: m.comparison ? "difference" : "module", table: false, side: 0,
		at: [], func: -1, range: null,
	};
}

// A number of the address below a bound, or -1.
function stateNumber(text, bound) {
	return /^\d{1,9}$/.test(text || "") && Number(text) < bound ? Number(text) : -1;
}

function stateRead(m, hash) {
	const given = new URLSearchParams(hash.replace(/^#/, "")), state = stateDefault(m);
	const choose = (key, values) => {
		if (values.includes(given.get(key)))
			state[key] = given.get(key);
	};
	choose("mode", ["merged", "time", "inverted"]);
	choose("weight", ["wall", "cpu"]);
	choose("colour", ["module", "class", "file", ...m.comparison ? ["difference"] : []]);
	for (const [kind, count] of [["process", m.data.groups.length], ["track", m.data.tracks.length]])
		if (stateNumber(given.get(kind), count) >= 0)
			state.choice = { kind, index: stateNumber(given.get(kind), count) };
	state.interval = given.get("interval");
	state.search = given.get("search") || "";
	state.only = given.get("only") === "1";
	state.table = given.get("table") === "1";
	state.side = m.comparison && given.get("base") === "1" ? 1 : 0;
	state.at = (given.get("at") || "").split(".").map((text) => stateNumber(text, m.functions)).filter((f) => f >= 0);
	state.func = given.has("function") ? stateNumber(given.get("function"), m.functions) : state.at.at(-1) ?? -1;
	const from = Number(given.get("from")), to = Number(given.get("to"));
	if (to > from)
		state.range = [from, to];
	return state;
}

function stateText(m, state) {
	const usual = stateDefault(m), result = new URLSearchParams();
	for (const key of ["mode", "weight", "colour", "search"])
		if (state[key] !== usual[key])
			result.set(key, state[key]);
	if (state.choice.kind !== "all")
		result.set(state.choice.kind, state.choice.index);
	if (state.interval !== null)
		result.set("interval", state.interval);
	for (const [key, set] of [["only", state.only], ["table", state.table], ["base", state.side]])
		if (set)
			result.set(key, 1);
	// A stack may have thousands of frames; a link needs no more than these.
	if (state.at.length)
		result.set("at", state.at.slice(0, 200).join("."));
	if (state.func >= 0 && state.func !== state.at.at(-1))
		result.set("function", state.func);
	if (state.range) {
		result.set("from", state.range[0]);
		result.set("to", state.range[1]);
	}
	return result.toString();
}
