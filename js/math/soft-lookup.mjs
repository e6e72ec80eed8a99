// One look-up on a line: scores from distances or dot products, soft or hard weights, the mean of the values (chapter 4).
// The proof that it is core's arithmetic: js/test/golden/soft_lookup.json.

import { softmax } from "./attention.mjs";

/** @typedef {"distance" | "dot"} Score */
/** @typedef {{ pairs: readonly (readonly number[])[], query: number, bandwidth: number, score: Score, hard: boolean }} State a pair is key, value */

/**
 * @param {State} state
 * @returns {number[]}
 */
export function scoresOf({ pairs, query, bandwidth, score }) {
  const square = bandwidth * bandwidth;
  return pairs.map(([key]) => (score === "dot" ? (query * key) / square : -((query - key) ** 2) / (2 * square)));
}

/**
 * Everything the widget shows of one query.
 * @param {State} state
 */
export function lookUp(state) {
  const scores = scoresOf(state);
  const best = scores.indexOf(Math.max(...scores));
  const weights = state.hard ? scores.map((_, j) => (j === best ? 1 : 0)) : softmax(scores);
  const parts = weights.map((weight, j) => weight * state.pairs[j][1]);
  return { scores, weights, parts, output: parts.reduce((sum, part) => sum + part, 0) };
}

/**
 * The output at many places.
 * @param {State} state
 * @param {readonly number[]} places
 */
export function curve(state, places) {
  return places.map((query) => lookUp({ ...state, query }).output);
}

/**
 * The part of the line that is shown: the keys and a little more on both sides, but not below 0 if no key is.
 * @param {readonly number[]} keys
 * @returns {[number, number]}
 */
export function extent(keys) {
  const [low, high] = [Math.min(...keys), Math.max(...keys)];
  const more = 0.05 * (high - low || 1);
  return [low >= 0 ? Math.max(0, low - more) : low - more, high + more];
}

/** A step of 1, 2 or 5 times a power of ten that goes into `size` at most `times` times. @param {number} size @param {number} times */
export function niceStep(size, times) {
  const power = 10 ** Math.floor(Math.log10(size / times));
  return /** @type {number} */ ([1, 2, 5, 10].map((x) => Number((x * power).toPrecision(6))).find((step) => size / step <= times + 1e-9));
}

/**
 * Round numbers from low to high.
 * @param {number} low
 * @param {number} high
 * @param {number} times
 */
export function ticks(low, high, times) {
  const step = niceStep(high - low, times);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
