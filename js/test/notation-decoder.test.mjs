import assert from "node:assert/strict";
import { test } from "node:test";
import { CODE, FORMULAS, IDS, NAMES, decode, written } from "../math/notation-decoder.mjs";
import { WHAT, origin, pieces } from "../ui/notation-decoder.mjs";
import { close, golden } from "./golden.mjs";

const [{ names }, ...cases] = golden("notation_decoder");

test("every array equals core's, for every use and head", () => {
  assert.equal(cases.length, 9);
  for (const { arrays, ...state } of cases) {
    const made = decode(state);
    for (const id of IDS) close(made[id], arrays[id], `${id}, ${state.use}, head ${state.head}`);
  }
});

test("the names are the poster's", () => {
  assert.deepEqual(NAMES, names);
  assert.deepEqual(Object.keys(WHAT).sort(), [...IDS].sort());
});

test("every symbol stands in the paper's formulas, in the book's, in the columns' and in the code", () => {
  for (const rows of [...Object.values(FORMULAS), CODE]) {
    const found = new Set(rows.flat().flatMap((part) => (typeof part === "string" ? [] : [part[0]])));
    assert.deepEqual([...found].sort(), [...IDS].sort());
  }
});

test("the paper's Q is two arrays, its K and its V two each", () => {
  const stands = (/** @type {string} */ letter) =>
    new Set(FORMULAS.paper.flat().flatMap((part) => (typeof part !== "string" && (part[1] ?? NAMES[part[0]][0]) === letter ? [part[0]] : [])));
  assert.deepEqual([...stands("Q")], ["x_q", "q"]);
  assert.deepEqual([...stands("K")], ["x_kv", "k"]);
  assert.deepEqual([...stands("V")], ["x_kv", "v"]);
});

test("with tokens as columns an array lies on its side", () => {
  assert.deepEqual(written([[1, 2, 3]], "columns"), [[1], [2], [3]]);
  assert.deepEqual(written([[1, 2, 3]], "paper"), [[1, 2, 3]]);
});

test("low and high marks; a name with an underscore stays", () => {
  assert.deepEqual(pieces("W_{i}^{Q}"), [["", "W"], ["_", "i"], ["^", "Q"]]);
  assert.deepEqual(pieces("X_kv"), [["", "X_kv"]]);
});

test("where the inputs come from", () => {
  assert.match(origin("x_q", "cross"), /same decoder layer/);
  assert.match(origin("x_kv", "cross"), /last encoder layer/);
  assert.match(origin("x_kv", "encoder"), /very array that asks/);
  assert.match(origin("w_o", "cross"), /^learned/);
});
