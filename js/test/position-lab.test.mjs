import assert from "node:assert/strict";
import { test } from "node:test";
import { lab, swapped, WORDS } from "../math/position-lab.mjs";
import { sentence } from "../ui/position-lab.mjs";
import { close, golden } from "./golden.mjs";

const HOME = [0, 1, 2, 3, 4];
/** @param {Partial<import("../math/position-lab.mjs").State>} more */
const state = (more) => ({ order: HOME, code: /** @type {const} */ ("none"), start: 0, causal: false, ...more });

test("weights, outputs, hands and likeness equal core's", () => {
  const cases = golden("position_lab");
  assert.equal(cases.length, 28);
  assert.equal(cases.filter((/** @type {any} */ one) => one.ends).length, 1);
  for (const { order, code, start, causal, ...core } of cases) {
    const made = /** @type {any} */ (lab({ order, code, start, causal }));
    for (const name of Object.keys(core)) {
      if (name === "ends") assert.equal(made.ends, core.ends);
      else close(made[name], core[name], `${name}, ${code}, ${start}`);
    }
  }
});

test("sentences", () => {
  const say = (/** @type {any} */ more) => sentence(state(more), lab(state(more)));
  const order = [3, 1, 2, 0, 4];
  assert.match(say({}), /^The words stand in order at place 0/);
  assert.equal(say({ order }), "Largest change of a word's output: 0. The order is not seen.");
  assert.match(say({ order, causal: true }), /at “\w+”\. The order is seen\.$/);
  assert.match(say({ order, code: "sinusoids" }), /The order is seen/);
  assert.equal(say({ start: 33, code: "rotary" }), "Largest change of a word's output: 0. The start is not seen.");
  assert.match(say({ start: 33, code: "sinusoids" }), /The start is seen/);
  assert.match(say({ start: 21, code: "learned" }), /25 rows: there is none for place 25\./);
});

test("a swap leaves the old order alone", () => {
  const order = Object.freeze([...HOME]);
  assert.deepEqual(swapped(order, 1, 2), [0, 2, 1, 3, 4]);
  assert.equal(WORDS.length, 5);
});
