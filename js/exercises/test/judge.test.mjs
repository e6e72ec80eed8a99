// The judge of the page; that it agrees with Python is tested in tests/checks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, readNumber } from "../judge.mjs";
import { isSolved, remember } from "../memory.mjs";

const number = /** @type {import("../judge.mjs").NumberData} */ ({
  kind: "number", answer: 0.96, tolerance: 0.005, rounds: true, right: "yes", otherwise: "which?", sign: "sign?", rounding: "round?",
  wrong: [{ value: 48, question: "divide?" }],
});

test("numbers are read as people write them", () => {
  const read = { "2": 2, " -0.5 ": -0.5, "−3": -3, "0,75": 0.75, "3/4": 0.75, "-1 / 2": -0.5, "1e2": 100, "+4": 4, ".5": 0.5, "5.": 5 };
  for (const [text, value] of Object.entries(read)) assert.equal(readNumber(text), value, text);
  for (const text of ["", " ", "two", "1/0", "1.2.3", "1;2", "NaN", "Infinity", "1e999", "--1", "0x10"])
    assert.equal(readNumber(text), null, text);
});

test("a number: right, known, sign, rounding, anything else", () => {
  const said = (/** @type {string} */ text) => judge(number, [text]).message;
  assert.deepEqual(["0.96", "0.955", "0.965", "48", "-0.96", "0.95", "7"].map(said), ["yes", "yes", "yes", "divide?", "sign?", "round?", "which?"]);
  assert.equal(judge(number, [""]).honest, false);
});

test("a row says which entries hold, and what was typed is escaped", () => {
  const row = /** @type {import("../judge.mjs").RowData} */ ({
    kind: "row", answer: [1, 2], labels: ["a", "b"], tolerance: 1e-6, right: "yes", otherwise: "which?", wrong: [{ value: [2, 1], question: "order?" }],
  });
  assert.deepEqual(judge(row, ["1", "3"]), { right: false, honest: true, message: "which?", entries: [true, false] });
  assert.equal(judge(row, ["2", "1"]).message, "order?");
  assert.equal(judge(row, ["1", "2"]).right, true);
  assert.doesNotMatch(judge(row, ["1", "<b>"]).message, /<b>/);
});

test("nothing chosen is no try", () => {
  const choice = /** @type {import("../judge.mjs").ChoiceData} */ ({ kind: "choice", options: { a: { correct: true, why: "so" } } });
  assert.equal(judge(choice, []).honest, false);
  assert.deepEqual(judge(choice, ["a"]), { right: true, honest: true, message: "so" });
});

test("an order: the first broken rule speaks, and orders that keep all rules are right", () => {
  const order = /** @type {import("../judge.mjs").OrderData} */ ({
    kind: "order", right: "yes", rules: [{ before: "a", after: "b", why: "ab?" }, { before: "a", after: "c", why: "ac?" }],
  });
  const said = ["abc", "acb", "bac", "cab", "cba"].map((letters) => judge(order, [...letters]).message);
  assert.deepEqual(said, ["yes", "yes", "ab?", "ac?", "ab?"]);
});

test("a matching: what is open is named, a confusion is recognised, entries say which hold", () => {
  const match = /** @type {import("../judge.mjs").MatchData} */ ({
    kind: "match", answer: [2, 0], labels: ["<i>", "j"], right: "yes", otherwise: "which?", wrong: [{ pairs: [[0, 1]], question: "one?" }],
  });
  assert.match(judge(match, ["", "0"]).message, /still open: &#60;i&#62;\./);
  assert.equal(judge(match, ["2", "0"]).right, true);
  assert.deepEqual(judge(match, ["1", "0"]), { right: false, honest: true, message: "one?", entries: [false, true] });
  assert.equal(judge(match, ["2", "1"]).message, "which?");
});

test("a cell: known, same row, same column, elsewhere, none", () => {
  const cell = /** @type {import("../judge.mjs").CellData} */ ({
    kind: "cell", answer: [1, 2], right: "yes", inRow: "column?", inColumn: "row?", otherwise: "where?", wrong: [{ cell: [2, 1], question: "turned?" }],
  });
  const said = ["1 2", "2 1", "1 0", "0 2", "0 0"].map((marked) => judge(cell, [marked]).message);
  assert.deepEqual(said, ["yes", "turned?", "column?", "row?", "where?"]);
  assert.equal(judge(cell, []).honest, false);
});

test("without localStorage nothing is remembered and nothing breaks", () => {
  remember("x");
  assert.equal(isSolved("x"), false);
});
