// Attention, step by step, as qkv.core does it (js/test/golden/attention.json holds the proof).

/** @typedef {readonly (readonly number[])[]} Matrix rows of equal length */
/** @typedef {readonly (readonly boolean[])[]} Mask true = may look */

/**
 * @param {Matrix} a
 * @param {Matrix} b
 * @returns {number[][]}
 */
export function matmul(a, b) {
  const width = b[0].length;
  return a.map((row) => Array.from({ length: width }, (_, j) => row.reduce((sum, x, i) => sum + x * b[i][j], 0)));
}

/**
 * @param {Matrix} a
 * @returns {number[][]}
 */
export function transpose(a) {
  return a[0].map((_, j) => a.map((row) => row[j]));
}

/**
 * Weights of one row of scores. -Infinity gives 0; a row of nothing else gives zeros.
 * @param {readonly number[]} scores
 * @returns {number[]}
 */
export function softmax(scores) {
  const largest = Math.max(...scores);
  if (largest === -Infinity) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - largest)); // at most 1, so nothing overflows
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/**
 * Each query may look at the keys up to its own position.
 * @param {number} nQ
 * @param {number} [nK]
 * @returns {boolean[][]}
 */
export function causalMask(nQ, nK = nQ) {
  return Array.from({ length: nQ }, (_, i) => Array.from({ length: nK }, (_, j) => j <= i));
}

/**
 * Q = X_q W_Q, K = X_kv W_K, V = X_kv W_V.
 * @param {Matrix} xQ
 * @param {Matrix} xKv
 * @param {Matrix} wQ
 * @param {Matrix} wK
 * @param {Matrix} wV
 */
export function projectQkv(xQ, xKv, wQ, wK, wV) {
  return { q: matmul(xQ, wQ), k: matmul(xKv, wK), v: matmul(xKv, wV) };
}

/**
 * Every array between q, k, v and the output.
 * @param {Matrix} q
 * @param {Matrix} k
 * @param {Matrix} v
 * @param {Mask | null} [mask]
 */
export function attentionSteps(q, k, v, mask = null) {
  const root = Math.sqrt(q[0].length);
  const dotProducts = matmul(q, transpose(k));
  const scaled = dotProducts.map((row) => row.map((dot) => dot / root));
  const scores = mask ? scaled.map((row, i) => row.map((score, j) => (mask[i][j] ? score : -Infinity))) : scaled;
  const weights = scores.map(softmax);
  return { dotProducts, scaled, scores, weights, output: matmul(weights, v) };
}
