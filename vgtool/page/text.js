// SPDX-License-Identifier: MIT OR Apache-2.0
// Texts: names that nobody can misuse, times, shares, and elements.

// Characters that are invisible or turn the text around them: control characters and Unicode's format characters.
// A name with them could look like another name.
const invisible = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e" +
	"\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]", "g");

// A name for people: one line, without invisible characters, of at most `limit` characters.
function shown(text, limit = 1000) {
	const cut = text.length > limit ? text.slice(0, limit) + "\u2026" : text;
	return cut.replace(invisible, "\ufffd");
}

// A time, from microseconds.
function timeText(us) {
	const size = Math.abs(us);
	if (size >= 100e6)
		return `${Math.round(us / 1e6)} s`;
	if (size >= 1e6)
		return `${(us / 1e6).toPrecision(3)} s`;
	if (size >= 1e3)
		return `${(us / 1e3).toPrecision(3)} ms`;
	return us === 0 ? "0 s" : `${Math.round(us)} \u00b5s`;
}

function shareText(part, whole) {
	return `${(whole > 0 ? 100 * part / whole : 0).toFixed(1)} %`;
}

// A difference of shares, with its sign.
function differenceText(difference) {
	const percent = (100 * difference).toFixed(1);
	return `${difference > 0 ? "+" : ""}${percent === "-0.0" ? "0.0" : percent} %`;
}

function byId(id) {
	return document.getElementById(id);
}

// Makes an element.  Strings among the children become text, never markup.
function element(tag, properties, ...children) {
	const made = Object.assign(document.createElement(tag), properties);
	made.append(...children);
	return made;
}

// A name in an element that keeps its direction of writing to itself.
function nameElement(text, limit) {
	return element("bdi", {}, shown(text, limit));
}
