import assert from "node:assert/strict";
import { test } from "node:test";
import { attentionSteps, causalMask, matmul, projectQkv, softmax } from "../math/attention.mjs";
import { INPUTS, NAMES, cellsOf, products, shares, sources, strongest, uses } from "../math/trace.mjs";
import { decimals, step } from "../ui/matrix.mjs";
import { axes, bandName, equals, explain, formula, short } from "../ui/matrix-text.mjs";
import { close, golden } from "./golden.mjs";

/** @param {any} entry */
function flowOf(entry) {
  const { x_q, x_kv, w_q, w_k, w_v, mask } = entry;
  const made = projectQkv(x_q, x_kv, w_q, w_k, w_v);
  return { x_q, x_kv, w_q, w_k, w_v, ...made, ...attentionSteps(made.q, made.k, made.v, mask) };
}

const CASES = golden("attention");
const SELF = CASES[0];
const TOKENS = ["she", "ate", "an", "apple", "."];
const COLUMNS = ["who", "thing", "action", "small", "stop", "living", "edible", "past"];

/** @param {any} entry @param {boolean} causal @returns {import("../ui/matrix-text.mjs").Flow} */
function shown(entry, causal = false) {
  const { dotProducts, scaled, ...values } = flowOf(entry);
  return { self: true, causal, tokensQ: TOKENS, tokensKv: TOKENS, columnsQ: COLUMNS, columnsKv: COLUMNS, values, dotProducts, scaled };
}

const written = (/** @type {any[]} */ parts) => parts.map(({ text, sup }) => (sup === undefined ? text : `${text}^${sup}`)).join(" ");

test("every array equals core's: self, cross, causal, empty rows, huge scores", () => {
  assert.ok(CASES.length >= 17);
  for (const entry of CASES) {
    const made = flowOf(entry);
    for (const name of ["q", "k", "v", "scaled", "scores", "weights", "output"]) close(/** @type {any} */ (made)[name], entry[name], name);
    close(made.dotProducts, entry.dot_products);
  }
});

test("softmax: shares of one whole, a masked key gets 0, an empty row zeros, huge scores no NaN", () => {
  assert.deepEqual(softmax([-Infinity, -Infinity]), [0, 0]);
  assert.deepEqual(softmax([-Infinity, 3]), [0, 1]);
  close(softmax([1e4, 1e4 + 1]), softmax([0, 1]));
  close(softmax([7, 7, 7]), [1 / 3, 1 / 3, 1 / 3]);
});

test("causal mask and product", () => {
  assert.deepEqual(causalMask(2, 3), [[true, false, false], [true, true, false]]);
  assert.deepEqual(matmul([[1, 2, 3]], [[1, 0], [0, 1], [2, 2]]), [[7, 8]]);
});

test("each computed number is the sum of the products of its sources", () => {
  for (const self of [true, false]) {
    const { values } = { values: /** @type {any} */ (flowOf(self ? SELF : CASES[2])) };
    for (const name of NAMES.filter((name) => !INPUTS.includes(name) && name !== "weights")) {
      const root = name === "scores" ? Math.sqrt(values.q[0].length) : 1;
      for (let row = 0; row < values[name].length; row += 1)
        for (let col = 0; col < values[name][row].length; col += 1) {
          const sum = products({ name, row, col }, self, values).reduce((total, [a, b]) => total + a * b, 0);
          close(sum / root, values[name][row][col], `${name}[${row}, ${col}]`);
        }
    }
  }
});

test("sources and uses are each other's reverse", () => {
  for (const self of [true, false]) {
    const values = /** @type {any} */ (flowOf(self ? SELF : CASES[2]));
    const key = (/** @type {any} */ cell) => JSON.stringify(cell);
    for (const name of INPUTS.filter((name) => !self || name !== "x_q")) {
      const cell = /** @type {const} */ ({ name, row: 1, col: 1 });
      const forward = uses(cell, self).flatMap((band) => cellsOf(band, values)).map(key);
      const back = /** @type {const} */ (["q", "k", "v"]).flatMap((made) =>
        values[made].flatMap((/** @type {any} */ line, /** @type {number} */ row) => line.map((/** @type {any} */ _, /** @type {number} */ col) => ({ name: made, row, col }))),
      ).filter((made) => sources(made, self).flatMap((band) => cellsOf(band, values)).some((source) => key(source) === key(cell))).map(key);
      assert.deepEqual(forward.sort(), back.sort());
    }
  }
});

test("the way back from an output number ends at X", () => {
  const values = /** @type {any} */ (flowOf(SELF));
  /** @type {import("../math/trace.mjs").Cell} */
  let cell = { name: "output", row: 2, col: 1 };
  const path = [cell.name];
  while (!INPUTS.includes(cell.name)) {
    cell = strongest(cell, sources(cell, true)[0], true, values);
    path.push(cell.name);
  }
  assert.deepEqual(path, ["output", "weights", "scores", "q", "x_kv"]);
  assert.deepEqual(cell, { name: "x_kv", row: 2, col: 3 });
  assert.deepEqual(shares(cell, true, values), []);
});

