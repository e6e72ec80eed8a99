import assert from "node:assert/strict";
import { test } from "node:test";
import { BINS, divisor, histogram, lab, normal, QUERIES, reach, sampler } from "../math/scale-lab.mjs";
import { bell, short } from "../ui/scale-lab.mjs";
import { close, golden } from "./golden.mjs";

const STATE = { dK: 64, nK: 16, factor: /** @type {const} */ ("sqrt") };

test("random numbers and everything shown equal Python's", () => {
  const cases = golden("scale_lab");
  assert.ok(cases.length >= 15);
  for (const { d_k, n_k, factor, seed, entries, counts, ...shown } of cases) {
    close([0, 31, 32 + n_k - 1].map((row) => normal(row, d_k - 1, seed)), entries, "entries");
    const made = lab(sampler(seed), { dK: d_k, nK: n_k, factor });
    for (const [name, want] of Object.entries(shown)) close(/** @type {any} */ (made)[name], want, `${name}, ${factor}, d_k ${d_k}`);
    assert.deepEqual(made.counts, counts);
  }
});

test("a sample that was widened and narrowed gives what a fresh one gives", () => {
  const worn = sampler(3);
  for (const [dK, nK] of [[8, 4], [512, 64], [8, 16], [2, 4], [64, 16]]) worn.dotProducts(dK, nK);
  assert.deepEqual(lab(worn, STATE), lab(sampler(3), STATE));
});

test("the spread is foretold, and the root brings it to one", () => {
  for (const dK of [1, 16, 256, 1024]) {
    const made = lab(sampler(1), { dK, nK: 256, factor: "none" });
    assert.ok(Math.abs(made.spread / Math.sqrt(dK) - 1) < 0.12, `${dK}: ${made.spread}`);
    assert.equal(lab(sampler(1), { dK, nK: 4, factor: "sqrt" }).predicted, 1);
  }
  assert.ok(lab(sampler(0), { dK: 512, nK: 16, factor: "none" }).largest > 0.9);
  assert.ok(lab(sampler(0), { dK: 512, nK: 16, factor: "d" }).largest < 0.08);
});

test("the draws have mean 0 and variance 1", () => {
  const drawn = Array.from({ length: 20000 }, (_, i) => normal(i % 32, Math.floor(i / 32), 5));
  const mean = drawn.reduce((sum, x) => sum + x, 0) / drawn.length;
  const variance = drawn.reduce((sum, x) => sum + x * x, 0) / drawn.length;
  assert.ok(Math.abs(mean) < 0.02 && Math.abs(variance - 1) < 0.03, `${mean} ${variance}`);
});

test("histogram, reach, bell, divisor, short numbers", () => {
  assert.equal(histogram([-4, 0, 3.99, 4, 9, -4.01], 4).reduce((sum, count) => sum + count, 0), 3);
  assert.deepEqual([0.1, 1, 1.3, 8, 32].map(reach), [4, 4, 8, 32, 128]);
  const total = QUERIES * 16;
  const area = bell({ predicted: 1, edge: 4 }, total).reduce((sum, y) => sum + y, 0);
  assert.ok(Math.abs(area / total - 1) < 0.001 && BINS === 40);
  assert.deepEqual((/** @type {const} */ (["none", "sqrt", "d"])).map((f) => divisor(f, 16)), [1, 4, 16]);
  assert.deepEqual([0, 32, 123.4, 8.001, 0.7894, 0.0625, 0.00004].map(short), ["0", "32.0", "123", "8.00", "0.789", "0.0625", "0.000040"]);
});
