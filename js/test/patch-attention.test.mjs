import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { DIGITS, inkOf, known, ORDER, pixelsOfPatches, probabilities, see, shown, shuffled } from "../math/patch-attention.mjs";
import { readWeights } from "../math/transformer.mjs";
import { nameOf, sentence, verdict } from "../ui/patch-attention.mjs";
import { close, golden } from "./golden.mjs";

const script = readFileSync(new URL("../../src/qkv/widgets/static/image-model.js", import.meta.url), "utf8");
const weights = readWeights(script.split('"')[1]);
const [first, ...cases] = golden("patch_attention");

test("the pictures, the order and the shuffle are Python's", () => {
  assert.deepEqual(
    DIGITS.map(([place, digit, text]) => ({ place, digit, ink: inkOf(text) })),
    first.shipped,
  );
  assert.deepEqual(ORDER, first.order);
  assert.deepEqual(shuffled(inkOf(DIGITS[6][2])), first.moved);
  assert.deepEqual(pixelsOfPatches()[6], [20, 21, 28, 29]);
  assert.equal(known(inkOf(DIGITS[3][2]))?.[1], 3);
  assert.equal(known(first.moved), undefined);
});

test("scores, heads, means and rollouts equal core's", () => {
  assert.equal(cases.length, 4);
  for (const { ink, scores, looks } of cases) {
    const made = see(weights, ink);
    close(made.scores, scores);
    for (const { layer, view, weights: wanted } of looks) {
      close(
        shown(made.weights, layer, view).map((row) => Array.from(row)),
        wanted,
      );
    }
  }
});

test("rows of every view sum to 1, and so do the classes", () => {
  const made = see(weights, inkOf(DIGITS[0][2]));
  for (const view of ["0", "1", "2", "mean", "rollout"])
    for (const row of shown(made.weights, 2, view)) close([row.reduce((a, b) => a + b)], [1]);
  close([probabilities(made.scores).reduce((a, b) => a + b)], [1]);
});

test("sentences name who asks, what is looked at, and whether the answer is right", () => {
  const row = [0.1, 0.7, 0.2];
  const look = { ink: inkOf(DIGITS[3][2]), layer: 1, view: "2", query: 0, weights: [row, row, [0.8, 0.1, 0.1]], scores: [0, 0, 0, 9, 0, 0, 0, 0, 0, 0] };
  assert.equal(sentence(look), "The class token asks in layer 2, head 3: it looks most at patch 1, 70.0 %.");
  assert.equal(sentence({ ...look, query: 1, view: "mean" }), "Patch 1 asks in layer 2, mean of the heads: it looks most at itself, 70.0 %.");
  assert.equal(sentence({ ...look, query: 2, view: "rollout" }), "Patch 2, rollout up to layer 2: the largest share is the class token, 80.0 %.");
  assert.match(verdict(look), /^The model says 3, 99\.\d % sure\. Right\.$/);
  assert.match(verdict({ ...look, ink: inkOf(DIGITS[4][2]) }), /Wrong: it is a 4\.$/);
  assert.match(verdict({ ...look, ink: look.ink.map(() => 0) }), /sure\.$/);
  assert.equal(nameOf(0), "class token");
});
