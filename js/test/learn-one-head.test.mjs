import assert from "node:assert/strict";
import { test } from "node:test";
import { forward, lossAndGradients, maps, MOST_STEPS, SHOWN, training } from "../math/learn-one-head.mjs";
import { changeText, sentence } from "../ui/learn-one-head.mjs";
import { close, golden } from "./golden.mjs";

test("losses, gradients, matrices, one table and both maps equal core's after every number of steps", () => {
  const cases = golden("learn_one_head");
  assert.equal(cases.length, 5);
  for (const { start, rate, steps, ...core } of cases) {
    const run = training(start, rate);
    const { four, gradients } = run.at(steps);
    close(run.losses(steps), core.losses, "losses");
    ["W_Q", "W_K", "W_V", "W_O"].forEach((name, m) => {
      close(four[m], core[name], name);
      close(gradients[m], core.gradients[m], `gradient of ${name}`);
      const before = run.at(Math.max(0, steps - 1)).four[m];
      close(four[m].map((row, i) => row.map((x, j) => x - before[i][j])), core.changes[m], `change of ${name}`);
    });
    const { scores, weights, says } = forward(four, SHOWN);
    close(scores, core.scores, "scores");
    close(weights, core.weights, "weights");
    close(says.map(([x], i) => [x, SHOWN.wanted[i]]), core.answers, "answers");
    close(maps(four).where, core.where, "where");
    close(maps(four).what, core.what, "what");
  }
});

test("the gradient is the slope of the loss", () => {
  const [{ start }] = golden("learn_one_head");
  const { gradients } = lossAndGradients(start);
  for (let m = 0; m < 4; m += 1) {
    const shifted = (/** @type {number} */ by) => lossAndGradients(start.map((/** @type {number[][]} */ w, /** @type {number} */ at) => (at === m ? w.map((row, i) => row.map((x, j) => (i + j === 0 ? x + by : x))) : w))).loss;
    const slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
    assert.ok(Math.abs(slope - gradients[m][0][0]) < 1e-9);
  }
});

test("it learns, and asking for fewer steps gives the same as before", () => {
  const [{ start }] = golden("learn_one_head");
  const run = training(start, 0.5);
  const early = run.at(3).loss;
  assert.ok(run.at(MOST_STEPS).loss < 0.01);
  assert.equal(run.at(3).loss, early);
  assert.equal(run.losses(3).length, 4);
});

test("sentences", () => {
  assert.equal(sentence([1], 0.2), "After 0 steps: loss 1.000. The right neighbour gets a weight of 0.20 on average (evenly: 0.20).");
  assert.match(sentence([1, 0.5], 0.2), /^After 1 step: loss 0\.500, before this step 1\.000\./);
  assert.match(sentence([1, NaN], NaN), /blown up/);
  assert.deepEqual([0.00004, 0.0012, -0.0286, 0.5, -1.5, 0].map(changeText), ["0.0", "+1.2", "−28.6", "+500", "−1500", "0.0"]);
});
