// One head of the running example on five words in any order, with one of four codes for the order (chapter 13).
// The proof that it is core's arithmetic, and that the numbers below are the example's: js/test/golden/position_lab.json.

import { attentionSteps, causalMask, matmul } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {"none" | "sinusoids" | "learned" | "rotary"} Code */
/** @typedef {{ order: readonly number[], code: Code, start: number, causal: boolean }} State */

export const WORDS = ["she", "ate", "an", "apple", "."];
export const N_TABLE = 25;
export const FARTHEST = 40;
const REACH = 12;
const N = WORDS.length;

const X = [
  [1, 0, 0, 0, 0, 1, 0, 0],
  [0, 0, 1, 0, 0, 0, 0, 1],
  [0, 0, 0, 1, 0, 0, 0, 0],
  [0, 1, 0, 0, 0, 0, 1, 0],
  [0, 0, 0, 0, 1, 0, 0, 0],
];
// Side by side: W_Q (4 columns), W_K (4), W_V (2).
const W = [
  [0, 2, 0, 0, 0, 0, 1, 0, 1, 0],
  [0, 2, 0, 0, 1, 0, 0, 0, 0, 2],
  [2, 0, 0, 0, 0, 1, 0, 0, 3, 0],
  [4, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  [0, 0, 0, 0, 0, 0, 0, 2, -1, 0],
  [0, 2, 0, 0, 0, 0, 1, 0, 0, 1],
  [0, 2, 0, 0, 1, 0, 0, 0, 0, 1],
  [2, 0, 0, 0, 0, 1, 0, 0, 0, -1],
];

/**
 * The paper's code: sine and cosine in turn.
 * @param {number} n
 * @param {number} d
 * @param {number} start
 */
export function sinusoids(n, d, start) {
  return Array.from({ length: n }, (_, t) =>
    Array.from({ length: d }, (_, c) => {
      const angle = (start + t) / 10000 ** ((c - (c % 2)) / d);
      return c % 2 ? Math.cos(angle) : Math.sin(angle);
    }),
  );
}

/** A number in [-1, 1) that follows no wave; whole numbers below 2^53 until the last step. @param {number} count */
function scattered(count) {
  return ((7919 * count ** 3 + 104729 * count) % 65537) / 32768.5 - 1;
}

/** The stand-in for a learned table, rows `start` to `start + n - 1`. @param {number} n @param {number} start */
export function learned(n, start) {
  return Array.from({ length: n }, (_, t) => Array.from({ length: 8 }, (_, c) => scattered(8 * (start + t) + c + 1)));
}

/**
 * Turn neighbouring columns by the place.
 * @param {Matrix} x
 * @param {number} start
 */
export function rotary(x, start) {
  const d = x[0].length;
  return x.map((row, t) =>
    row.map((a, c) => {
      const angle = (start + t) * 10000 ** (-(c - (c % 2)) / d);
      const other = row[c % 2 ? c - 1 : c + 1];
      return c % 2 ? other * Math.sin(angle) + a * Math.cos(angle) : a * Math.cos(angle) - other * Math.sin(angle);
    }),
  );
}

/** @param {State} state */
function attend({ order, code, start, causal }) {
  const added = code === "sinusoids" ? sinusoids(N, 8, start) : code === "learned" ? learned(N, start) : null;
  const rows = order.map((word, t) => X[word].map((x, c) => x + (added ? added[t][c] : 0)));
  const all = matmul(rows, W);
  let [q, k] = [all.map((row) => row.slice(0, 4)), all.map((row) => row.slice(4, 8))];
  if (code === "rotary") [q, k] = [rotary(q, start), rotary(k, start)];
  const v = all.map((row) => row.slice(8));
  return attentionSteps(q, k, v, causal ? causalMask(N) : null);
}

/**
 * Pairs (right, up) of each place: the hands of its clocks.
 * @param {Code} code
 * @param {number} start
 * @param {boolean} ends
 */
function hands(code, start, ends) {
  const rows =
    code === "none" || ends
      ? X.map(() => Array(8).fill(0))
      : code === "learned"
        ? learned(N, start)
        : sinusoids(N, code === "sinusoids" ? 8 : 4, start);
  return rows.map((row) => Array.from({ length: row.length / 2 }, (_, i) => [row[2 * i], row[2 * i + 1]]));
}

/** How alike two places are, by offset from -12 to 12. @param {Code} code */
export function byOffset(code) {
  const n = 2 * REACH + 1;
  if (code === "none") return Array(n).fill(0);
  const P = code === "learned" ? learned(n, 0) : sinusoids(n, code === "sinusoids" ? 8 : 4, 0);
  return P.map((row) => row.reduce((sum, x, c) => sum + x * P[REACH][c], 0));
}

/**
 * Everything the lab shows. Without weights where the learned table ends.
 * @param {State} state
 */
export function lab(state) {
  const ends = state.code === "learned" && state.start + N > N_TABLE;
  const shown = { ends, hands: hands(state.code, state.start, ends), offsets: byOffset(state.code) };
  if (ends) return { ...shown, weights: null, output: null, moved: null };
  const { weights, output } = attend(state);
  const first = attend({ ...state, order: WORDS.map((_, i) => i), start: 0 }).output;
  const moved = output.map((row, t) => Math.max(...row.map((x, c) => Math.abs(x - first[state.order[t]][c]))));
  return { ...shown, weights, output, moved };
}

/** The order after word at `place` changed places with its neighbour. @param {readonly number[]} order @param {number} place @param {number} to */
export function swapped(order, place, to) {
  const next = [...order];
  [next[place], next[to]] = [next[to], next[place]];
  return next;
}
