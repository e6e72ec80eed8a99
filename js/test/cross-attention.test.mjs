import assert from "node:assert/strict";
import { test } from "node:test";
import { add, crossAttention, meetings, moved, parts } from "../math/cross-attention.mjs";
import { scoreText, spread } from "../ui/cross-attention.mjs";
import { close, golden } from "./golden.mjs";

test("weights, output, cargo and the parts of a number equal core's, shuffled and hidden", () => {
  const cases = golden("cross_attention");
  assert.equal(cases.length, 9);
  for (const { inputs, parameters, order, hidden, chosen, ...core } of cases) {
    const [t, c, head, word] = chosen;
    const memory = order.map((/** @type {number} */ w) => inputs.memory[w]);
    const seen = order.map((/** @type {number} */ w) => !hidden[w]);
    const made = crossAttention(inputs.X, memory, parameters, seen);
    close(made.heads.map(({ weights }) => weights), core.weights, "weights");
    close(made.heads.map(({ cargo }) => cargo), core.cargo, "cargo");
    close(made.output, core.output, "output");
    const shares = parts(made, t, c);
    close(shares, core.parts, "parts");
    close(add(shares.map(add)), core.output[t][c], "the parts' sum");
    const place = order.indexOf(word);
    close(made.heads[head].weights[t][place], core.weight, "weight");
    close(made.heads[head].scores[t][place], core.score, "score");
    const met = meetings(inputs.X[t], inputs.memory[word], parameters.W_Q[head], parameters.W_K[head]);
    const root = Math.sqrt(parameters.W_Q[head][0].length);
    close(add(met.map(({ product }) => product)) / root, core.score, "the meetings' sum");
  }
});

test("meetings: zeros are left out, the largest comes first", () => {
  const met = meetings([1, 0, 2], [3, 1], [[1], [5], [1]], [[1], [1]]);
  assert.deepEqual(met.map(({ a, b, product }) => [a, b, product]), [[2, 0, 6], [0, 0, 3], [2, 1, 2], [0, 1, 1]]);
});

test("a word moves by one place, and not beyond the ends", () => {
  assert.deepEqual(moved([0, 1, 2], 1, -1), [1, 0, 2]);
  assert.deepEqual(moved([0, 1, 2], 0, -1), [0, 1, 2]);
  assert.deepEqual(moved([0, 1, 2], 2, 1), [0, 1, 2]);
});

test("columns follow the words, and the middles lie in them", () => {
  const { columns, middles } = spread(["a", "bcd"], 1);
  assert.equal(columns, "2.0fr 4.0fr");
  close(middles, [1000 / 6, 4000 / 6]);
});

test("the score is told in the columns of both words", () => {
  const facts = { query: "gegessen", key: "ate", columns: ["action"], columnsKv: ["action"], root: 2, score: 4, hidden: false };
  const met = [{ a: 0, b: 0, x: 1, m: 2, strength: 4, product: 8 }];
  assert.equal(
    scoreText({ ...facts, meetings: met }),
    "Score 4.00 = (1 × 4 × 2) / 2: action 1 of gegessen, joined by 4 to action 2 of ate.",
  );
  assert.match(scoreText({ ...facts, meetings: [] }), /No column of gegessen meets/);
  assert.match(scoreText({ ...facts, meetings: met, hidden: true }), /ate is hidden/);
  const both = scoreText({ ...facts, meetings: [...met, { ...met[0], x: -1, m: 0.5 }] });
  assert.match(both, /\(1 × 4 × 2 \+ \(−1\) × 4 × 0\.50\) \/ 2: .*; action \(−1\) of gegessen/);
});
