// SPDX-License-Identifier: MIT OR Apache-2.0
// words.mjs DIRECTORY: prints FILE:LINE of each word that doc/glossary.md has in a column "Not", and the term to use.
import { readFileSync, readdirSync, statSync } from 'node:fs';

const root = process.argv[2];
const folders = ['base', 'bench', 'doc', 'examples', 'libvgctl', 'man', 'profile', 'symbols', 'tests', 'vgctl', 'vgtool',
	'vignetted'];
const read_files = /\.(c|h|cc|S|rs|go|sh|mjs|js|py|awk|md|[1-8])$|^(NEWS|bootstrap|Makefile\.am|configure\.ac)$/;
// These files have the words on purpose.
const left_out = /^(doc\/glossary\.md|tests\/project\/words\.(sh|mjs)|tests\/fuzz\/corpus\/.*)$/;

// Rows are | term | meaning | not |.  The words in backticks in the last column are checked.
const text_words = new Map(), identifier_words = new Map();
for (const row of readFileSync(`${root}/doc/glossary.md`, 'utf8').split('\n')) {
	const cells = row.split('|').map((cell) => cell.trim());
	if (cells.length !== 5)
		continue;
	for (const [, entry] of cells[3].matchAll(/`([^`]+)`/g)) {
		const [, scope, word] = entry.match(/^(identifier: )?(.*)$/);
		(scope ? identifier_words : text_words).set(word, cells[1]);
	}
}
// A phrase may continue on the next line, after the mark of a comment.
const phrases = [...text_words].map(([word, term]) =>
	[new RegExp(`(?<![a-z])${word.replaceAll(' ', '(?: |[ \t]*\n[ \t]*(?:\\*|//|#)?[ \t]*)')}(?![a-z])`, 'gi'), word, term]);

function files(folder) {
	return readdirSync(`${root}/${folder}`).flatMap((name) => {
		const path = folder === '' ? name : `${folder}/${name}`;
		const is_directory = statSync(`${root}/${path}`).isDirectory();

		if (is_directory)
			return folder === '' && !folders.includes(name) ? [] : files(path);
		return read_files.test(name) && !left_out.test(path) ? [path] : [];
	});
}

let found = 0;
function report(path, text, offset, word, term) {
	const line = offset < 0 ? 'name' : text.slice(0, offset).split('\n').length;

	console.log(`${path}:${line}: "${word}": use "${term}"`);
	found++;
}

// Comments, strings and characters become spaces of the same length.
const no_code = /\/\*[^]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g;
const blank = (text) => text.replace(/[^\n]/g, ' ');

const all = files('');
for (const path of all) {
	const text = readFileSync(`${root}/${path}`, 'utf8');

	for (const [pattern, word, term] of phrases)
		for (const match of text.matchAll(pattern))
			report(path, text, match.index, word, term);
	if (!/\.[ch]$/.test(path))
		continue;
	const code = text.replace(no_code, blank);
	// PTRACE_INTERRUPT and SHUT_WR are system names.
	for (const match of code.matchAll(/\b(?!PTRACE_|SHUT_)[A-Za-z_][A-Za-z0-9_]*/g))
		for (const part of new Set(match[0].toLowerCase().split('_')))
			if (identifier_words.has(part))
				report(path, text, match.index, match[0], identifier_words.get(part));
	for (const part of path.split(/[/_.]/))
		if (identifier_words.has(part))
			report(path, text, -1, part, identifier_words.get(part));
}
console.log(`${all.length} files, ${text_words.size + identifier_words.size} words, ${found} found`);
process.exit(found === 0 ? 0 : 1);
