// Cross-attention of several heads, and where a number of its output came from in both sequences (chapter 12).
// The proof that it is core's arithmetic: js/test/golden/cross_attention.json.

import { attentionSteps, matmul, projectQkv, transpose } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {{ W_Q: readonly Matrix[], W_K: readonly Matrix[], W_V: readonly Matrix[], W_O: Matrix }} Parameters one matrix a head; W_O has d_v rows a head */
/** @typedef {{ a: number, b: number, x: number, m: number, strength: number, product: number }} Meeting column a of X meets column b of the memory */

/**
 * @param {Matrix} X rows that ask
 * @param {Matrix} memory rows that are asked
 * @param {Parameters} parameters
 * @param {readonly boolean[]} seen which rows of the memory may be looked at
 */
export function crossAttention(X, memory, parameters, seen) {
  const mask = X.map(() => seen);
  const heads = parameters.W_Q.map((W_Q, h) => {
    const { q, k, v } = projectQkv(X, memory, W_Q, parameters.W_K[h], parameters.W_V[h]);
    const { scaled, weights } = attentionSteps(q, k, v, mask);
    const width = v[0].length;
    // What a memory row hands over through this head, already in the columns of the output.
    return { scores: scaled, weights, cargo: matmul(v, parameters.W_O.slice(h * width, (h + 1) * width)) };
  });
  const output = X.map((_, t) =>
    parameters.W_O[0].map((_, c) => heads.reduce((sum, { weights, cargo }) => sum + add(weights[t].map((w, j) => w * cargo[j][c])), 0)),
  );
  return { heads, output };
}

/**
 * What each head brings from each memory row into one number of the output: their sum is the number.
 * @param {ReturnType<typeof crossAttention>} made
 * @param {number} t
 * @param {number} c
 */
export function parts(made, t, c) {
  return made.heads.map(({ weights, cargo }) => weights[t].map((w, j) => w * cargo[j][c]));
}

/**
 * The terms of a dot product of query and key, by the columns of both rows: x (W_Q W_K^T) m, largest first, zeros left out.
 * @param {readonly number[]} x
 * @param {readonly number[]} m
 * @param {Matrix} W_Q
 * @param {Matrix} W_K
 * @returns {Meeting[]}
 */
export function meetings(x, m, W_Q, W_K) {
  const joins = matmul(W_Q, transpose(W_K));
  const all = x.flatMap((xa, a) => m.map((mb, b) => ({ a, b, x: xa, m: mb, strength: joins[a][b], product: xa * joins[a][b] * mb })));
  return all.filter(({ product }) => product !== 0).sort((p, q) => Math.abs(q.product) - Math.abs(p.product));
}

/**
 * @template T
 * @param {readonly T[]} list
 * @param {number} from place
 * @param {number} by -1 or 1
 * @returns {T[]} the list with one entry moved; the same if it cannot move
 */
export function moved(list, from, by) {
  const next = [...list];
  const to = from + by;
  if (to < 0 || to >= list.length) return next;
  [next[from], next[to]] = [next[to], next[from]];
  return next;
}

/** @param {readonly number[]} list */
export function add(list) {
  return list.reduce((total, x) => total + x, 0);
}
