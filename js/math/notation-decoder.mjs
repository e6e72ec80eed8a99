// One multi-head layer in four notations: what every symbol is called, and the array that it stands for (chapter 11).
// The proof that it is core's arithmetic, and that the names are the poster's: js/test/golden/notation_decoder.json.

import { attentionSteps, causalMask, matmul, projectQkv, transpose } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {"paper" | "plain" | "code" | "columns"} Notation */
/** @typedef {"cross" | "encoder" | "decoder"} Use */
/** @typedef {"x_q" | "x_kv" | "w_q" | "w_k" | "w_v" | "q" | "k" | "v" | "scores" | "weights" | "head" | "concat" | "w_o" | "output"} Id */
/** @typedef {{ tokens_source: string[], tokens_target: string[], X_source: Matrix, X_target: Matrix, memory: Matrix }} Inputs */
/** @typedef {{ W_Q: Matrix[], W_K: Matrix[], W_V: Matrix[], W_O: Matrix }} Weights */

export const NOTATIONS = /** @type {const} */ (["paper", "plain", "code", "columns"]);

// `_{…}` is low, `^{…}` is high; the order is that of NOTATIONS.
/** @type {Record<Id, readonly [string, string, string, string]>} */
export const NAMES = {
  x_q: ["Q", "X_{q}", "X_q", "X"],
  x_kv: ["K, V", "X_{kv}", "X_kv", "Z"],
  w_q: ["W_{i}^{Q}", "W_{Q}^{(i)}", "W_Q[i]", "W_{q}^{h}"],
  w_k: ["W_{i}^{K}", "W_{K}^{(i)}", "W_K[i]", "W_{k}^{h}"],
  w_v: ["W_{i}^{V}", "W_{V}^{(i)}", "W_V[i]", "W_{v}^{h}"],
  q: ["QW_{i}^{Q}", "Q_{i}", "q", "Q"],
  k: ["KW_{i}^{K}", "K_{i}", "k", "K"],
  v: ["VW_{i}^{V}", "V_{i}", "v", "V"],
  scores: ["QK^{T}/√d_{k}", "S_{i}", "scores", "S/√d_{attn}"],
  weights: ["softmax(…)", "A_{i}", "weights", "softmax(…)"],
  head: ["head_{i}", "head_{i}", "head", "Y^{h}"],
  concat: ["Concat(…)", "[head_{1}…head_{h}]", "joined", "[Y^{1};…;Y^{H}]"],
  w_o: ["W^{O}", "W_{O}", "W_O", "W_{o}"],
  output: ["MultiHead(Q,K,V)", "output", "output", "Ṽ"],
};

export const IDS = /** @type {Id[]} */ (Object.keys(NAMES));

/** @type {Record<Id, string>} */
export const ROLES = {
  x_q: "x", x_kv: "x", w_q: "q", w_k: "k", w_v: "v", q: "q", k: "k", v: "v", scores: "w", weights: "w", head: "v", concat: "v", w_o: "o", output: "o",
};

/** @typedef {string | [Id, string?]} Part plain text, or a symbol with what is written for it (its name, if nothing is said) */

/** @type {Record<"paper" | "plain" | "columns", Part[][]>} */
export const FORMULAS = {
  paper: [
    [["output", "MultiHead"], "(", ["x_q"], ",", ["x_kv", "K"], ",", ["x_kv", "V"], ") =", ["concat"], ["w_o"]],
    [["head"], "= Attention(", ["x_q"], ["w_q"], ",", ["x_kv", "K"], ["w_k"], ",", ["x_kv", "V"], ["w_v"], ")"],
    ["Attention(", ["q", "Q"], ",", ["k", "K"], ",", ["v", "V"], ") =", ["weights", "softmax("], ["scores"], ")", ["v", "V"]],
  ],
  plain: [
    [["q"], "=", ["x_q"], ["w_q"], ",  ", ["k"], "=", ["x_kv"], ["w_k"], ",  ", ["v"], "=", ["x_kv"], ["w_v"]],
    [["head"], "=", ["weights"], ["v"], ",  ", ["weights"], "= softmax(", ["scores"], ")"],
    [["output"], "=", ["concat"], ["w_o"]],
  ],
  columns: [
    [["q"], "=", ["w_q"], ["x_q"], ",  ", ["k"], "=", ["w_k"], ["x_kv"], ",  ", ["v"], "=", ["w_v"], ["x_kv"]],
    [["head"], "=", ["v"], ["weights", "softmax("], ["scores"], "),  S = K^{T}Q"],
    [["output"], "=", ["w_o"], ["concat"]],
  ],
};

/** @type {Part[][]} */
export const CODE = [
  ["for i in range(n_heads):"],
  ["    ", ["q", "q"], " = ", ["x_q", "X_q"], " @ ", ["w_q", "W_Q[i]"]],
  ["    ", ["k", "k"], " = ", ["x_kv", "X_kv"], " @ ", ["w_k", "W_K[i]"]],
  ["    ", ["v", "v"], " = ", ["x_kv", "X_kv"], " @ ", ["w_v", "W_V[i]"]],
  ["    ", ["scores", "scores"], " = ", ["q", "q"], " @ ", ["k", "k"], ".T / sqrt(d_k)"],
  ["    ", ["weights", "weights"], " = softmax(", ["scores", "scores"], ")"],
  ["    ", ["head", "head"], " = ", ["weights", "weights"], " @ ", ["v", "v"]],
  [["concat", "joined"], " = concatenate(all heads, axis=-1)"],
  [["output", "output"], " = ", ["concat", "joined"], " @ ", ["w_o", "W_O"]],
];

/** The two inputs of a use. @param {Use} use @param {Inputs} inputs */
function inputsOf(use, { X_source, X_target, memory }) {
  if (use === "cross") return { xQ: X_target, xKv: memory };
  const X = use === "encoder" ? X_source : X_target;
  return { xQ: X, xKv: X };
}

/**
 * Every array of the layer, as seen by one head; one token a row.
 * @param {{ use: Use, head: number, inputs: Inputs, weights: Record<"self" | "cross", Weights> }} state
 * @returns {Record<Id, Matrix>}
 */
export function decode({ use, head, inputs, weights }) {
  const { xQ, xKv } = inputsOf(use, inputs);
  const { W_Q, W_K, W_V, W_O } = weights[use === "cross" ? "cross" : "self"];
  const mask = use === "decoder" ? causalMask(xQ.length) : null;
  const all = W_Q.map((_, i) => {
    const { q, k, v } = projectQkv(xQ, xKv, W_Q[i], W_K[i], W_V[i]);
    return { q, k, v, ...attentionSteps(q, k, v, mask) };
  });
  const concat = xQ.map((_, t) => all.flatMap(({ output }) => output[t]));
  const one = all[head];
  return {
    x_q: xQ, x_kv: xKv, w_q: W_Q[head], w_k: W_K[head], w_v: W_V[head], q: one.q, k: one.k, v: one.v,
    scores: one.scores, weights: one.weights, head: one.output, concat, w_o: W_O, output: matmul(concat, W_O),
  };
}

/** The array as a notation writes it: tokens as columns turn it on its side. @param {Matrix} array @param {Notation} notation @returns {Matrix} */
export function written(array, notation) {
  return notation === "columns" ? transpose(array) : array;
}
