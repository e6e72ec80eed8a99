import assert from "node:assert/strict";
import { test } from "node:test";
import { layerNorm, mean, path, samePlace, size } from "../math/layer-stepper.mjs";
import { composition, partNames, segments, sentence, winners } from "../ui/layer-stepper.mjs";
import { close, golden } from "./golden.mjs";

/** @type {any[]} */
const CASES = golden("layer_stepper");
const example = CASES.find((one) => one.layer.tokens.includes("an") && one.order === "post" && one.residual);

test("every row, its parts and the words equal core's, in both orders, with and without sums", () => {
  assert.equal(CASES.length, 8);
  for (const { layer, token, order, residual, ...core } of CASES) {
    const made = path({ layer, token, order, residual });
    assert.deepEqual(made.places.map(({ name, kind }) => [name, kind]), core.places.map((/** @type {any} */ place) => [place.name, place.kind]));
    made.places.forEach((place, i) => {
      close(place.row, core.places[i].row, `${order}, ${place.name}`);
      close(place.parts, core.places[i].parts, `parts, ${order}, ${place.name}`);
    });
    close(made.probabilities, core.probabilities, `probabilities, ${order}`);
  }
});

test("parts always sum to the row", () => {
  for (const { layer, token, order, residual } of CASES)
    for (const { row, parts } of path({ layer, token, order, residual }).places)
      if (parts.length) close(row.map((_, c) => parts.reduce((sum, part) => sum + part[c], 0)), row, "parts");
});

test("a norm leaves mean 0 and the root of the width as length; a row of equal numbers does not divide by 0", () => {
  const [one, flat] = layerNorm([[3, 1, -4, 7], [2, 2, 2, 2]]);
  assert.ok(Math.abs(mean(one)) < 1e-12);
  assert.ok(Math.abs(size(one) - 2) < 1e-4);
  assert.deepEqual(flat, [0, 0, 0, 0]);
});

test("changing the order keeps the place by its name", () => {
  const { layer, token, residual } = example;
  const [post, pre] = /** @type {const} */ (["post", "pre"]).map((order) => path({ layer, token, residual, order }).places);
  const to = (/** @type {string} */ name) => pre[samePlace(post, post.findIndex((place) => place.name === name), pre)].name;
  for (const name of ["X", "head 2 writes", "sum", "hidden units", "second sum", "words"]) assert.equal(to(name), name);
  assert.equal(post[samePlace(pre, pre.length - 2, post)].name, "words");
  assert.equal(samePlace(pre, 99, pre), pre.length - 1);
});

test("segments stand side by side, to the right above 0 and to the left below", () => {
  const made = segments([1, -2, 3, -1], 4);
  assert.deepEqual(made.map(({ wide }) => wide), [0.25, 0.5, 0.75, 0.25]);
  assert.deepEqual(made.map(({ from }) => from), [0, -0.5, 0.25, -0.75]);
});

test("sentences say what happened", () => {
  const { layer, residual } = example;
  const token = layer.tokens.indexOf("an");
  const made = path({ layer, token, order: "post", residual });
  const said = made.places.map((_, at) => sentence(layer, token, made, at, residual));
  assert.match(said[0], /^“an” comes in/);
  assert.match(said[1], /^Head 1 looks most at “apple”, weight 0.93/);
  assert.match(said[4], /^Added to the row: length 4.71, mean 1.10/);
  assert.match(said[5], /^Mean 1.10 taken off, the rest divided by 1.26/);
  assert.match(said[6], /^7 of 16 units fire; most of all “thing and edible”, 1.71/);
  assert.match(said[said.length - 1], /“apple” and “Apfel”, 1.66/);
  const names = partNames(3, "an");
  assert.equal(composition(made.places[4], layer.columns.indexOf("small"), names), "1.00 from the word “an”, 0.80 from head 2");
  assert.equal(winners([1, 3, 3], ["a", "b", "c"]), "“b” and “c”");
  const bare = path({ layer, token, order: "pre", residual: false });
  assert.match(sentence(layer, token, bare, 1, false), /^A normalised copy/);
  assert.match(sentence(layer, token, bare, 5, false), /^Without the residual sum/);
});
