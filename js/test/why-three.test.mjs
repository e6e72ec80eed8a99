import assert from "node:assert/strict";
import { test } from "node:test";
import { asymmetry, eigenvalues, learnedWeights, margins, onDifferences, symmetricPart } from "../math/why-three.mjs";
import { close, golden } from "./golden.mjs";

test("eigenvalues, asymmetry, margins and weights equal numpy's", () => {
  const cases = golden("why_three");
  assert.ok(cases.length >= 8);
  for (const { scores, pair, ...want } of cases) {
    const size = Math.max(1, ...want.eigenvalues.map(Math.abs));
    const found = eigenvalues(onDifferences(symmetricPart(scores)));
    close(found.map((x) => x / size), want.eigenvalues.map((/** @type {number} */ x) => x / size));
    close(asymmetry(scores), want.asymmetry);
    close(margins(scores, pair[0], pair[1]), want.margins);
    close(learnedWeights(scores, false), want.weights);
    close(learnedWeights(scores, true), want.masked);
  }
});

test("the margins of a pair add up to minus the quadratic form of their difference", () => {
  for (const { scores, pair: [i, j] } of golden("why_three")) {
    const g = symmetricPart(scores);
    const form = g[i][i] - 2 * g[i][j] + g[j][j];
    const [a, b] = margins(scores, i, j);
    close(a + b, -form);
  }
});

test("dot products of rows with themselves have no negative eigenvalue", () => {
  const [tied] = golden("why_three");
  assert.ok(eigenvalues(onDifferences(tied.scores))[0] > -1e-12);
});
