// The explorer's drawing: what was read and written, the weights of one head, and the two rows that made one of them.

import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/**
 * @typedef {object} Look
 * @property {"encoder" | "decoder" | "cross"} site
 * @property {number} layer
 * @property {number} head
 * @property {string[]} source
 * @property {string[]} written from the start symbol to the stop symbol
 * @property {number[][]} q
 * @property {number[][]} k
 * @property {number[][]} scores −∞ where the query may not look
 * @property {number[][]} weights
 * @property {import("../math/translations.mjs").Translation} gold
 */

const WHERE = {
  encoder: ["the source's rows, as the layer below left them", "the same rows"],
  decoder: ["the target's rows, as the layer below left them", "the same rows, up to its own"],
  cross: ["the target's rows, behind this layer's self-attention and its norm", "the memory: the last encoder layer's rows"],
};

/** @param {Look} look */
export function labels({ site, source, written }) {
  const says = written.slice(1).map((word) => `→ ${word}`);
  const reads = written.slice(0, -1);
  return { rows: site === "encoder" ? source : says, cols: site === "decoder" ? reads : source, reads: site === "encoder" ? source : reads };
}

/** Whether the model has said what the rule says. @param {Look} look */
export function isRight({ written, gold }) {
  return written.slice(1).join(" ") === [...gold.target, "</s>"].join(" ");
}

/** @param {Look} look */
export function verdict(look) {
  return isRight(look) ? "Right, word for word." : `Wrong. The rule says: ${look.gold.target.join(" ")}`;
}

/** What a weight means, in a sentence. @param {Look} look @param {readonly [number, number]} at */
export function sentence(look, [t, s]) {
  const { site, written, weights, gold } = look;
  const { cols, reads } = labels(look);
  const weight = `“${cols[s]}”, weight ${number(weights[t][s])}`;
  if (site === "encoder") return `“${reads[t]}” looks at ${weight}.`;
  const start = `The row that reads “${reads[t]}” and predicts “${written[t + 1]}” looks at ${weight}`;
  if (look.scores[t][s] === -Infinity) return `${start}: it may not look ahead.`;
  if (site === "decoder" || !isRight(look) || t >= gold.target.length) return `${start}.`;
  const partners = gold.possible.filter(([u]) => u === t).map(([, u]) => u);
  if (!partners.length) return `${start}. “${written[t + 1]}” has no partner.`;
  if (partners.includes(s)) return `${start}: its partner.`;
  return `${start}; its partner is ${partners.map((u) => `“${cols[u]}”`).join(" or ")}.`;
}

/** @param {{ onchoose: (at: [number, number]) => void }} options */
export function explorerView({ onchoose }) {
  const said = h("p", { class: "qkv-translate-said" });
  const from = h("p", { class: "qkv-translate-line" });
  const to = h("p", { class: "qkv-translate-line" });
  const right = h("p", { class: "qkv-translate-right" });
  const grid = h("div", { class: "qkv-translate-grid" });
  const where = h("p", { class: "qkv-translate-where" });
  const sum = h("p", { class: "qkv-translate-sum" });
  const work = matrixTable({ name: "work", role: "o", label: "a query, a key, and their products", rows: ["q", "k", "q · k"], cols: Array.from({ length: 12 }, (_, i) => String(i)) });
  work.table.addEventListener("keydown", (event) => walk(work, event, (t, s) => work.cells[t][s].focus()));
  work.table.addEventListener("focusin", (event) => work.rove(/** @type {HTMLTableCellElement} */ (event.target)));
  work.rowHeads[0].classList.add("qkv-q");
  work.rowHeads[1].classList.add("qkv-k");
  /** @type {ReturnType<typeof matrixTable> | undefined} */
  let table;
  let drawn = "";
  /** @type {[number, number]} */
  let now = [0, 0];

  /** @param {ReturnType<typeof matrixTable>} of @param {KeyboardEvent} event @param {(t: number, s: number) => void} go */
  function walk(of, event, go) {
    const next = step(event, placeOf(/** @type {HTMLTableCellElement} */ (event.target)), [of.cells.length, of.cells[0].length]);
    if (!next) return;
    event.preventDefault();
    go(...next);
  }

  /** @param {Look} look */
  function build(look) {
    const { rows, cols } = labels(look);
    const had = grid.contains(document.activeElement);
    const made = matrixTable({ name: "weights", role: "w", label: "weights: a row for each query, a column for each key", rows, cols, upright: true, heat: true });
    write(made.head, "weights");
    made.table.addEventListener("keydown", (event) => walk(made, event, (t, s) => made.cells[t][s].focus()));
    made.table.addEventListener("focusin", (event) => onchoose(placeOf(/** @type {HTMLTableCellElement} */ (event.target))));
    made.table.addEventListener("click", (event) => {
      const td = /** @type {Element} */ (event.target).closest("tbody td");
      if (td instanceof HTMLTableCellElement) td.focus();
    });
    grid.replaceChildren(made.el);
    table = made;
    return had;
  }

  return {
    lines: h("div", { class: "qkv-translate-text" }, from, to, right),
    body: h("div", { class: "qkv-translate-body" }, grid, h("div", { class: "qkv-translate-work" }, said, where, work.el, sum)),
    /** Where the reader stands, within the table. @param {Look} look @param {readonly number[]} at @returns {[number, number]} */
    within({ weights }, [t, s]) {
      return [Math.min(Math.max(t, 0), weights.length - 1), Math.min(Math.max(s, 0), weights[0].length - 1)];
    },
    /** @param {Look} look @param {[number, number]} at */
    update(look, at) {
      const { rows, cols } = labels(look);
      const key = JSON.stringify([rows, cols]);
      const refocus = key !== drawn && build(look);
      drawn = key;
      const made = /** @type {NonNullable<typeof table>} */ (table);
      made.cells[now[0]]?.[now[1]]?.classList.remove("qkv-here");
      made.write(look.weights, (x) => number(x), (x) => x, look.scores);
      now = at;
      const [t, s] = at;
      const cell = made.cells[t][s];
      cell.classList.add("qkv-here");
      made.rove(cell);
      if (refocus) cell.focus();
      made.rowHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === t));
      made.colHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === s));
      const partners = look.site === "cross" && isRight(look) ? look.gold.possible : [];
      made.cells.forEach((row, i) => row.forEach((td, j) => td.classList.toggle("qkv-use", partners.some(([a, b]) => a === i && b === j))));
      write(from, look.source.join(" "));
      write(to, look.written.slice(1).join(" "));
      write(right, verdict(look));
      set(right, { class: `qkv-translate-right${isRight(look) ? "" : " qkv-translate-wrong"}` });
      write(said, sentence(look, at));
      write(where, `q: ${look.site === "encoder" ? "" : "this row of "}${WHERE[look.site][0]}, 64 wide, times W_Q. k: ${WHERE[look.site][1]}, times W_K. Both of layer ${look.layer + 1}, head ${look.head + 1}: 64 × 12.`);
      const products = look.q[t].map((x, c) => x * look.k[s][c]);
      work.write([look.q[t], look.k[s], products], (x) => number(x, 1));
      const total = products.reduce((a, b) => a + b, 0);
      const hidden = look.scores[t][s] === -Infinity;
      write(sum, `Sum ${number(total)}, divided by √12: ${number(total / Math.sqrt(12))}${hidden ? ", then hidden by the mask" : ""}. After the softmax over the row: ${number(look.weights[t][s])}.`);
    },
  };
}
