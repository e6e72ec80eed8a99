// The drawing of a layer's heads for one token: four tables, one tint a head, and four sentences on what holds.

import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {ReturnType<typeof import("../math/head-splitter.mjs").layer>} Layer */
/** @typedef {ReturnType<typeof import("../math/head-splitter.mjs").broken>} Broken */

/** Integers as integers. @param {number} x */
export function short(x) {
  return number(x, Number.isInteger(x) ? 0 : 1);
}

/**
 * What holds and what does not, in four sentences.
 * @param {Broken} now
 * @param {number} heads
 * @param {number} width
 * @returns {[text: string, bad: boolean][]}
 */
export function sentences(now, heads, width) {
  const follows = now.off < 1e-9;
  return [
    [`One number of a query reads ${now.reads} of the ${width} columns of X.`, now.reads < width],
    [
      follows
        ? "Turn the words round, and the output turns with them."
        : `Turn the words round, and the output does not follow: off by ${number(now.off)}. Tokens are mixed.`,
      !follows,
    ],
    [`A head can write into ${now.reaches} of the ${width} columns of the output.`, now.reaches < width],
    [`${now.count} weights: ${heads} head${heads === 1 ? "" : "s"}, each ${width / heads} wide.`, false],
  ];
}

/** The tint of head `i`, from 0. @param {number} i */
const tint = (i) => `qkv-head-${i + 1}`;

/**
 * @param {{ tokens: readonly string[], names: readonly string[], heads: number }} options
 */
export function headView({ tokens, names, heads }) {
  const width = names.length;
  const of = (/** @type {number} */ c) => Math.floor((c * heads) / width);
  const numbers = names.map((_, c) => String(of(c) + 1));
  const headNames = Array.from({ length: heads }, (_, i) => `head ${i + 1}`);
  const make = (/** @type {string} */ name, /** @type {string} */ role, /** @type {string} */ label, /** @type {readonly string[]} */ rows, /** @type {readonly string[]} */ cols, upright = false) =>
    matrixTable({ name, role, label, rows, cols, heat: name === "weights", upright });

  const ask = make("w_q", "q", "x, W_Q and, in the last row, the query; the head of each column stands above it", [...names, "q"], ["x", ...numbers]);
  const look = make("weights", "w", "weights of this token, a row for each head", headNames, tokens);
  const out = make("w_o", "o", "what was found, and W_O; a row's head stands at its left", numbers.map((n) => `head ${n}`), ["found", ...names], true);
  const say = make("writes", "o", "what each head writes, and in the last row the sum", [...headNames, "output"], names, true);

  for (const row of ask.cells) row.slice(1).forEach((td, c) => td.classList.add(tint(of(c))));
  ask.colHeads.slice(1).forEach((th, c) => th.classList.add(tint(of(c))));
  for (const row of ask.cells.slice(0, -1)) row[0].classList.add("qkv-heads-x");
  look.rowHeads.forEach((th, i) => th.classList.add(tint(i)));
  out.cells.forEach((row, r) => [out.rowHeads[r], ...row].forEach((cell) => cell.classList.add(tint(of(r)))));
  say.cells.slice(0, -1).forEach((row, i) => [say.rowHeads[i], ...row].forEach((cell) => cell.classList.add(tint(i))));
  for (const { cells } of [ask, say]) for (const td of cells[cells.length - 1]) td.classList.add("qkv-heads-last");

  const tables = [ask, look, out, say];
  for (const one of tables) {
    one.table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const td = /** @type {HTMLTableCellElement} */ (event.target);
      const next = step(event, placeOf(td), [one.cells.length, one.cells[0].length]);
      if (!next) return;
      event.preventDefault();
      one.cells[next[0]][next[1]].focus();
    });
    one.table.addEventListener("focusin", (event) => one.rove(/** @type {HTMLTableCellElement} */ (event.target)));
    one.table.addEventListener("click", (event) => {
      const td = event.target instanceof Element ? event.target.closest("tbody td") : null;
      if (td instanceof HTMLElement) td.focus();
    });
  }
  const said = [0, 1, 2, 3].map(() => h("li"));
  return {
    el: h("div", { class: "qkv-heads-body" }, ask.el, h("div", { class: "qkv-heads-right" }, look.el, h("ul", { class: "qkv-heads-words" }, ...said)), out.el, say.el),
    /**
     * @param {{ x: readonly number[], t: number, made: Layer, now: Broken, way: string }} picture
     */
    update({ x, t, made, now, way }) {
      const token = tokens[t];
      write(ask.head, `x of “${token}”, W_Q, and q`);
      write(look.head, `weights of “${token}”, head by head`);
      write(out.head, way === "no W_O" ? "found, and no W_O" : "found, and W_O");
      write(say.head, `what each head writes for “${token}”`);
      ask.write([...made.wQ.map((row, r) => [x[r], ...row]), [NaN, ...made.q[t]]], (y) => (Number.isNaN(y) ? "" : short(y)));
      look.write(made.weights.map((rows) => rows[t]), number, (y) => y);
      out.write(made.wO.map((row, r) => [made.concatenated[t][r], ...row]), short);
      say.write([...made.writes.map((rows) => rows[t]), made.output[t]], short);
      ask.cells.slice(0, -1).forEach((row, r) =>
        row.slice(1).forEach((td, c) => td.classList.toggle("qkv-heads-cut", way === "slices" && of(r) !== of(c))),
      );
      sentences(now, heads, width).forEach(([text, bad], i) => {
        write(said[i], text);
        set(said[i], { "data-warn": bad ? "yes" : null });
      });
    },
  };
}
