// One token's row on its way through a layer, in both orders, and what each part of it is made of (chapter 14).
// The proof that it is core's arithmetic: js/test/golden/layer_stepper.json.

import { attentionSteps, matmul, projectQkv, softmax, transpose } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {"post" | "pre"} Order where the norms stand: on the stream, or in the branches */
/** @typedef {"stream" | "copy" | "write" | "hidden" | "words"} Kind */
/** @typedef {{ tokens: string[], columns: string[], units: string[], words: string[], X: Matrix, W_Q: Matrix[], W_K: Matrix[], W_V: Matrix[], W_O: Matrix, W_1: Matrix, b_1: number[], W_2: Matrix, E: Matrix }} Layer */
/** @typedef {{ name: string, kind: Kind, row: number[], parts: number[][] }} Place `parts` sum to `row`: the word, each head, feed-forward */

const EPSILON = 1e-5;

/** @param {readonly number[]} list */
export function mean(list) {
  return list.reduce((sum, x) => sum + x, 0) / list.length;
}

/** @param {readonly number[]} row */
export function size(row) {
  return Math.sqrt(row.reduce((sum, x) => sum + x * x, 0));
}

/** The root that LayerNorm divides a row by. @param {readonly number[]} row */
export function root(row) {
  const middle = mean(row);
  return Math.sqrt(mean(row.map((x) => (x - middle) ** 2)) + EPSILON);
}

/** Take the mean of a part off and divide by the root of the whole row. @param {readonly number[]} part @param {number} by */
function shrunk(part, by) {
  const middle = mean(part);
  return part.map((x) => (x - middle) / by);
}

/** @param {Matrix} rows */
export function layerNorm(rows) {
  return rows.map((row) => shrunk(row, root(row)));
}

/** @param {Matrix} a @param {Matrix} b */
function add(a, b) {
  return a.map((row, i) => row.map((x, j) => x + b[i][j]));
}

/** What each head writes into each row, and its weights. @param {Layer} layer @param {Matrix} read */
function heads(layer, read) {
  const wide = layer.W_V[0][0].length;
  return layer.W_Q.map((wQ, i) => {
    const { q, k, v } = projectQkv(read, read, wQ, layer.W_K[i], layer.W_V[i]);
    const { weights, output } = attentionSteps(q, k, v);
    return { weights, writes: matmul(output, layer.W_O.slice(i * wide, (i + 1) * wide)) };
  });
}

/**
 * Every place of one token's way, and what is read off on it.
 * @param {{ layer: Layer, token: number, order: Order, residual: boolean }} state
 */
export function path({ layer, token, order, residual }) {
  const { X, W_1, b_1, W_2, E } = layer;
  const pre = order === "pre";
  const zeros = X[0].map(() => 0);
  const nHeads = layer.W_Q.length;
  /** @type {Place[]} */
  const places = [];
  let stream = X;
  let parts = [X[token], ...Array.from({ length: nHeads + 1 }, () => zeros)];
  /** @param {string} name @param {Kind} kind @param {readonly number[]} row @param {readonly (readonly number[])[]} made */
  const put = (name, kind, row, made) => places.push({ name, kind, row: [...row], parts: made.map((part) => [...part]) });
  /** @param {number} at @param {readonly number[]} row */
  const only = (at, row) => parts.map((_, i) => (i === at ? row : zeros));
  const norm = () => parts.map((part) => shrunk(part, root(stream[token])));

  put("X", "stream", X[token], parts);
  let read = X;
  if (pre) {
    read = layerNorm(X);
    put("LayerNorm 1", "copy", read[token], norm());
  }
  const all = heads(layer, read);
  all.forEach(({ writes }, i) => put(`head ${i + 1} writes`, "write", writes[token], only(i + 1, writes[token])));
  const written = all.map(({ writes }) => writes).reduce(add);
  stream = residual ? add(stream, written) : written;
  parts = [residual ? parts[0] : zeros, ...all.map(({ writes }) => writes[token]), zeros];
  put("sum", "stream", stream[token], parts);

  if (!pre) {
    parts = norm();
    stream = layerNorm(stream);
    put("LayerNorm 1", "stream", stream[token], parts);
    read = stream;
  } else {
    read = layerNorm(stream);
    put("LayerNorm 2", "copy", read[token], norm());
  }
  const hidden = matmul(read, W_1).map((row) => row.map((x, u) => Math.max(0, x + b_1[u])));
  put("hidden units", "hidden", hidden[token], []);
  const made = matmul(hidden, W_2);
  put("units write", "write", made[token], only(nHeads + 1, made[token]));
  if (!residual) parts = parts.map(() => zeros);
  stream = residual ? add(stream, made) : made;
  parts[nHeads + 1] = made[token];
  put("second sum", "stream", stream[token], parts);
  parts = norm();
  stream = layerNorm(stream);
  put(pre ? "last LayerNorm" : "LayerNorm 2", "stream", stream[token], parts);
  const scores = matmul(stream, transpose(E));
  put("words", "words", scores[token], []);
  return {
    places,
    weights: all.map(({ weights }) => weights[token]),
    probabilities: softmax(scores[token]),
    best: scores.map((row) => row.indexOf(Math.max(...row))),
  };
}

/** Where a place of one order stands in the other. @param {readonly Place[]} from @param {number} at @param {readonly Place[]} to */
export function samePlace(from, at, to) {
  const name = from[Math.min(at, from.length - 1)].name;
  const found = to.findIndex((place) => place.name === name);
  return found >= 0 ? found : Math.min(at, to.length - 1);
}
