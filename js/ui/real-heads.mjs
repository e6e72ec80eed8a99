// The drawing of RealHeads: a map of 72 heads, one head's weights, one query's row, and the work behind one score.

import { D_K, N_HEADS, N_LAYERS } from "../math/real-heads.mjs";
import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {import("../math/real-heads.mjs").Measure} Measure */
/** @typedef {ReturnType<typeof import("../math/real-heads.mjs").look>} Look */
/** @typedef {ReturnType<typeof matrixTable>} Table */

/** @type {[Measure, string][]} */
export const MEASURES = [
  ["same", "the same word elsewhere"],
  ["previous", "the token before"],
  ["next", "the token after"],
  ["itself", "the token itself"],
  ["cls", "[CLS]"],
  ["sep", "[SEP]"],
];

const percent = (/** @type {number} */ x) => number(100 * x, 0);

/** What a head does over 360 sentences. @param {Record<Measure, number[][]>} looks @param {readonly number[]} head */
export function role(looks, [layer, head]) {
  const at = (/** @type {Measure} */ name) => number(looks[name][layer][head], 0);
  return `Layer ${layer}, head ${head}, over 360 sentences, in % of its weight: before ${at("previous")}, after ${at("next")}, itself ${at("itself")}, [CLS] ${at("cls")}, [SEP] ${at("sep")}; a repeated word gives the other one ${at("same")}.`;
}

/** @param {readonly string[]} tokens @param {Look} made @param {readonly number[]} at */
export function sentence(tokens, made, [t, j]) {
  const row = made.carried[t];
  const share = row[j] / row.reduce((a, b) => a + b, 0);
  return `“${tokens[t]}” looks at “${tokens[j]}”, weight ${number(made.weights[t][j])}; of what is carried to it, ${percent(share)} % comes from there.`;
}

/** @param {Table} of @param {KeyboardEvent} event @param {(row: number, col: number) => void} go */
function walk(of, event, go) {
  const next = step(event, placeOf(/** @type {HTMLTableCellElement} */ (event.target)), [of.cells.length, of.cells[0].length]);
  if (!next) return;
  event.preventDefault();
  go(...next);
}

/**
 * A table whose focused cell is the chosen one.
 * @param {Table} table
 * @param {(place: [number, number]) => void} choose
 */
function chosenByFocus(table, choose) {
  table.table.addEventListener("keydown", (event) => walk(table, event, (row, col) => table.cells[row][col].focus()));
  table.table.addEventListener("focusin", (event) => choose(placeOf(/** @type {HTMLTableCellElement} */ (event.target))));
  table.table.addEventListener("click", (event) => {
    const td = /** @type {Element} */ (event.target).closest("tbody td");
    if (td instanceof HTMLTableCellElement) td.focus();
  });
  return table;
}

/** @param {Table} table */
function readOnly(table) {
  table.table.addEventListener("keydown", (event) => walk(table, event, (row, col) => table.cells[row][col].focus()));
  table.table.addEventListener("focusin", (event) => table.rove(/** @type {HTMLTableCellElement} */ (event.target)));
  return table;
}

/** @param {Table} table @param {readonly number[]} from @param {readonly number[]} to */
function mark(table, from, to) {
  table.cells[from[0]]?.[from[1]]?.classList.remove("qkv-here");
  const cell = table.cells[to[0]][to[1]];
  cell.classList.add("qkv-here");
  table.rove(cell);
  table.rowHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === to[0]));
  table.colHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === to[1]));
  return cell;
}

