import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { firstOf, idsOf, letter, LONGEST, run, tidy, trace } from "../math/induction-trace.mjs";
import { half, readWeights } from "../math/safetensors.mjs";
import { sentence, verdict } from "../ui/induction-trace.mjs";
import { close, golden } from "./golden.mjs";

const SCRIPT = new URL("../../src/qkv/widgets/static/two-layers-weights.js", import.meta.url);
const weights = readWeights(readFileSync(SCRIPT, "utf8").split('"')[1]);
/** @param {any} [more] */
const state = (more) => ({ text: "QUERYKEYVALU", row: -1, head: 0, step: 4, closed: [], ...more });

test("every number equals core's, with every kind of path closed", () => {
  const cases = golden("induction_trace");
  assert.equal(cases.length, 28);
  for (const { made, ...given } of cases) {
    const mine = /** @type {any} */ (trace(weights, given));
    assert.deepEqual(Object.keys(mine).sort(), Object.keys(made).sort());
    for (const name of Object.keys(made)) close(mine[name], made[name], `${name}, ${JSON.stringify(given)}`);
  }
});

test("a score is the sum of its parts, also when the keys read no notes", () => {
  for (const closed of [[], ["K"], ["1.2"]]) {
    const { parts, scores } = trace(weights, state({ closed }));
    scores.forEach((score, j) => assert.ok(Math.abs(score - parts[0][j] - parts[1][j] - parts[2][j]) < 1e-9));
    assert.equal(parts[2].every((x) => x === 0), closed.length > 0);
  }
});

test("no row sees a later letter", () => {
  const [a, b] = ["QUERYKEYVALU", "QUERYKEZZZZZ"].map((text) => run(weights, text, []).scores);
  close(a.slice(0, 7), b.slice(0, 7), "rows before the change");
});

test("texts and numbers of 16 bits", () => {
  assert.equal(tidy("Query, key & value: 3 arrays"), "QUERYKEYVALUEARR");
  assert.equal(tidy("Query, key & value: 3 arrays").length, LONGEST);
  assert.deepEqual(idsOf("AZ").map(letter), ["A", "Z"]);
  assert.deepEqual([0, 1, 2, 3].map((row) => firstOf("ABAB", row)), [-1, -1, 0, 1]);
  assert.deepEqual([0x3c00, 0xc000, 0x0001, 0x7bff, 0xfc00].map(half), [1, -2, 2 ** -24, 65504, -Infinity]);
  assert.ok(Number.isNaN(half(0x7e00)));
});

test("sentences", () => {
  const say = (/** @type {any} */ more) => sentence(state(more), trace(weights, state(more)));
  assert.match(say({ step: 1 }), /^Layer 1, row 2 \(E\): head 1\.1 looks at .*; head 1\.2 looks at place 1 \(U\), weight 0\.99\.$/);
  assert.match(say({ step: 1, closed: ["1.2"] }), /and writes nothing/);
  assert.match(say({ step: 2 }), /^head 2\.1: the key of place 2 \(E\) meets the query of place 11 \(U\): .* from head 1\.2\. Score/);
  assert.equal(say({ step: 3, head: 1 }), "head 2.2: place 11 (U) looks at place 2 (E), weight 1.00.");
  assert.match(say({ step: 3, closed: ["2.1"] }), /taken out/);
  assert.match(say({}), /^Place 11 says E, probability 1\.00\. U stood at place 1, and E came after it: right\.$/);
  assert.match(say({ closed: ["K"] }), /wrong\.$/);
  const fresh = state({ row: 3 });
  assert.equal(verdict(fresh, trace(weights, fresh)), "R is new here, so nobody asks.");
});
