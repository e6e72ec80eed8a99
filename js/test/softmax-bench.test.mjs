import assert from "node:assert/strict";
import { test } from "node:test";
import { bench, visible } from "../math/softmax-bench.mjs";
import { namesOf, power } from "../ui/softmax-bench.mjs";
import { close, golden } from "./golden.mjs";

const AXES = /** @type {const} */ (["keys", "queries"]);

test("weights along both axes and what moved equal core's", () => {
  const cases = golden("softmax_bench");
  assert.ok(cases.length >= 12);
  for (const { scores, temperature, times, weights, moved } of cases)
    for (const axis of AXES) {
      const made = bench({ scores, temperature, times, axis });
      close(made.weights, weights[axis], `weights over ${axis}`);
      close(made.moved, moved[axis], `moved, ${axis}`);
      close(made.leak, Math.max(...moved[axis].slice(0, -1)));
    }
});

test("rows or columns sum to one, and only the sum over queries leaks", () => {
  const scores = [[1, 2, 0, 0, 0], [-0.5, 0.5, 1, 0, 0], [0, 1.5, 0.5, 2, 0], [0.5, 1, -1, 0.5, 1.5]];
  const state = { scores, temperature: 1, times: 3 };
  const right = bench({ ...state, axis: "keys" });
  close(right.rowSums, [1, 1, 1, 1]);
  assert.equal(right.leak, 0);
  assert.ok(right.moved[3] > 0.1);
  const wrong = bench({ ...state, axis: "queries" });
  close(wrong.columnSums, [1, 1, 1, 1, 1]);
  assert.ok(wrong.leak > 0.1);
  assert.equal(wrong.weights[3][4], 1); // one visible query in the last column
});

test("a constant on the last query's scores: the rows do not feel it, the columns do", () => {
  const scores = [[0.3, 1], [2, -1]];
  const shifted = [[0.3, 1], [3, 0]];
  const made = (/** @type {number[][]} */ s, /** @type {"keys" | "queries"} */ axis) => bench({ scores: s, temperature: 1, times: 1, axis }).weights;
  close(made(scores, "keys"), made(shifted, "keys"));
  assert.ok(Math.abs(made(scores, "queries")[0][0] - made(shifted, "queries")[0][0]) > 0.05);
});

test("names, visibility, short powers", () => {
  assert.deepEqual(namesOf(["a", "b", "c"], 2), { queries: ["b", "c"], keys: ["a", "b", "c"] });
  assert.deepEqual([0, 1, 2, 3, 4].map((j) => visible(4, 5, 1, j)), [true, true, true, false, false]);
  assert.deepEqual([0, 0.001, 2.5, 1234567].map(power), ["0.00", "1.0e−3", "2.50", "1.2e6"]);
});
