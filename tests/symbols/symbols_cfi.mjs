// SPDX-License-Identifier: MIT OR Apache-2.0
//
// node symbols_cfi.mjs MACHINE BASE OURS DUMP [READELF [THEIRS]]
//
// Compares the STACK CFI records of the symbol file OURS with every row that llvm-dwarfdump printed for the same
// program (DUMP), and with the records of dump_syms (THEIRS).  BASE is the address of the first segment, in
// hexadecimal.  The rules of both sides are evaluated with invented registers and memory, and the results are compared.
// llvm-dwarfdump 14 does not restore the CFA at DW_CFA_restore_state, so the CFA comes from READELF, the output of
// `readelf --debug-dump=frames-interp`.  readelf prints no expressions, so a CFA that is an expression comes from DUMP.
// Prints counts of what was compared.  The exit status is 1 after a difference.
import { readFileSync } from 'node:fs';

const [machine, baseText, oursPath, dumpPath, readelfPath, theirsPath] = process.argv.slice(2);
const base = BigInt('0x' + baseText);
const wordBits = { x86_64: 64n, arm64: 64n, riscv: 64n }[machine] ?? 32n;
const mask = (1n << wordBits) - 1n;
const riscv = ('pc ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 ' +
	's10 s11 t3 t4 t5 t6').split(' ');
const returnRegister = { x86_64: '$rip', x86: '$eip', arm: 'lr', arm64: 'x30', mips: '$ra',
	riscv: 'ra' }[machine];

// Takes a register's name in llvm-dwarfdump's output, and returns its name in STACK CFI records.
function registerName(name) {
	switch (machine) {
	case 'arm64':
		return name.toLowerCase().replace(/^w(?=sp$)/, '').replace(/^w(?=\d)/, 'x')
			.replace(/^[bhsdq](?=\d)/, 'v');
	case 'riscv':
		return riscv[Number(name.slice(1))];
	case 'arm':
		return name.toLowerCase();
	case 'mips':
		return '$' + name.toLowerCase().replace(/_64$/, '');
	}
	return '$' + name.toLowerCase();
}

// Invented registers and memory, which depend only on the seed.
function scramble(seed, text) {
	let hash = 0xcbf29ce484222325n ^ BigInt(seed);
	for (const character of text)
		hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0))) * 0x100000001b3n);
	return (hash ^ hash >> 29n) & mask;
}
const registerValue = (seed, name) => scramble(seed, name);
const memoryValue = (seed, address) => scramble(seed, `memory ${address}`);
const failures = [];
const asSigned = value => BigInt.asIntN(Number(wordBits), value);

function postfix(text, seed, cfa) {
	const stack = [];
	for (const token of text.split(' ')) {
		if (/^-?\d+$/.test(token)) {
			stack.push(BigInt(token) & mask);
		} else if (token === '.cfa') {
			stack.push(cfa);
		} else if (token === '^') {
			stack.push(memoryValue(seed, stack.pop()));
		} else if ('+-*/%@'.includes(token)) {
			const b = stack.pop(), a = stack.pop();
			stack.push(({ '+': () => a + b, '-': () => a - b, '*': () => a * b,
				'/': () => a / b, '%': () => a % b, '@': () => a - a % b })[token]() & mask);
		} else {
			stack.push(registerValue(seed, token));
		}
	}
	if (stack.length !== 1 || stack[0] === undefined)
		throw new Error(`not one value: ${text}`);
	return stack[0];
}

const operations = {
	plus: (a, b) => a + b, minus: (a, b) => a - b, mul: (a, b) => a * b, and: (a, b) => a & b,
	shl: (a, b) => a << b, shr: (a, b) => a >> b, mod: (a, b) => a % b,
	ge: (a, b) => BigInt(asSigned(a) >= asSigned(b)), gt: (a, b) => BigInt(asSigned(a) > asSigned(b)),
	le: (a, b) => BigInt(asSigned(a) <= asSigned(b)), lt: (a, b) => BigInt(asSigned(a) < asSigned(b)),
};

// The value of an expression in llvm-dwarfdump's form, or undefined if STACK CFI cannot express it.
function dwarf(text, seed, stack) {
	for (const part of text.split(', ')) {
		const [operation, operand] = part.replace(/^DW_OP_/, '').split(' ');
		let match;
		if ((match = /^breg\d+$|^bregx$/.exec(operation))) {
			const [, name, offset] = /^(\w+?)([-+]\d+)$/.exec(operand);
			stack.push(registerValue(seed, registerName(name)) + BigInt(offset));
		} else if ((match = /^lit(\d+)$/.exec(operation))) {
			stack.push(BigInt(match[1]));
		} else if (/^const/.test(operation)) {
			stack.push(operand.startsWith('-') ? -BigInt(operand.slice(1)) : BigInt(operand));
		} else if (operation === 'plus_uconst') {
			stack.push(stack.pop() + BigInt(operand));
		} else if (operation === 'deref' || operation === 'deref_size') {
			stack.push(memoryValue(seed, stack.pop()));
		} else if (operation === 'dup') {
			stack.push(stack.at(-1));
		} else if (operation === 'swap') {
			stack.push(...stack.splice(-2).reverse());
		} else if (operation === 'over') {
			stack.push(stack.at(-2));
		} else if (operation === 'rot') {
			stack.splice(-2, 0, stack.pop());
		} else if (operation === 'drop') {
			stack.pop();
		} else if (operation === 'neg') {
			stack.push(-stack.pop());
		} else if (operation in operations) {
			const b = stack.pop(), a = stack.pop();
			stack.push(operations[operation](a, b));
		} else {
			return undefined;
		}
		stack.push(stack.pop() & mask);
	}
	return stack.at(-1);
}