/** @param {{ onhead: (head: [number, number]) => void, onat: (at: [number, number]) => void }} options */
export function realHeadsView({ onhead, onat }) {
  const map = chosenByFocus(
    matrixTable({
      name: "heads",
      role: "w",
      label: "all heads: a row for each layer, a column for each head, in per cent of the weight",
      rows: Array.from({ length: N_LAYERS }, (_, i) => String(i)),
      cols: Array.from({ length: N_HEADS }, (_, i) => String(i)),
      heat: true,
    }),
    onhead,
  );
  const work = readOnly(matrixTable({ name: "work", role: "o", label: "a query, a key, and their products", rows: ["q", "k", "q · k"], cols: Array.from({ length: D_K }, (_, i) => String(i)) }));
  work.rowHeads[0].classList.add("qkv-q");
  work.rowHeads[1].classList.add("qkv-k");
  const says = h("p", { class: "qkv-real-role" });
  const said = h("p", { class: "qkv-real-said" });
  const sum = h("p", { class: "qkv-real-sum" });
  const grid = h("div", { class: "qkv-real-grid" });
  const line = h("div", { class: "qkv-real-line" });
  /** @type {Table | undefined} */
  let table;
  /** @type {Table | undefined} */
  let row;
  let drawn = "";
  /** @type {readonly number[]} */
  let oldHead = [0, 0];
  /** @type {readonly number[]} */
  let oldAt = [0, 0];

  /** @param {readonly string[]} tokens */
  function build(tokens) {
    const had = grid.contains(document.activeElement);
    table = chosenByFocus(matrixTable({ name: "weights", role: "w", label: "weights in per cent: a row for each query, a column for each key", rows: tokens, cols: tokens, upright: true, heat: true }), onat);
    write(table.head, "weights in % (rows ask)");
    row = readOnly(matrixTable({ name: "row", role: "w", label: "the chosen query: score, weight and what is carried", rows: ["score", "weight", "|v W_O|", "carried"], cols: tokens, upright: true }));
    grid.replaceChildren(table.el);
    line.replaceChildren(row.el);
    return had;
  }

  return {
    map: h("div", { class: "qkv-real-map" }, map.el, says),
    body: h("div", { class: "qkv-real-body" }, grid, h("div", { class: "qkv-real-work" }, said, line, work.el, sum)),
    /** The map and what stands below it need no bytes. @param {Record<Measure, number[][]>} looks @param {Measure} measure @param {readonly number[]} head */
    heads(looks, measure, head) {
      map.write(looks[measure], (x) => number(x, 0), (x) => x / 100);
      const name = MEASURES.find(([key]) => key === measure)?.[1];
      write(map.head, "weight in % (rows: layers)");
      set(map.table, { "aria-label": `weight on ${name} in per cent: a row for each layer, a column for each head` });
      mark(map, oldHead, head);
      oldHead = head;
      write(says, role(looks, head));
    },
    /**
     * @param {readonly string[]} tokens
     * @param {import("../math/real-heads.mjs").Head} head
     * @param {Look} made
     * @param {readonly number[]} at
     */
    update(tokens, head, made, at) {
      const key = JSON.stringify(tokens);
      const refocus = key !== drawn && build(tokens);
      drawn = key;
      const [weights, numbers] = [/** @type {Table} */ (table), /** @type {Table} */ (row)];
      const [t, j] = at;
      weights.write(made.weights, percent, (x) => x);
      const cell = mark(weights, oldAt, at);
      oldAt = at;
      if (refocus) cell.focus();
      numbers.write([made.scores[t], made.weights[t], head.lengths, made.carried[t]], (x) => number(x));
      numbers.colHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === j));
      write(numbers.head, `the row of “${tokens[t]}”`);
      const products = head.q[t].map((x, c) => x * head.k[j][c]);
      work.write([head.q[t], head.k[j], products], (x) => number(x, 1));
      write(work.head, `q of “${tokens[t]}”, k of “${tokens[j]}”`);
      const total = products.reduce((a, b) => a + b, 0);
      write(said, sentence(tokens, made, at));
      write(sum, `Sum of the 32 products ${number(total, 1)}, divided by √32: ${number(total / Math.sqrt(D_K))}. After the softmax over the row: ${number(made.weights[t][j])}.`);
    },
  };
}
