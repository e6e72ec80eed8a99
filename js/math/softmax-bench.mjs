// A causal table of scores turned into weights along either axis, and what a change of the last query moves (chapter 3).
// The proof that it is core's arithmetic: js/test/golden/softmax_bench.json.

import { softmax, transpose } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {"keys" | "queries"} Axis what each sum runs over */

/**
 * The queries are the last tokens: query i may look at the keys up to its own place.
 * @param {number} nQ
 * @param {number} nK
 * @param {number} i
 * @param {number} j
 */
export function visible(nQ, nK, i, j) {
  return j <= i + nK - nQ;
}

/**
 * Scores as the softmax reads them: the last query multiplied, masked, divided by the temperature.
 * @param {Matrix} scores
 * @param {number} temperature
 * @param {number} times
 * @returns {number[][]}
 */
export function exponents(scores, temperature, times) {
  const nQ = scores.length;
  return scores.map((row, i) =>
    row.map((score, j) => (visible(nQ, row.length, i, j) ? (i === nQ - 1 ? times * score : score) / temperature : -Infinity)),
  );
}

/**
 * @param {Matrix} scaled
 * @param {Axis} axis
 * @returns {number[][]}
 */
export function weightsOver(scaled, axis) {
  return axis === "keys" ? scaled.map(softmax) : transpose(transpose(scaled).map(softmax));
}

/**
 * The largest change of a weight in each row.
 * @param {Matrix} before
 * @param {Matrix} after
 */
export function moves(before, after) {
  return after.map((row, i) => Math.max(...row.map((weight, j) => Math.abs(weight - before[i][j]))));
}

/**
 * Everything the bench shows.
 * @param {{ scores: Matrix, temperature: number, axis: Axis, times: number }} state
 */
export function bench({ scores, temperature, axis, times }) {
  const scaled = exponents(scores, temperature, times);
  const weights = weightsOver(scaled, axis);
  const moved = moves(weightsOver(exponents(scores, temperature, 1), axis), weights);
  const sum = (/** @type {readonly number[]} */ list) => list.reduce((total, x) => total + x, 0);
  return {
    scaled,
    weights,
    rowSums: weights.map(sum),
    columnSums: transpose(weights).map(sum),
    moved,
    leak: Math.max(...moved.slice(0, -1)),
  };
}