// Reads STACK CFI records: [{ start, end, rules: Map }], one for each row.
function recordsRead(path) {
	const rows = [];
	let end = 0n, last;
	for (const line of readFileSync(path, 'latin1').split('\n')) {
		const match = /^STACK CFI (INIT )?([0-9a-f]+) (?:(?<=INIT [0-9a-f]+ )([0-9a-f]+) )?(.*)$/.exec(line);
		if (match === null)
			continue;
		const start = BigInt('0x' + match[2]);
		const rules = new Map(match[1] ? [] : last.rules);
		for (const [, name, rule] of match[4].matchAll(/(\S+): (.*?)(?= \S+: |$)/g))
			rules.set(name, rule);
		if (match[1])
			end = start + BigInt('0x' + match[3]);
		else
			last.end = start;
		last = { start, end, rules };
		rows.push(last);
	}
	return rows.sort((a, b) => Number(a.start - b.start));
}

// Reads rows from llvm-dwarfdump's output, in the form of recordsRead().  The rules keep llvm-dwarfdump's form.
function dumpRead(path) {
	const rows = [];
	let end = 0n, last;
	for (const line of readFileSync(path, 'latin1').split('\n')) {
		let match = /FDE cie=\S+ pc=([0-9a-f]+)\.\.\.([0-9a-f]+)/.exec(line);
		if (match !== null) {
			// A function that the linker dropped has address 0.
			end = /^0+$/.test(match[1]) ? -1n << 64n : BigInt('0x' + match[2]) - base;
			last = undefined;
		}
		match = /^  0x([0-9a-f]+): CFA=(.*?)(?:: ([A-Z0-9_]+=.*))?$/.exec(line);
		if (match === null)
			continue;
		const start = BigInt('0x' + match[1]) - base;
		const rules = new Map([['.cfa', match[2]]]);
		for (const rule of (match[3] ?? '').split(/, (?=[A-Z0-9_]+=)/).filter(rule => rule !== '')) {
			const at = rule.indexOf('=');
			rules.set(registerName(rule.slice(0, at)), rule.slice(at + 1));
		}
		if (start >= end)
			continue;
		if (last !== undefined)
			last.end = start;
		last = { start, end, rules, isFirst: last === undefined };
		rows.push(last);
	}
	return rows.sort((a, b) => Number(a.start - b.start));
}

// The CFA of each row by its address, in readelf's form.  readelf and llvm-dwarfdump also print rows after the end of a
// function; these are skipped.
function readelfRead(path) {
	const rows = new Map();
	let end = 0n;
	for (const line of readFileSync(path, 'latin1').split('\n')) {
		const match = / FDE cie=\S+ pc=[0-9a-f]+\.\.([0-9a-f]+)/.exec(line);
		const row = /^([0-9a-f]{8,16}) (exp|\w+[-+]\d+) /.exec(line);
		if (match !== null)
			end = BigInt('0x' + match[1]);
		else if (row !== null && BigInt('0x' + row[1]) < end)
			rows.set(BigInt('0x' + row[1]) - base, row[2]);
	}
	return rows;
}

function cfasReplace(rows, cfas) {
	for (const row of rows) {
		const cfa = cfas.get(row.start);
		const isExpression = row.rules.get('.cfa').includes('DW_OP_');
		// readelf prints no row for an FDE without instructions.
		if (cfa === undefined && row.isFirst)
			continue;
		if (cfa === undefined || (cfa === 'exp' && !isExpression))
			failures.push(`${row.start.toString(16)}: CFA: llvm-dwarfdump has ${row.rules.get('.cfa')}, ` +
				`readelf has ${cfa ?? 'no row'}`);
		else if (cfa !== 'exp')
			row.rules.set('.cfa', cfa.toUpperCase());
	}
}

