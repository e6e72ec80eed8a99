// Judge a list of [data, answers] from standard input and print the verdicts: tests/checks compares them with Python's.

import { readFileSync } from "node:fs";
import { judge } from "../judge.mjs";

const cases = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(cases.map((/** @type {any} */ [data, answers]) => judge(data, answers))));
