// SPDX-License-Identifier: MIT OR Apache-2.0
// functions.mjs REPORT: prints the functions of a report (the output of `vgtool report --json`) for scripts.  Each line
// has self_samples, total_samples, self_ns, total_ns and the name.  The first line is the sum, with the name "*".
import { readFileSync } from "node:fs";

const report = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(report.samples, report.samples, report[report.weight + "_ns"], report[report.weight + "_ns"], "*");
for (const f of report.functions)
	console.log(f.self_samples, f.total_samples, f.self_ns, f.total_ns, f.name);