// The value of one of llvm-dwarfdump's rules, or undefined if STACK CFI cannot express it.
function dumpValue(rule, seed, cfa) {
	const inMemory = /^\[(.*)\]$/.exec(rule);
	if (inMemory !== null) {
		const address = dumpValue(inMemory[1], seed, cfa);
		return address === undefined ? undefined : memoryValue(seed, address);
	}
	if (rule.includes('DW_OP_'))
		return dwarf(rule, seed, cfa === undefined ? [] : [cfa]);
	const match = /^(\w+?)([-+]\d+)?$/.exec(rule);
	const from = match[1] === 'CFA' ? cfa : registerValue(seed, registerName(match[1]));
	return from + BigInt(match[2] ?? 0) & mask;
}

const counts = { rows: 0, expressions: 0, leftOut: 0, undefined: 0, explained: 0 };

function registersCompare(ours, dump, seed, cfa) {
	const names = new Set([...ours.rules.keys(), ...dump.rules.keys(), '.ra']);
	for (const name of names) {
		const key = name === returnRegister ? '.ra' : name;
		const rule = dump.rules.get(key === '.ra' ? returnRegister : key) ?? 'same';
		if (name === '.cfa')
			continue;
		const own = registerValue(seed, key === '.ra' ? returnRegister : key);
		const our = ours.rules.has(key) ? postfix(ours.rules.get(key), seed, cfa) : undefined;
		let wanted = rule === 'same' ? own : rule === 'undefined' ? undefined :
			dumpValue(rule, seed, cfa);
		if (rule === 'undefined' && key === '.ra')
			wanted = 0n;
		// A register without a rule is unchanged.
		if (our !== wanted && !(rule === 'same' && our === undefined))
			failures.push(`${ours.start.toString(16)} ${key}: ${ours.rules.get(key)} is not ${rule}`);
	}
}

function rowCompare(ours, dump) {
	const text = [...dump.rules.values()].join(' ');
	counts.rows++;
	counts.expressions += text.includes('DW_OP_');
	counts.undefined += dump.rules.get(returnRegister) === 'undefined';
	for (const seed of [1, 2, 3, 4, 5, 6, 7, 8].slice(0, text.includes('DW_OP_') ? 8 : 2)) {
		const cfa = dumpValue(dump.rules.get('.cfa'), seed, undefined);
		if (cfa === undefined || ours === undefined) {
			if (cfa === undefined && ours === undefined)
				counts.leftOut++;
			else
				failures.push(`${dump.start.toString(16)}: ${ours ? 'there is a' : 'no'} row for ${text}`);
			return;
		}
		if (postfix(ours.rules.get('.cfa'), seed, undefined) !== cfa)
			failures.push(`${ours.start.toString(16)} .cfa: ${ours.rules.get('.cfa')} is not ` +
				dump.rules.get('.cfa'));
		registersCompare(ours, dump, seed, cfa);
	}
}

// Compares with dump_syms.  Rows may differ if llvm-dwarfdump's row has an expression or an undefined register:
// symbols_cfi.sh explains these differences.
function recordsCompare(ours, theirs, dump) {
	const text = rules => [...rules].sort().map(rule => rule.join(': ')).join(' ');
	if (ours !== undefined && theirs !== undefined && text(ours.rules) === text(theirs.rules))
		return;
	if ([...dump.rules.values()].some(rule => rule.includes('DW_OP_') || rule === 'undefined'))
		counts.explained++;
	else
		failures.push(`${dump.start.toString(16)}: ${ours && text(ours.rules)} but dump_syms has ` +
			`${theirs && text(theirs.rules)}`);
}

// Returns a function that finds the row for an address.  Addresses must be ascending.
function finder(rows) {
	let at = 0;
	return address => {
		while (at < rows.length && rows[at].end <= address)
			at++;
		return at < rows.length && rows[at].start <= address ? rows[at] : undefined;
	};
}

const lists = [dumpRead(dumpPath), recordsRead(oursPath)];
if (readelfPath !== undefined)
	cfasReplace(lists[0], readelfRead(readelfPath));
if (theirsPath !== undefined)
	lists.push(recordsRead(theirsPath));
for (const list of lists.slice(1)) {
	for (let i = 1; i < list.length; i++) {
		if (list[i].start < list[i - 1].end)
			failures.push(`${list[i].start.toString(16)}: rows overlap`);
	}
}
const finders = lists.map(finder);
const starts = new Set(lists.flatMap(list => list.flatMap(row => [row.start, row.end])));
for (const address of [...starts].sort((a, b) => a < b ? -1 : a > b ? 1 : 0)) {
	const [dump, ours, theirs] = finders.map(find => find(address));
	if (dump === undefined) {
		if (ours !== undefined)
			failures.push(`${address.toString(16)}: llvm-dwarfdump has no row`);
		continue;
	}
	rowCompare(ours, dump);
	if (theirsPath !== undefined)
		recordsCompare(ours, theirs, dump);
}
console.log(Object.entries(counts).map(([name, count]) => `${name}=${count}`).join(' '));
for (const failure of failures.slice(0, 20))
	console.log(`  ${failure}`);
process.exit(failures.length > 0 || counts.rows === 0 ? 1 : 0);
