// Weights under a painted mask, by five rules for a hidden key, and what then reaches a row from later tokens (chapter 9).
// The proof that it is core's arithmetic: js/test/golden/mask_lab.json.

import { causalMask, softmax } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {import("./attention.mjs").Mask} Mask */
/** @typedef {"-inf" | "-1e9" | "0" | "after" | "again"} Rule what happens to a hidden key: a score before the softmax, or 0 after it */
/** @typedef {"none" | "causal" | "padding" | "window"} Preset */

export const PAD = "pad";

/**
 * @param {Preset} name
 * @param {readonly string[]} tokens
 * @returns {boolean[][]}
 */
export function preset(name, tokens) {
  const n = tokens.length;
  const table = (/** @type {(i: number, j: number) => boolean} */ rule) =>
    Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => rule(i, j)));
  switch (name) {
    case "causal":
      return causalMask(n);
    case "padding":
      return table((_, j) => tokens[j] !== PAD);
    case "window":
      return table((i, j) => Math.abs(i - j) <= 1);
    default:
      return table(() => true);
  }
}

/** What both allow. @param {Mask} a @param {Mask} b */
export function joined(a, b) {
  return a.map((row, i) => row.map((open, j) => open && b[i][j]));
}

/** @param {Mask} a @param {Mask} b */
export function sameMask(a, b) {
  return a.every((row, i) => row.every((open, j) => open === b[i][j]));
}

/**
 * @param {readonly number[]} scores
 * @param {readonly boolean[]} open
 * @param {Rule} rule
 * @returns {number[]}
 */
export function weightsOf(scores, open, rule) {
  if (rule === "after" || rule === "again") {
    const late = softmax(scores).map((weight, j) => (open[j] ? weight : 0));
    return rule === "after" ? late : late.map((weight) => weight / add(late));
  }
  const hide = rule === "0" ? 0 : rule === "-1e9" ? -1e9 : -Infinity;
  return softmax(scores.map((score, j) => (open[j] ? score : hide)));
}

/**
 * Everything the lab shows. `ahead`: weight that a row gives to later tokens; `lost`: share that hidden later tokens took
 * from the row below the line of the softmax (only when the mask comes after it).
 * @param {{ tokens: readonly string[], scores: Matrix, mask: Mask, rule: Rule }} state
 */
export function lab({ tokens, scores, mask, rule }) {
  const weights = scores.map((row, i) => weightsOf(row, mask[i], rule));
  const lost = scores.map((row, i) => (rule === "after" ? add(softmax(row).filter((_, j) => j > i && !mask[i][j])) : 0));
  return {
    weights,
    sums: weights.map(add),
    ahead: weights.map((row, i) => add(row.slice(i + 1))),
    lost,
    onPads: weights.map((row) => add(row.filter((_, j) => tokens[j] === PAD))),
    empty: mask.flatMap((row, i) => (row.some(Boolean) ? [] : [i])),
  };
}

/** @param {readonly number[]} list */
function add(list) {
  return list.reduce((total, x) => total + x, 0);
}
