// One query reads its keys tile by tile with m, l and o in hand (chapter 20).
// The proof that it is core's arithmetic: js/test/golden/tile_stepper.json.

import { matmul, softmax } from "./attention.mjs";

/** @typedef {{ scores: readonly number[], tile: number, read: number, causal: boolean, query: number }} State */

export const V = [
  [1, 0],
  [0, 2],
  [3, 1],
  [2, 2],
  [0, 1],
  [1, 3],
  [2, 0],
  [1, 1],
];
export const N = V.length;
export const LIMIT = 99;

/**
 * What is left to compute of a side of `tile`s: every tile, or those up to the diagonal.
 * @param {number} tile
 * @param {boolean} causal
 */
export function computedTiles(tile, causal) {
  const side = Math.ceil(N / tile);
  return causal ? (side * (side + 1)) / 2 : side * side;
}

/**
 * One tile more: [m, l, o, o] before and after, and what came between.
 * @param {readonly number[]} before
 * @param {readonly number[]} scores of the tile; -Infinity where the query may not look
 * @param {readonly (readonly number[])[]} values
 */
export function readTile(before, scores, values) {
  const most = Math.max(...scores);
  const m = Math.max(before[0], most);
  const base = m === -Infinity ? 0 : m; // nothing seen so far: there is no largest score
  const factor = Math.exp(before[0] - base);
  const powers = scores.map((s) => Math.exp(s - base));
  const added = [most, powers.reduce((sum, p) => sum + p, 0), ...matmul([powers], values)[0]];
  const kept = [NaN, ...before.slice(1).map((x) => factor * x)];
  return { factor, kept, added, after: [m, ...kept.slice(1).map((x, i) => x + added[i + 1])] };
}

/**
 * Everything the stepper shows.
 * @param {State} state
 */
export function tileSteps({ scores, tile, read, causal, query }) {
  const allowed = causal ? query + 1 : N;
  const row = scores.map((s, j) => (j < allowed ? s : -Infinity));
  const tiles = Math.ceil(allowed / tile);
  const seen = Math.min(read, tiles);
  let before = [-Infinity, 0, 0, 0];
  let step = { factor: 1, kept: [NaN, 0, 0, 0], added: [-Infinity, 0, 0, 0], after: before };
  let inTile = 0;
  for (let i = 0; i < seen; i += 1) {
    before = step.after;
    const part = row.slice(i * tile, (i + 1) * tile);
    step = readTile(before, part, V.slice(i * tile, (i + 1) * tile));
    inTile = part.length;
  }
  const [, l, ...o] = step.after;
  const weights = softmax(row);
  return {
    tiles,
    read: seen,
    before,
    ...step,
    mean: o.map((x) => x / (l || 1)),
    full: matmul([weights], V)[0],
    weights,
    inTile,
    computed: computedTiles(tile, causal),
  };
}
