import assert from "node:assert/strict";
import { test } from "node:test";
import { curve, extent, lookUp, niceStep, ticks } from "../math/soft-lookup.mjs";
import { largest, placesOf, short, verdict } from "../ui/soft-lookup.mjs";
import { close, golden } from "./golden.mjs";

const PAIRS = [[0, 10], [2, 30], [9, 80]];
const STATE = { pairs: PAIRS, query: 1, bandwidth: 1, score: /** @type {const} */ ("distance"), hard: false };

test("scores, weights, products and output equal core's, by both scores, soft and hard", () => {
  const cases = golden("soft_lookup");
  assert.equal(cases.length, 48);
  for (const { scores, weights, parts, output, ...state } of cases) {
    const found = lookUp(state);
    close(found.scores, scores, "scores");
    close(found.weights, weights, "weights");
    close(found.parts, parts, "parts");
    close([found.output], [output], "output");
  }
});

test("the curve is the output at every place", () => {
  const places = placesOf([0, 2, 9]);
  assert.equal(places.length, 181);
  const outputs = curve(STATE, places);
  close([outputs[90]], [lookUp({ ...STATE, query: places[90] }).output], "middle");
  assert.ok(outputs.every((y) => y >= 10 && y <= 80));
});

test("both ends of the bandwidth", () => {
  close([lookUp({ ...STATE, bandwidth: 0.125 }).output], [20], "a tie shares");
  assert.equal(lookUp({ ...STATE, hard: true }).output, 10);
  assert.ok(Math.abs(lookUp({ ...STATE, bandwidth: 128 }).output - 40) < 0.1);
});

test("the line shows a little more than the keys, and nothing below 0 if no key is", () => {
  assert.deepEqual(extent([1, 21]), [0, 22]);
  assert.deepEqual(extent([10, 30]), [9, 31]);
  assert.deepEqual(extent([-10, 10]), [-11, 11]);
});

test("ticks are round", () => {
  assert.equal(niceStep(30, 400), 0.1);
  assert.equal(niceStep(524, 5), 200);
  assert.deepEqual(ticks(0, 30.4, 7), [0, 5, 10, 15, 20, 25, 30]);
  assert.deepEqual(ticks(-0.35, 0.3, 4), [-0.2, 0, 0.2]);
  assert.deepEqual([short(7.3, 0.1), short(400, 200), short(-0.25, 0.05)], ["7.3", "400", "−0.25"]);
});

test("the table keeps the whole sum", () => {
  const pairs = Array.from({ length: 9 }, (_, j) => [j, 10 * j]);
  const found = lookUp({ ...STATE, pairs, bandwidth: 2 });
  const { top, others, restWeight, restPart } = largest(found);
  assert.deepEqual(top, [1, 0, 2, 3]);
  assert.equal(others, 5);
  const sum = (/** @type {number[]} */ list) => top.reduce((total, j) => total + list[j], 0);
  close([sum(found.weights) + restWeight, sum(found.parts) + restPart], [1, found.output], "sum");
});

test("the sentence says who wins and why", () => {
  const say = (/** @type {Partial<import("../math/soft-lookup.mjs").State>} */ more) => {
    const state = { ...STATE, query: 1.9, ...more };
    return verdict(state, lookUp(state), "km");
  };
  assert.match(say({}), /^The nearest key, at 2\.0 km, has the largest weight, 0\.86/);
  assert.match(say({ hard: true }), /takes all\.$/);
  assert.match(say({ bandwidth: 0.125 }), /takes nearly all/);
  assert.match(say({ bandwidth: 128 }), /nearly equal/);
  assert.match(say({ score: "dot" }), /^The key at 9\.0 km wins, not the nearest one at 2\.0 km/);
});
