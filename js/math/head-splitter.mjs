// One multi-head layer done rightly and in four wrong ways, and what each way breaks (chapter 10).
// The proof that it is core's arithmetic: js/test/golden/head_splitter.json.

import { matmul, softmax, transpose } from "./attention.mjs";

/** @typedef {import("./attention.mjs").Matrix} Matrix */
/** @typedef {"right" | "slices" | "reshape" | "join" | "no W_O"} Way */

/** Number `count` columns from `from` on. @param {Matrix} a @param {number} from @param {number} count */
function columns(a, from, count) {
  return a.map((row) => row.slice(from, from + count));
}

/** Read the numbers in their order into rows of another length. @param {Matrix} a @param {number} width */
function regrid(a, width) {
  const flat = a.flat();
  return Array.from({ length: flat.length / width }, (_, i) => flat.slice(i * width, (i + 1) * width));
}

/** Zeros outside the heads' blocks on the diagonal. @param {Matrix} w @param {number} d */
export function blocks(w, d) {
  return w.map((row, i) => row.map((x, j) => (Math.floor(i / d) === Math.floor(j / d) ? x : 0)));
}

/**
 * @param {Matrix} x (n, width): all heads side by side
 * @param {number} h
 * @param {boolean} straight reshape at once, which cuts by tokens
 */
function cut(x, h, straight) {
  const [n, d] = [x.length, x[0].length / h];
  if (!straight) return Array.from({ length: h }, (_, i) => columns(x, i * d, d));
  const all = regrid(x, d);
  return Array.from({ length: h }, (_, i) => all.slice(i * n, (i + 1) * n));
}

/**
 * Every array of the layer; W holds W_Q, W_K, W_V and W_O side by side.
 * @param {{ x: Matrix, w: Matrix, h: number, way: Way }} state
 */
export function layer({ x, w, h, way }) {
  const width = w.length;
  const d = width / h;
  const parts = [0, 1, 2, 3].map((i) => columns(w, i * width, width));
  const used = parts.slice(0, 3).map((part) => (way === "slices" ? blocks(part, d) : part));
  const wO = way === "no W_O" ? parts[3].map((row, i) => row.map((_, j) => Number(i === j))) : parts[3];
  const wide = used.map((part) => matmul(x, part));
  const [q, k, v] = wide.map((a) => cut(a, h, way === "reshape"));
  const weights = q.map((rows, i) => matmul(rows, transpose(k[i])).map((row) => softmax(row.map((s) => s / Math.sqrt(d)))));
  const found = weights.map((rows, i) => matmul(rows, v[i]));
  const straight = way === "reshape" || way === "join";
  const concatenated = straight ? regrid(found.flat(), width) : x.map((_, t) => found.flatMap((rows) => rows[t]));
  const writes = found.map((_, i) => matmul(columns(concatenated, i * d, d), wO.slice(i * d, (i + 1) * d)));
  return { wQ: used[0], q: wide[0], weights, concatenated, wO, writes, output: matmul(concatenated, wO) };
}

/**
 * What a way breaks: how many columns of X one number of a head's query can read; how far the output is from following
 * the words when these are turned round; how many columns a head can write to; how many weights there are.
 * @param {{ x: Matrix, w: Matrix, h: number, way: Way }} state
 */
export function broken({ x, w, h, way }) {
  const width = w.length;
  const d = width / h;
  const turned = layer({ x: [...x].reverse(), w, h, way }).output;
  const wanted = [...layer({ x, w, h, way }).output].reverse();
  return {
    reads: way === "slices" ? d : width,
    off: Math.max(...turned.flatMap((row, t) => row.map((y, c) => Math.abs(y - wanted[t][c])))),
    reaches: way === "no W_O" ? d : width,
    count: (way === "slices" ? 3 * h * d * d : 3 * width * width) + (way === "no W_O" ? 0 : width * width),
  };
}
