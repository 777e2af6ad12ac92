// SPDX-License-Identifier: MIT OR Apache-2.0
// messages.mjs [--update] [DIRECTORY]: compares the messages of the sources with tests/project/messages.txt, and checks
// their form. With --update it writes messages.txt. DIRECTORY is the root of the sources.
//
// A message is a string literal that a person may read:
//
//   error     text of vg_err_set(), vg_err_sys(), vg_failure() and of the other functions in `printers`
//   stderr    text that is printed to standard error as it is
//   usage     a text that begins with "usage: "
//   part      any other literal of several words: the reason within a message, a line of a report
//
// So no new message is missed: a message that has no other kind is a `part`.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const update = process.argv.includes('--update');
const given = process.argv.slice(2).find((argument) => argument !== '--update');
const root = given ?? join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const table = join(root, 'tests/project/messages.txt');
const folders = ['base', 'libvgctl', 'profile', 'symbols', 'vgctl', 'vgtool', 'vignetted'];
const printers = ['vg_err_set', 'vg_err_sys', 'vg_failure', 'vg_command_warn', 'vg_command_usage_error',
	'vg_profile_format_error', 'complain_of'];
const stream_printers = ['vg_print', 'fprintf', 'fputs', 'vg_vprint'];
const max_characters = 200;
const conversion = /%[-+ #0-9.*]*(PRI\w+|[hlzjt]*[a-zA-Z])/g;
// A message begins with the file or another argument, an option, a variable of the environment, or a small letter.
// Names keep their capital letter. A message that continues another text begins with a space or punctuation.
const message_begin = /^(%|--?[a-z%]|\$[A-Z]|\/|[a-z]|(Yama|Landlock|Breakpad|ELF|DWARF)\b|[ ,;:(])/;

function c_files(folder) {
	return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
		const path = `${folder}/${entry.name}`;

		return entry.isDirectory() ? c_files(path) : /\.[ch]$/.test(path) ? [path] : [];
	});
}

const escapes = { n: '\n', t: '\t', r: '\r' };
function literal_text(literal) {
	return literal.slice(1, -1).replace(/\\([0-7]+|.)/g, (_, code) =>
		/^[0-7]/.test(code) ? String.fromCharCode(parseInt(code, 8)) : escapes[code] ?? code);
}

// Tokens of C without comments and preprocessor lines. Joined literals are one token, with the macro between them:
// "%" PRIu64 " bytes" is "%PRIu64 bytes".
function tokens(source) {
	const code = source.replace(/\/\*[^]*?\*\//g, ' ').replace(/^[ \t]*#(?!\s*define)(?:\\\n|.)*/gm, '');
	const list = [];
	let macro = null;

	for (const [token] of code.matchAll(/"(?:\\[^]|[^"\\])*"|'(?:\\.|[^'\\])+'|\w+|\S/g)) {
		const before = list.at(-1);

		if (token[0] === '"') {
			const text = literal_text(token);

			if (before?.text !== undefined) {
				before.text += (macro ?? '') + text;
				macro = null;
			} else {
				list.push({ text });
			}
		} else if (before?.text !== undefined && macro === null && /^(PRI[a-zA-Z0-9]+|PACKAGE_VERSION)$/.test(token)) {
			macro = token;
		} else {
			if (macro !== null)
				before.text += macro;
			macro = null;
			list.push({ token });
		}
	}
	return list;
}

// Returns the messages of a source. `calls` has an entry for each parenthesis that is open at the present token: the
// function that is called, and whether one of the arguments before this token is stderr.
function messages_of(path) {
	const calls = [], found = [];
	let before = '';

	for (const { token, text } of tokens(readFileSync(join(root, path), 'utf8'))) {
		if (token === '(')
			calls.push({ name: before, literals: [], has_stderr: false });
		else if (token === ')')
			calls.pop()?.literals.forEach((message) => found.push(message));
		if (token === 'stderr' && calls.length > 0)
			calls.at(-1).has_stderr = true;
		if (text !== undefined) {
			const message = { path, text, kind: kind_of(text, calls) };

			// The stream is the last argument of fputs().
			if (message.kind === 'part' && calls.at(-1)?.name === 'fputs')
				calls.at(-1).literals.push(message);
			else
				found.push(message);
		}
		before = token ?? '';
		if (token === 'stderr')
			calls.at(-1)?.literals.forEach((message) => { message.kind = 'stderr'; });
	}
	return found.filter(({ kind }) => kind !== null);
}

function kind_of(text, calls) {
	if (text.startsWith('usage: '))
		return 'usage';
	if (calls.some(({ name }) => name === '_Static_assert') || !/[a-zA-Z]{2}/.test(text.replace(conversion, '')))
		return null;
	if (calls.some(({ name }) => printers.includes(name)))
		return 'error';
	if (calls.some(({ name, has_stderr }) => stream_printers.includes(name) && has_stderr))
		return 'stderr';
	return /[a-z]{2,}[,;:]? [a-z(]/.test(text) ? 'part' : null;
}

function form_faults({ text, kind }) {
	const faults = [], sentence = text.replace(/^(vgctl|vignetted|vgtool): /, '');

	if (kind === 'usage')
		return faults;
	if (kind === 'error' && text.endsWith('\n'))
		faults.push('ends with a newline; leave it out: the code that prints the message adds a newline');
	if (/\.\n?$/.test(text) && !/\.\.\.\n?$/.test(text))
		faults.push('ends with a period; leave it out');
	if (kind !== 'part' && !message_begin.test(sentence))
		faults.push('does not begin with "%s: " for the file, nor with an option, nor with a small letter');
	const length = text.replace(conversion, '').length;
	if (length > max_characters)
		faults.push(`has ${length} characters without its arguments; the most is ${max_characters}`);
	return faults;
}

const shown = (text) => text.replace(/\n$/, '').replaceAll('\t', '\\t').replaceAll('\n', '\n\t\t');
const by_text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const all = folders.flatMap(c_files).sort(by_text).flatMap(messages_of);
const rows = new Map();
let faults = 0;

for (const message of all) {
	for (const fault of form_faults(message)) {
		console.log(`${message.path}: "${shown(message.text)}" ${fault}`);
		faults++;
	}
	const row = `\t${message.kind}\t${shown(message.text)}`;
	rows.set(message.path, (rows.get(message.path) ?? new Set()).add(row));
}
const text = [...rows].map(([path, lines]) => `${path}\n${[...lines].sort(by_text).join('\n')}\n`).join('\n');

// Puts the file before each line, so that a line that only moved within messages.txt is not a difference.
function lines_with_file(content) {
	let path = '';

	return content.split('\n').filter((line) => line !== '').flatMap((line) => {
		if (line[0] === '\t')
			return [`${path}:${line.replaceAll('\t', ' ')}`];
		path = line;
		return [];
	});
}

if (update) {
	writeFileSync(table, text);
} else {
	const committed = existsSync(table) ? readFileSync(table, 'utf8') : '';
	const before = lines_with_file(committed), now = lines_with_file(text);

	for (const line of before.filter((line) => !now.includes(line)))
		console.log(`- ${line}`);
	for (const line of now.filter((line) => !before.includes(line)))
		console.log(`+ ${line}`);
	if (committed !== text) {
		console.log('The messages of the sources differ from tests/project/messages.txt (-: messages.txt, +: the sources).');
		console.log('Read the new ones as a user would, then: node tests/project/messages.mjs --update');
		faults++;
	}
}
console.log(`${all.length} messages, ${faults} faults`);
process.exit(faults === 0 ? 0 : 1);
