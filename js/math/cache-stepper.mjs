// The German side of the running example, written word by word by three heads with a cache (chapter 19).
// The proof that it is core's arithmetic, and that the numbers below are the example's: js/test/golden/cache_stepper.json.

import { attentionSteps, matmul } from "./attention.mjs";

/** @typedef {"nothing" | "X" | "K and V"} Way what is kept from step to step */
/** @typedef {{ word: number, kept: Way, sets: number, head: number }} State sets: 3, one a head, or 1 for all */

export const WORDS = ["<s>", "sie", "hat", "einen", "Apfel", "gegessen", "."];
/** @type {Way[]} */
export const WAYS = ["nothing", "X", "K and V"];
export const HEADS = 3;
const [D_MODEL, D_K, D_V] = [8, 4, 2];

const X = [
  [0, 0, 0, 1, 1, 0, 0, 0],
  [1, 0, 0, 0, 0, 1, 0, 0],
  [0, 0, 1, 1, 0, 0, 0, 0],
  [0, 0, 0, 1, 0, 0, 0, 0],
  [0, 1, 0, 0, 0, 0, 1, 0],
  [0, 0, 1, 0, 0, 0, 0, 1],
  [0, 0, 0, 0, 1, 0, 0, 0],
];
// A head's W_Q (4 columns), W_K (4) and W_V (2) side by side, digit by digit; "-" makes the next digit negative.
const W = [
  ["0200001010", "0200100002", "2000010030", "4000000000", "00000002-10", "0200001001", "0200100001", "200001000-1"],
  ["0010001020", "0002100001", "0020010000", "0000000203", "0010000011", "0010001010", "000210000-1", "0020010000"],
  ["0002001001", "0002100010", "0002010020", "0002000000", "040000020-1", "0000001000", "00001000-10", "0000010011"],
].map((head) => head.map((row) => (row.match(/-?\d/g) ?? []).map(Number)));

/**
 * Keys' and values' matrices side by side: a head's own, or the mean of all heads'.
 * @param {number} head
 * @param {number} sets
 */
function keysAndValues(head, sets) {
  const own = sets === HEADS ? [W[head]] : W;
  return own[0].map((row, r) => row.slice(D_K).map((_, c) => own.reduce((sum, w) => sum + w[r][D_K + c], 0) / own.length));
}

/**
 * Multiplications of step t (t rows are written then), and the numbers kept after it, all heads together.
 * @param {number} t
 * @param {Way} kept
 * @param {number} sets
 */
export function costs(t, kept, sets) {
  const rows = kept === "nothing" ? t : 1;
  const made = kept === "K and V" ? 1 : t;
  // W_Q and W_O for the rows that ask, W_K and W_V for those that are made; then scores and means.
  const projections = rows * D_MODEL * HEADS * (D_K + D_V) + made * D_MODEL * sets * (D_K + D_V);
  const step = projections + rows * t * HEADS * (D_K + D_V);
  const numbers = { nothing: 0, X: t * D_MODEL, "K and V": t * sets * (D_K + D_V) }[kept];
  return { step, numbers };
}

/**
 * Everything the widget shows.
 * @param {State} state
 */
export function cacheStep({ word, kept, sets, head }) {
  const n = word + 1;
  const written = X.slice(0, n);
  const q = matmul([X[word]], W[head].map((row) => row.slice(0, D_K)));
  const both = matmul(written, keysAndValues(head, sets));
  const k = both.map((row) => row.slice(0, D_K));
  const v = both.map((row) => row.slice(D_K));
  const { weights, output } = attentionSteps(q, k, v);
  const made = written.map((_, t) => (kept === "K and V" && t < word ? 0 : 1));
  const table = WAYS.map((way) => {
    let total = 0;
    for (let t = 1; t <= n; t += 1) total += costs(t, way, sets).step;
    const now = costs(n, way, sets);
    return [now.step, total, now.numbers];
  });
  return { q: q[0], k, v, weights: weights[0], output: output[0], made, table };
}
