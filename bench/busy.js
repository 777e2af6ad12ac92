// SPDX-License-Identifier: MIT OR Apache-2.0
// A steady load that never ends: several kinds of work in turn, in compiled code, the interpreter, compiled regular
// expressions, and the runtime in C++.
'use strict';

const words = Array.from({ length: 400 }, (_, i) => `word${(i * 7919) % 1000}`);
const text = words.join(' ');

const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
const parse = () => JSON.parse(JSON.stringify(words.map((word, i) => ({ word, i }))));
const search = () => text.replace(/w(or)d(\d)/g, (_, or, digit) => digit + or);
const order = () => [...words].sort((a, b) => a.length - b.length || a.localeCompare(b));

function work() {
	for (let i = 0; i < 20; i++) {
		fib(18);
		parse();
		search();
		order();
	}
	setImmediate(work);
}
work();
