// What ties do to a table of scores: its symmetric part, its eigenvalues, the margins of a pair. No DOM.

import { softmax } from "./attention.mjs";

/** @typedef {readonly (readonly number[])[]} Table */

/** (S + S') / 2. @param {Table} s */
export function symmetricPart(s) {
  return s.map((row, i) => row.map((x, j) => (x + s[j][i]) / 2));
}

/** The share of S that is antisymmetric, by squares: 0 for a symmetric table. @param {Table} s */
export function asymmetry(s) {
  let odd = 0;
  let all = 0;
  s.forEach((row, i) =>
    row.forEach((x, j) => {
      odd += ((x - s[j][i]) / 2) ** 2;
      all += x * x;
    }),
  );
  return all ? odd / all : 0;
}

/**
 * A symmetric table as it acts on differences of tokens: one row and column fewer (Helmert's basis, whose rows are at
 * right angles to (1, 1, …, 1)).
 * @param {Table} g
 */
export function onDifferences(g) {
  const n = g.length;
  const basis = Array.from({ length: n - 1 }, (_, k) => {
    const size = Math.sqrt((k + 1) * (k + 2));
    return Array.from({ length: n }, (_, j) => (j <= k ? 1 / size : j === k + 1 ? -(k + 1) / size : 0));
  });
  const times = (/** @type {readonly number[]} */ row, /** @type {readonly number[]} */ other) => row.reduce((sum, x, j) => sum + x * other[j], 0);
  const half = basis.map((b) => g.map((row) => times(row, b)));
  return half.map((row) => basis.map((b) => times(row, b)));
}

/**
 * Eigenvalues of a symmetric table, the smallest first (Jacobi's rotations).
 * @param {Table} table
 */
export function eigenvalues(table) {
  const a = table.map((row) => [...row]);
  const n = a.length;
  for (let sweep = 0; sweep < 60; sweep += 1) {
    let off = 0;
    let size = 0;
    for (let p = 0; p < n; p += 1) for (let q = 0; q < n; q += 1) p === q ? (size += a[p][p] ** 2) : (off += a[p][q] ** 2);
    if (off <= 1e-30 * size || off === 0) break;
    for (let p = 0; p < n; p += 1) {
      for (let q = p + 1; q < n; q += 1) {
        if (a[p][q] === 0) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < n; k += 1) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        for (let k = 0; k < n; k += 1) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
      }
    }
  }
  return a.map((row, i) => row[i]).sort((x, y) => x - y);
}

/** What i and j gain by looking at each other and not at themselves. @param {Table} s @param {number} i @param {number} j */
export function margins(s, i, j) {
  return [s[i][j] - s[i][i], s[j][i] - s[j][j]];
}

/** Weights; masked, no token sees itself. @param {Table} s @param {boolean} masked */
export function learnedWeights(s, masked) {
  return s.map((row, i) => softmax(row.map((x, j) => (masked && i === j ? -Infinity : x))));
}
