// One head that learns "say the coin of your right neighbour" from all 32 ways five coins can lie (chapter 7).
// The proof that it is core's arithmetic: js/test/golden/learn_one_head.json.

import { attentionSteps, matmul, projectQkv, softmax, transpose } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {readonly [wQ: Matrix, wK: Matrix, wV: Matrix, wO: Matrix]} Four */

export const NAMES = ["Ann", "Bob", "Cyd", "Dan", "Eve"];
export const MOST_STEPS = 400;
const N = NAMES.length;

/** All tables: a row for each person (who it is, and the coin), and what each must say. */
const TABLES = Array.from({ length: 2 ** N }, (_, t) => {
  const coins = NAMES.map((_, i) => ((t >> (N - 1 - i)) & 1 ? -1 : 1));
  return {
    coins,
    x: NAMES.map((_, i) => [...NAMES.map((_, j) => Number(i === j)), coins[i]]),
    wanted: NAMES.map((_, i) => coins[(i + 1) % N]),
  };
});

/** The table that is shown: heads, tails, tails, heads, tails. */
export const SHOWN = TABLES[0b01101];

/** @param {Four} four @param {typeof SHOWN} table */
export function forward([wQ, wK, wV, wO], { x }) {
  const { q, k, v } = projectQkv(x, x, wQ, wK, wV);
  const steps = attentionSteps(q, k, v);
  return { q, k, v, ...steps, says: matmul(steps.output, wO) };
}

/** a b. Loops, since a step of training is 32 tables long. @param {Matrix} a @param {Matrix} b */
function times(a, b) {
  const width = b[0].length;
  return a.map((row) => {
    const out = new Array(width).fill(0);
    for (let m = 0; m < row.length; m += 1) for (let j = 0; j < width; j += 1) out[j] += row[m] * b[m][j];
    return out;
  });
}

/** a b'. @param {Matrix} a @param {Matrix} b */
function timesTransposed(a, b) {
  return a.map((row) =>
    b.map((other) => {
      let sum = 0;
      for (let m = 0; m < row.length; m += 1) sum += row[m] * other[m];
      return sum;
    }),
  );
}

/** Add a' b to `total`. @param {number[][]} total @param {Matrix} a @param {Matrix} b */
function addTransposed(total, a, b) {
  for (let m = 0; m < a.length; m += 1)
    for (let i = 0; i < total.length; i += 1) for (let j = 0; j < total[i].length; j += 1) total[i][j] += a[m][i] * b[m][j];
}

/** @param {Four} four */
const zeros = (four) => /** @type {[number[][], number[][], number[][], number[][]]} */ (four.map((w) => w.map((row) => row.map(() => 0))));

/**
 * The loss (mean square over all tables and people) and the gradients of the four matrices.
 * @param {Four} four
 * @returns {{ loss: number, gradients: [number[][], number[][], number[][], number[][]] }}
 */
export function lossAndGradients(four) {
  const [wQ, wK, wV, wO] = four;
  const count = TABLES.length * N;
  const root = Math.sqrt(wQ[0].length);
  const gradients = zeros(four);
  let loss = 0;
  for (const { x, wanted } of TABLES) {
    const [q, k, v] = [times(x, wQ), times(x, wK), times(x, wV)];
    const weights = timesTransposed(q, k).map((row) => softmax(row.map((dot) => dot / root)));
    const heads = times(weights, v);
    const gap = times(heads, wO).map(([say], i) => say - wanted[i]);
    for (const one of gap) loss += (one * one) / count;
    const gSays = gap.map((one) => [(2 * one) / count]);
    const gHeads = timesTransposed(gSays, wO);
    // Of a score: its weight, times how much better its value is than the mean of the row.
    const gDots = timesTransposed(gHeads, v).map((better, i) => {
      const mean = weights[i].reduce((sum, w, j) => sum + w * better[j], 0);
      return better.map((one, j) => (weights[i][j] * (one - mean)) / root);
    });
    const gK = v.map(() => new Array(wQ[0].length).fill(0));
    addTransposed(gK, gDots, q);
    const gV = v.map((row) => row.map(() => 0));
    addTransposed(gV, weights, gHeads);
    addTransposed(gradients[0], x, times(gDots, k));
    addTransposed(gradients[1], x, gK);
    addTransposed(gradients[2], x, gV);
    addTransposed(gradients[3], heads, gSays);
  }
  return { loss, gradients };
}

/**
 * Training from one start, kept step by step: `at(n)` gives the matrices after n steps, their loss and their gradients.
 * @param {Four} start
 * @param {number} rate
 */
export function training(start, rate) {
  const states = [{ four: start, ...lossAndGradients(start) }];
  return {
    /** @param {number} n */
    at(n) {
      while (states.length <= n) {
        const { four, gradients } = states[states.length - 1];
        const next = /** @type {Four} */ (/** @type {unknown} */ (four.map((w, m) => w.map((row, i) => row.map((x, j) => x - rate * gradients[m][i][j])))));
        states.push({ four: next, ...lossAndGradients(next) });
      }
      return states[n];
    },
    /** @param {number} n */
    losses(n) {
      this.at(n);
      return states.slice(0, n + 1).map((state) => state.loss);
    },
  };
}

/** Where to look: W_Q W_K'. What to move: W_V W_O. @param {Four} four */
export function maps([wQ, wK, wV, wO]) {
  return { where: matmul(wQ, transpose(wK)), what: matmul(wV, wO) };
}
