// The two-layer model of chapter 18, in plain loops, with switches; and what is shown of one row.

import { matmul, softmax, transpose } from "./attention.mjs";

/** @typedef {import("./safetensors.mjs").Weights} Weights */
/** @typedef {number[][]} Rows */
/** @typedef {{ text: string, row: number, head: number, closed: readonly string[] }} State */
/**
 * @typedef {object} Trace what is shown of one row
 * @property {number} row the row that asks
 * @property {number} middle the place it looks at most
 * @property {Rows} looks weights of both heads of layer 1 in that row
 * @property {Rows} parts what letter, head 1.1 and head 1.2 add to each score
 * @property {number[]} scores
 * @property {number[]} weights
 * @property {number[]} said the letter that each row says, as a number
 * @property {number[]} top the four letters with the largest chances in the row that asks
 * @property {number[]} chances
 */

export const LONGEST = 16;
export const PATHS = ["1.1", "1.2", "2.1", "2.2", "Q", "K", "V"];
const HEADS = [0, 1];

/** Capital letters, at most 16. @param {string} text */
export function tidy(text) {
  return text.toUpperCase().replace(/[^A-Z]/g, "").slice(0, LONGEST);
}

/** @param {string} text */
export function idsOf(text) {
  return Array.from(text, (letter) => letter.charCodeAt(0) - 65);
}

/** @param {number} id */
export function letter(id) {
  return String.fromCharCode(65 + id);
}

/**
 * Where the letter of a row stood the first time, or -1 where it is new.
 * @param {string} text @param {number} row
 */
export function firstOf(text, row) {
  const place = text.indexOf(text[row]);
  return place < row ? place : -1;
}

/**
 * One head's matrix, or the only one, as rows; W_O is cut into the heads' rows.
 * @param {Weights} w @param {string} name @param {number} [head]
 * @returns {Rows}
 */
function rowsOf(w, name, head = 0) {
  const { shape, data } = w[name];
  const columns = shape[shape.length - 1];
  const count = name.startsWith("W_O") ? shape[0] / HEADS.length : shape[shape.length - 2];
  return Array.from({ length: count }, (_, i) => Array.from(data.subarray((head * count + i) * columns, (head * count + i + 1) * columns)));
}

/** @param {Rows} X @param {...Rows} more @returns {Rows} */
function sum(X, ...more) {
  return X.map((x, t) => x.map((value, i) => more.reduce((total, Y) => total + Y[t][i], value)));
}

/** @param {Rows} X @param {number} by @returns {Rows} */
function scaled(X, by) {
  return X.map((x) => x.map((value) => by * value));
}

/**
 * One head that reads three streams, causally.
 * @param {Weights} w @param {number} layer @param {number} head @param {[Rows, Rows, Rows]} streams for Q, K and V
 */
function attend(w, layer, head, [X_q, X_k, X_v]) {
  const q = matmul(X_q, rowsOf(w, `W_Q_${layer}`, head));
  const k = matmul(X_k, rowsOf(w, `W_K_${layer}`, head));
  const v = matmul(X_v, rowsOf(w, `W_V_${layer}`, head));
  const scores = scaled(matmul(q, transpose(k)), 1 / Math.sqrt(q[0].length));
  const weights = scores.map((row, t) => softmax(row.map((score, j) => (j > t ? -Infinity : score))));
  return { q, scores, weights, writes: matmul(matmul(weights, v), rowsOf(w, `W_O_${layer}`, head)) };
}

/**
 * Run the model on a text with some paths closed.
 * @param {Weights} w @param {string} text @param {readonly string[]} closed
 */
export function run(w, text, closed) {
  const open = (/** @type {string} */ path) => (closed.includes(path) ? 0 : 1);
  const [E, P] = [rowsOf(w, "E"), rowsOf(w, "P")];
  const X = idsOf(text).map((id, t) => E[id].map((value, i) => value + P[t][i]));
  const one = HEADS.map((head) => attend(w, 0, head, [X, X, X]));
  const notes = one.map(({ writes }, head) => scaled(writes, open(`1.${head + 1}`)));
  const X_1 = sum(X, ...notes);
  const [Q, K, V] = ["Q", "K", "V"].map((read) => (open(read) ? X_1 : X));
  const two = HEADS.map((head) => attend(w, 1, head, [Q, K, V]));
  const X_2 = sum(X_1, ...two.map(({ writes }, head) => scaled(writes, open(`2.${head + 1}`))));
  return { X, notes, one, two, scores: matmul(X_2, rowsOf(w, "R")) };
}

/** @param {number[]} values */
function largest(values) {
  return values.indexOf(Math.max(...values));
}

/**
 * What is shown of the row that asks.
 * @param {Weights} w @param {State} state
 * @returns {Trace}
 */
export function trace(w, { text, row: asked, head, closed }) {
  const { X, notes, one, two, scores } = run(w, text, closed);
  const row = asked < 0 ? text.length - 1 : Math.min(asked, text.length - 1);
  const seen = row + 1;
  const weights = two[head].weights[row].slice(0, seen);
  const middle = largest(weights);
  const q = two[head].q[row];
  const W_K = rowsOf(w, "W_K_1", head);
  const written = closed.includes("K") ? notes.map((note) => scaled(note, 0)) : notes;
  const parts = [X, ...written].map((stream) =>
    matmul(stream.slice(0, seen), W_K).map((key) => key.reduce((total, value, i) => total + value * q[i], 0) / Math.sqrt(q.length)),
  );
  const chances = softmax(scores[row]);
  const top = chances.map((_, i) => i).sort((a, b) => chances[b] - chances[a] || a - b).slice(0, 4);
  return {
    row,
    middle,
    looks: one.map((made) => made.weights[middle].slice(0, middle + 1)),
    parts,
    scores: two[head].scores[row].slice(0, seen),
    weights,
    said: scores.map(largest),
    top,
    chances: top.map((i) => chances[i]),
  };
}