test("the arithmetic is written out", () => {
  const flow = shown(SELF);
  const q = explain({ name: "q", row: 2, col: 0 }, flow);
  assert.equal(written(q.work), "0·0 + 0·0 + 0·2 + 1·4 + 0·0 + 0·0 + 0·0 + 0·2 = 4");
  assert.deepEqual(q.work.filter((part) => part.label).map((part) => part.label), COLUMNS);
  assert.equal(q.spoken, "Q, an, 0: 4. 1 times 4");
  const score = explain({ name: "scores", row: 2, col: 3 }, flow);
  assert.equal(written(score.work), "( 4·2 + 0·0 + 0·0 + 0·0 ) ÷ √4 = 8 ÷ √4 = 4");
  const weight = explain({ name: "weights", row: 2, col: 3 }, flow);
  assert.equal(written(weight.work), "e^4 ÷ ( e^0 + e^0 + e^0 + e^4 + e^0 ) = 54.598 ÷ 58.598 ≈ 0.932");
  assert.equal(weight.spoken, "query 'an' looks at key 'apple', weight 0.93");
  const output = explain({ name: "output", row: 2, col: 1 }, flow);
  assert.match(written(output.work), /^0\.017·1 \+ 0\.017·\(−1\) \+ 0\.017·0 \+ 0\.932·3 \+ 0\.017·0 ≈ 2\.795$/);
  assert.equal(written(explain({ name: "x_kv", row: 0, col: 0 }, flow).work), "");
});

test("masked scores and large scores say so", () => {
  const causal = shown(CASES[1], true);
  const hidden = { row: 1, col: 3 };
  assert.match(explain({ name: "scores", ...hidden }, causal).note, /^Masked: apple comes after ate/);
  assert.match(written(explain({ name: "weights", ...hidden }, causal).work), /^e\^−∞ ÷ .* = 0 ÷ .* = 0$/);
  const large = shown({ ...SELF, w_q: SELF.w_q.map((/** @type {number[]} */ line) => line.map((x) => 10 * x)) });
  const weight = explain({ name: "weights", row: 2, col: 0 }, large);
  assert.match(weight.note, /largest score, 40, is taken off first/);
  assert.match(written(weight.work), /^e\^−40 ÷ \( e\^−40 \+ e\^−40 \+ e\^−40 \+ e\^0/);
});

test("names: X is one array in self-attention, two in cross-attention", () => {
  assert.deepEqual(NAMES.map((name) => formula(name, true)).slice(1, 4), ["X = X_q = X_kv", "W_Q", "Q = X W_Q"]);
  assert.deepEqual([formula("q", false), formula("k", false), formula("scores", false)], ["Q = X_q W_Q", "K = X_kv W_K", "scores = Q Kᵀ ÷ √d_k"]);
  const flow = shown(SELF);
  assert.equal(bandName({ name: "w_q", axis: "col", index: 2 }, flow), "column 2 of W_Q");
  const sizes = { dK: 4, dV: 2 };
  const cross = { ...flow, self: false, tokensQ: ["a", "b"] };
  assert.deepEqual(axes("scores", cross, sizes), { rows: ["a", "b"], cols: TOKENS });
  assert.deepEqual(axes("v", cross, sizes), { rows: TOKENS, cols: ["0", "1"] });
});

test("numbers: as many decimals as a table needs, rounding admitted", () => {
  assert.deepEqual([decimals([[1, -2]]), decimals([[1, 0.5]]), decimals([[0.25, 0.1 + 0.2]]), decimals([[-Infinity, 2]])], [0, 1, 2, 0]);
  assert.deepEqual([2, -0.5, 1 / 3, -Infinity, 0, 1e-7, 12345678].map(short), ["2", "−0.5", "0.333", "−∞", "0", "1.00e−7", "1.23e7"]);
  assert.deepEqual([0.125, 1 / 3, -Infinity].map(equals), ["=", "≈", "="]);
});

test("keys move inside the table and never out of it", () => {
  const press = (/** @type {string} */ key, /** @type {any} */ more) => step({ key, ctrlKey: false, metaKey: false, altKey: false, ...more }, [1, 1], [3, 2]);
  assert.deepEqual(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"].map((key) => press(key, {})), [[0, 1], [2, 1], [1, 0], [1, 1], [1, 0], [1, 1]]);
  assert.deepEqual([press("Home", { ctrlKey: true }), press("End", { metaKey: true })], [[0, 0], [2, 1]]);
  assert.deepEqual([press("a", {}), press("ArrowUp", { ctrlKey: true }), press("ArrowUp", { altKey: true })], [null, null, null]);
});
