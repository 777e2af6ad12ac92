// SPDX-License-Identifier: MIT OR Apache-2.0
// symbols_large.mjs OURS THEIRS: compares FUNC, line, INLINE and PUBLIC records of two symbol files.  The exit status
// is 1 if they differ in anything that symbols_large.sh does not explain.
import fs from "node:fs";

function read(path) {
	const files = new Map(), origins = new Map(), functions = new Map(), publics = new Map();
	let current;

	for (const line of fs.readFileSync(path, "utf8").split("\n")) {
		const words = line.split(" ");

		switch (words[0]) {
		case "FILE":
			files.set(words[1], words.slice(2).join(" "));
			break;
		case "INLINE_ORIGIN":
			origins.set(words[1], words.slice(2).join(" "));
			break;
		case "FUNC":
		case "PUBLIC": {
			const rest = words.slice(words[1] === "m" ? 2 : 1);

			if (words[0] === "PUBLIC") {
				publics.set(rest[0], rest.slice(2).join(" "));
				break;
			}
			current = { low: parseInt(rest[0], 16), size: parseInt(rest[1], 16),
				    name: rest.slice(3).join(" "), lines: [], inlines: new Set() };
			functions.set(rest[0], current);
			break;
		}
		case "INLINE":
			// A function with a .cold part has several FUNC records.  dump_syms writes all ranges of an
			// inlined call below each of these records.  So the ranges are compared one by one, and
			// ranges outside of the current FUNC record are dropped.
			for (let i = 5; i < words.length; i += 2) {
				const at = parseInt(words[i], 16);

				if (words[i + 1] !== "0" && at >= current.low && at < current.low + current.size)
					current.inlines.add([words[1], words[2], words[3], words[4], words[i],
							     words[i + 1]].join(" "));
			}
			break;
		case "MODULE":
		case "INFO":
		case "STACK":
		case "":
			break;
		default:
			current.lines.push([words[0], words[1], words[2], files.get(words[3])].join(" "));
		}
	}
	for (const f of functions.values())
		f.inlines = new Set([...f.inlines].map((text) => {
			const words = text.split(" ");

			return { key: [words[1], files.get(words[2]) ?? "?", words[4], words[5]].join(" "),
				 name: origins.get(words[3]) };
		}));
	return { functions, publics };
}

// dump_syms drops anonymous namespaces.  If a function has no linkage name, dump_syms drops the scopes of its name.
// dump_syms spells types of lambdas and suffixes of clones differently.
function sameName(ours, theirs) {
	const plain = (name) => name.replaceAll("(anonymous namespace)::", "").replace(/ \[clone .*?\]/g, "")
		.replace(/\.(cold|part|constprop|isra|lto_priv)(\.\d+)*/g, "");

	return plain(ours) === plain(theirs) || plain(ours).endsWith("::" + plain(theirs)) ||
	       plain(theirs) === "<name omitted>";
}

const [ours, theirs] = [read(process.argv[2]), read(process.argv[3])];
const count = { functions: 0, lines: 0, inlines: 0, publics: 0, moreFunctions: 0, moreInlines: 0 };
const wrong = [];

for (const [address, their] of theirs.functions) {
	const our = ours.functions.get(address);

	count.functions++;
	if (our === undefined || our.size !== their.size) {
		wrong.push(`FUNC ${address} ${their.size.toString(16)} ${their.name}: ours ${our?.size.toString(16)}`);
		continue;
	}
	if (!sameName(our.name, their.name))
		wrong.push(`name of ${address}: ${our.name}, theirs ${their.name}`);
	count.lines += their.lines.length;
	if (our.lines.join("\n") !== their.lines.join("\n"))
		wrong.push(`lines of ${address} ${their.name}`);
	const keys = new Map([...our.inlines].map((call) => [call.key, call.name]));
	for (const call of their.inlines) {
		count.inlines++;
		if (!keys.has(call.key))
			wrong.push(`INLINE ${call.key} ${call.name} in ${address}`);
	}
	count.moreInlines += Math.max(0, our.inlines.size - their.inlines.size);
}
// dump_syms writes no FUNC records for two kinds of functions.  Thunks have lines and no DIE; dump_syms writes PUBLIC
// records for them.  Members of lambdas belong to classes that are nested in functions.
for (const [address, our] of ours.functions) {
	if (theirs.functions.has(address))
		continue;
	if (theirs.publics.has(address) || /::(operator\(\)|~<lambda>)$/.test(our.name))
		count.moreFunctions++;
	else
		wrong.push(`FUNC ${address} ${our.name}: only ours`);
}
for (const [address, name] of theirs.publics) {
	count.publics++;
	if (!ours.publics.has(address) && !ours.functions.has(address))
		wrong.push(`PUBLIC ${address} ${name}: only theirs`);
}
console.log(`${count.functions} functions (and ${count.moreFunctions} only in OURS), ${count.lines} lines, ` +
	`${count.inlines} ranges of inlined calls (and ${count.moreInlines} only in OURS), ` +
	`${count.publics} PUBLIC records compared; ${wrong.length} unexplained differences`);
for (const text of wrong.slice(0, 40))
	console.log("  " + text);
process.exit(wrong.length > 0 || count.moreFunctions * 100 > count.functions || count.functions < 1000 || count.lines < 10000 ? 1 : 0);
