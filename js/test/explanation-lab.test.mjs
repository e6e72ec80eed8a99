import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BODY, freeDirections, lab, METHODS, modelOf, otherWeights, put, relevant, rule, separation, TOKENS } from "../math/explanation-lab.mjs";
import { readWeights } from "../math/safetensors.mjs";
import { sentence } from "../ui/explanation-lab.mjs";
import { close, golden } from "./golden.mjs";

/** @type {Record<string, import("../math/explanation-lab.mjs").Model>} */
const MODELS = Object.fromEntries(
  ["one", "two", "hidden"].map((name) => {
    const file = readFileSync(new URL(`../../src/qkv/data/known_truth_${name}.safetensors`, import.meta.url));
    return [name, modelOf(readWeights(file.toString("base64")))];
  }),
);

test("the script for pages holds the same weights", () => {
  const script = readFileSync(new URL("../../src/qkv/widgets/static/known-truth-weights.js", import.meta.url), "utf8");
  const held = JSON.parse(script.split(".knownTruth=")[1].trim().slice(0, -1));
  for (const [name, model] of Object.entries(MODELS)) assert.deepEqual(modelOf(readWeights(held[name])), model);
});

test("answers, truth and every method equal core's", () => {
  const cases = golden("explanation_lab");
  assert.equal(cases.length, 60);
  for (const { made: core, ...state } of cases) {
    const made = /** @type {any} */ (lab(MODELS[state.model], state));
    for (const name of ["said", "right"]) assert.equal(made[name], core[name]);
    assert.deepEqual(made.truth, core.truth.map(Number));
    assert.deepEqual(made.free, core.free);
    for (const name of METHODS) close(made[name], core[name], `${name}, ${state.text.join(" ")}, ${state.model} ${state.layer} ${state.slide}`);
    close([made.moved], [core.moved], "moved");
    assert.ok(made.output_moved < 1e-12 * Math.max(1, ...made.norms) && core.output_moved < 1e-10);
  }
});

test("a walk keeps sum and output, and ends with few keys", () => {
  const v = [[1, 2], [3, -1], [0, 0.5], [2, 2], [-1, 1], [0.5, 4]];
  const weights = [0.3, 0.2, 0.1, 0.2, 0.15, 0.05];
  assert.equal(freeDirections(v), 3);
  for (const share of [0, 0.5, 1]) {
    const other = otherWeights(weights, v, share);
    assert.ok(other.every((w) => w >= 0));
    const mean = (/** @type {number[]} */ w) => [0, 1].map((c) => w.reduce((sum, x, j) => sum + x * v[j][c], 0));
    close(mean(other), mean(weights), "output");
    close([other.reduce((a, b) => a + b)], [1], "sum");
    if (share === 1) assert.ok(other.filter((w) => w > 0).length <= 3);
    if (share === 0) assert.deepEqual(other, weights);
  }
});

test("the rule, and what may stand in a text", () => {
  const text = "A→C * B1 · C3 * · · A?".split(" ");
  assert.equal(rule(text), 3);
  assert.deepEqual(relevant(text), [0, 1, 0, 0, 0, 1, 0, 0, 0]);
  assert.equal(rule(put(text, 4, "·")), 5);
  assert.deepEqual(put(text, 3, "A2").slice(0, 4), ["·", "*", "B1", "A2"]);
  let starred = text;
  for (const place of [2, 3, 6]) starred = put(starred, place, "*");
  assert.equal(starred.filter((token) => token === "*").length, 4);
  assert.equal(BODY.length, 34);
  assert.equal(new Set(TOKENS).size, 41);
});

test("separation counts ties as one half", () => {
  assert.equal(separation([0.45, 0.05, 0.15, 0.15, 0.2], [1, 0, 1, 0, 0]), 0.75);
  assert.ok(Number.isNaN(separation([1, 2], [0, 0])));
});

test("sentences", () => {
  const say = (/** @type {any} */ more) => {
    const state = { text: "A→C * B1 · C3 * · · A?".split(" "), model: "two", layer: 2, slide: 0, ...more };
    return sentence(state, lab(MODELS[state.model], state));
  };
  assert.equal(say({}), "The model says 3, as the rule does. A→C and C3 matter. The largest weight of layer 2, 0.48, is on <s>, which does not matter.");
  assert.match(say({ slide: 1 }), /These are other weights: \d+ % of the weight has moved, the output by 0\.00\.$/);
  assert.match(say({ model: "hidden" }), /^The model says –, the rule 3\./);
  assert.match(say({ text: "A→C * B1 · C3 * · · !".split(" ") }), /No token matters\./);
  assert.match(say({ model: "one" }), /largest weight of layer 1/);
});
