import assert from "node:assert/strict";
import { test } from "node:test";
import { cosineSimilarity, degrees, dotProduct, projection, vectorLength, zone } from "../math/vectors.mjs";
import { factor, number, parse } from "../ui/format.mjs";
import { close, golden } from "./golden.mjs";

test("the arithmetic equals core's", () => {
  const cases = golden("dot_product");
  assert.ok(cases.length >= 12);
  for (const { x, y, ...want } of cases) {
    close(dotProduct(x, y), want.dot_product);
    close(vectorLength(x), want.length_x);
    close(vectorLength(y), want.length_y);
    close(cosineSimilarity(x, y), want.cosine_similarity);
    close(projection(x, y).length, want.shadow);
    close(projection(x, y).point, want.shadow_point);
  }
});

test("a vector without length has no direction", () => {
  assert.ok(Number.isNaN(cosineSimilarity([0, 0], [1, 2])));
  assert.ok(Number.isNaN(projection([1, 2], [0, 0]).length));
  assert.equal(zone(NaN), "none");
});

test("zones by the sign of the cosine", () => {
  assert.deepEqual([1, 0.3, 0.0004, 0, -0.0004, -0.3, -1].map(zone), ["same", "acute", "right", "right", "right", "obtuse", "opposite"]);
  assert.equal(degrees(1.0000000000000002), 0);
  close(degrees(0), 90);
});

test("numbers are written with a true minus sign and never as minus zero", () => {
  assert.deepEqual([1.444, -1.5, -0.001, 0, -Infinity, NaN].map((x) => number(x)), ["1.44", "−1.50", "0.00", "0.00", "−∞", "undefined"]);
  assert.equal(factor(-2, 1), "(−2.0)");
  assert.deepEqual([" −1,5 ", "2", "-.5"].map(parse), [-1.5, 2, -0.5]);
  assert.ok(Number.isNaN(parse("")));
});
