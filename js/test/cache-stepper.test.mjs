import assert from "node:assert/strict";
import { test } from "node:test";
import { cacheStep, costs, WAYS, WORDS } from "../math/cache-stepper.mjs";
import { count, sentence, short } from "../ui/cache-stepper.mjs";
import { close, golden } from "./golden.mjs";

/** @typedef {import("../math/cache-stepper.mjs").State} State */
/** @param {Partial<State>} more */
const state = (more) => /** @type {State} */ ({ word: 5, kept: "K and V", sets: 3, head: 0, ...more });

test("queries, keys, values, weights, outputs and counts equal core's", () => {
  const cases = golden("cache_stepper");
  assert.equal(cases.length, 42);
  for (const { word, kept, sets, head, ...core } of cases) {
    const made = /** @type {any} */ (cacheStep({ word, kept, sets, head }));
    assert.deepEqual(Object.keys(made).sort(), Object.keys(core).sort());
    for (const name of Object.keys(core)) close(made[name], core[name], `${name}, ${word}, ${kept}, ${sets}, ${head}`);
  }
});

test("what is kept changes what is made and what it costs, and no number of the attention", () => {
  const [nothing, x, both] = WAYS.map((kept) => cacheStep(state({ kept })));
  for (const name of /** @type {const} */ (["q", "k", "v", "weights", "output", "table"])) {
    assert.deepEqual(nothing[name], both[name]);
    assert.deepEqual(x[name], both[name]);
  }
  assert.deepEqual(both.made, [0, 0, 0, 0, 0, 1]);
  assert.deepEqual(nothing.made, [1, 1, 1, 1, 1, 1]);
});

test("X is the smaller of the two with three sets, and the larger with one", () => {
  assert.ok(costs(6, "X", 3).numbers < costs(6, "K and V", 3).numbers);
  assert.ok(costs(6, "X", 1).numbers > costs(6, "K and V", 1).numbers);
  for (const way of WAYS) assert.equal(costs(1, way, 3).step, costs(1, "nothing", 3).step);
});

test("sentences and numbers", () => {
  const say = (/** @type {any} */ more) => sentence(state(more), cacheStep(state(more)));
  assert.match(say({}), /^“gegessen” looks at 6 rows, head 1 most at “Apfel”: weight 0\.92\. /);
  assert.match(say({}), /made: 1, kept: 5\. With nothing kept this step costs 6 times what/);
  assert.match(say({ kept: "X", sets: 1 }), /made: 6, from the kept X\./);
  assert.match(say({ kept: "nothing" }), /made: 6, all anew\./);
  assert.match(say({ word: 6 }), /head 1 at all alike: weight 0\.14\./);
  assert.match(say({ word: 0 }), /looks at 1 row, head 1 most at “<s>”: weight 1\.00\. .* costs 1 times/);
  assert.deepEqual([short(2), short(-1), short(1 / 3), count(12096)], ["2", "−1", "0.33", "12,096"]);
  assert.equal(WORDS.length, 7);
});
