// Random queries and keys, the spread of their dot products, and what softmax makes of it (chapter 6).
// The numbers are the same in Python (src/qkv/widgets/scale_lab.py); js/test/golden/scale_lab.json holds the proof.

import { softmax } from "./attention.mjs";

/** @typedef {"none" | "sqrt" | "d"} Factor what a dot product is divided by: nothing, the root of d_k, d_k */

export const QUERIES = 32;
export const WIDEST = 1024;
export const MOST_KEYS = 256;
export const BARS = 12;
export const BINS = 40;

/**
 * A counter turned into 32 bits that look random: the mixing steps of MurmurHash3.
 * @param {number} counter
 * @param {number} seed
 */
export function mixed(counter, seed) {
  let x = (Math.imul(counter, 0x9e3779b1) + Math.imul(seed + 1, 0x85ebca77)) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/**
 * Entry `col` of row `row`, normal with mean 0 and variance 1 (Box and Muller, the cosine half).
 * @param {number} row
 * @param {number} col
 * @param {number} seed
 */
export function normal(row, col, seed) {
  const at = 2 * (row * WIDEST + col);
  const u = (mixed(at, seed) + 0.5) / 2 ** 32;
  return Math.sqrt(-2 * Math.log(u)) * Math.cos((2 * Math.PI * (mixed(at + 1, seed) + 0.5)) / 2 ** 32);
}

/** @param {Factor} factor @param {number} dK */
export function divisor(factor, dK) {
  return factor === "none" ? 1 : factor === "sqrt" ? Math.sqrt(dK) : dK;
}

/**
 * Rows of normal numbers, kept from one call to the next: a wider d_k or more keys add to what is there.
 * @param {number} seed
 */
export function sampler(seed) {
  /** @type {Float64Array[]} */
  const rows = [];
  const filled = /** @type {number[]} */ ([]);
  let width = 0;
  /** @type {number[][]} */
  let dots = [];

  /** @param {number} row @param {number} dK */
  function entries(row, dK) {
    rows[row] ??= new Float64Array(WIDEST);
    for (let col = filled[row] ?? 0; col < dK; col += 1) rows[row][col] = normal(row, col, seed);
    filled[row] = Math.max(filled[row] ?? 0, dK);
    return rows[row];
  }
  return {
    seed,
    /**
     * Dot products of all queries with the first nK keys.
     * @param {number} dK
     * @param {number} nK
     */
    dotProducts(dK, nK) {
      if (dK !== width) dots = Array.from({ length: QUERIES }, () => []);
      width = dK;
      for (let i = 0; i < QUERIES; i += 1) {
        const q = entries(i, dK);
        for (let j = dots[i].length; j < nK; j += 1) {
          const k = entries(QUERIES + j, dK);
          let sum = 0;
          for (let c = 0; c < dK; c += 1) sum += q[c] * k[c];
          dots[i].push(sum);
        }
      }
      return dots.map((row) => row.slice(0, nK));
    },
  };
}

/**
 * How far the picture of the scores reaches to either side: a power of two, at least 4.
 * @param {number} spread
 */
export function reach(spread) {
  return Math.max(4, 2 ** Math.ceil(Math.log2(3.2 * spread)));
}

/**
 * How many scores fall into each of BINS equal bins from -edge to edge; those beyond are left out.
 * @param {readonly number[]} scores
 * @param {number} edge
 */
export function histogram(scores, edge) {
  const counts = Array.from({ length: BINS }, () => 0);
  for (const score of scores) {
    const bin = Math.floor(((score + edge) / (2 * edge)) * BINS);
    if (bin >= 0 && bin < BINS) counts[bin] += 1;
  }
  return counts;
}

/**
 * Everything the lab shows.
 * @param {ReturnType<typeof sampler>} sample
 * @param {{ dK: number, nK: number, factor: Factor }} state
 */
export function lab(sample, { dK, nK, factor }) {
  const by = divisor(factor, dK);
  const scores = sample.dotProducts(dK, nK).map((row) => row.map((dot) => dot / by));
  const weights = scores.map(softmax);
  const flat = scores.flat();
  const mean = flat.reduce((sum, s) => sum + s, 0) / flat.length;
  const falling = weights.map((row) => [...row].sort((a, b) => b - a));
  const average = (/** @type {number[]} */ list) => list.reduce((sum, x) => sum + x, 0) / list.length;
  const predicted = Math.sqrt(dK) / by;
  const edge = reach(predicted);
  return {
    predicted,
    spread: Math.sqrt(average(flat.map((s) => (s - mean) ** 2))),
    largest: average(falling.map((row) => row[0])),
    uniform: 1 / nK,
    slope: average(weights.flat().map((w) => w * (1 - w))),
    ranked: Array.from({ length: Math.min(nK, BARS) }, (_, rank) => average(falling.map((row) => row[rank]))),
    edge,
    counts: histogram(flat, edge),
  };
}
