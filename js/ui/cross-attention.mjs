// The picture of two sentences with the lines of one head, the table of the output, and the parts of one of its numbers.

import { add } from "../math/cross-attention.mjs";
import { button } from "./controls.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { factor, number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {import("../math/cross-attention.mjs").Meeting} Meeting */

/**
 * Columns for words in one line, each as wide as its text; the middles are where the lines end.
 * @param {readonly string[]} words
 * @param {number} room beside each word, in letters
 */
export function spread(words, room) {
  const widths = words.map((word) => word.length + room);
  const total = add(widths);
  let left = 0;
  const middles = widths.map((width) => (left += width) - width / 2).map((x) => (1000 * x) / total);
  return { columns: widths.map((width) => `${width.toFixed(1)}fr`).join(" "), middles };
}

/**
 * Where the weight of one part comes from, in words.
 * @param {{ query: string, key: string, columns: readonly string[], columnsKv: readonly string[], meetings: readonly Meeting[], root: number, score: number, hidden: boolean }} facts
 */
export function scoreText({ query, key, columns, columnsKv, meetings, root, score, hidden }) {
  if (hidden) return `${key} is hidden: its score is set to −∞.`;
  if (!meetings.length) return `No column of ${query} meets a column of ${key}: the score is 0.`;
  const sum = meetings.map(({ x, m, strength }) => `${tidy(x)} × ${tidy(strength)} × ${tidy(m)}`).join(" + ");
  const joins = meetings.map(({ a, b, x, m, strength }) => `${columns[a]} ${tidy(x)} of ${query}, joined by ${tidy(strength)} to ${columnsKv[b]} ${tidy(m)} of ${key}`);
  return `Score ${number(score)} = (${sum}) / ${tidy(root)}: ${joins.join("; ")}.`;
}

/** @param {number} x */
function tidy(x) {
  return Number.isInteger(x) ? factor(x, 0) : factor(x);
}

/**
 * @param {object} options
 * @param {readonly string[]} options.tokensQ
 * @param {readonly string[]} options.tokensKv
 * @param {readonly string[]} options.columns
 * @param {readonly string[]} options.heads
 * @param {(t: number) => void} options.onrow
 * @param {(t: number, c: number) => void} options.onoutput
 * @param {(head: number, place: number) => void} options.onpart
 * @param {(place: number) => void} options.onhide
 * @param {(place: number, by: number) => void} options.onmove
 */
export function crossView({ tokensQ, tokensKv, columns, heads, onrow, onoutput, onpart, onhide, onmove }) {
  const n = tokensKv.length;
  const above = spread(tokensQ, 3.5);
  const asks = tokensQ.map((word, t) => button(word, () => onrow(t), { class: "qkv-cross-word qkv-q" }));
  const lines = tokensQ.map(() => tokensKv.map(() => svg("line", { y1: 0, y2: 100 })));
  const canvas = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" }, ...lines.flat());
  const keys = tokensKv.map((_, place) => {
    const word = button("", () => onhide(place), { class: "qkv-cross-word qkv-k" });
    const weight = h("span", { class: "qkv-cross-weight" });
    const moves = [-1, 1].map((by) => button(by < 0 ? "◂" : "▸", () => onmove(place, by), { class: "qkv-cross-move" }));
    return { word, weight, moves, el: h("div", { class: "qkv-cross-key" }, weight, word, h("div", {}, ...moves)) };
  });
  const target = h("div", { class: "qkv-cross-row", role: "group", "aria-label": "Target words: each asks" }, ...asks);
  target.style.gridTemplateColumns = above.columns;
  const source = h("div", { class: "qkv-cross-row", role: "group", "aria-label": "Source words: press one to hide it" }, ...keys.map((key) => key.el));

  const out = matrixTable({ name: "output", role: "o", label: "output: a row for each target word", rows: tokensQ, cols: columns, upright: true });
  out.el.style.setProperty("--columns", String(columns.length));
  write(out.head, "output");
  const rows = [...heads.map((_, i) => `head ${i + 1}`), "sum"];
  const part = matrixTable({ name: "parts", role: "v", label: "parts of the chosen number: heads by source words", rows, cols: [...tokensKv, "sum"] });
  part.el.style.setProperty("--columns", String(n + 1));
  part.cells.forEach((row, i) => row.forEach((td, j) => td.classList.toggle("qkv-cross-sum", i === heads.length || j === n)));

  /** @param {ReturnType<typeof matrixTable>} table @param {[number, number]} size @param {(row: number, col: number) => void} onfocus */
  const walk = (table, size, onfocus) => {
    table.table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const next = step(event, placeOf(/** @type {HTMLTableCellElement} */ (event.target)), size);
      if (!next) return;
      event.preventDefault();
      table.cells[next[0]][next[1]].focus();
    });
    table.table.addEventListener("focusin", (event) => {
      const td = /** @type {HTMLTableCellElement} */ (event.target);
      table.rove(td);
      onfocus(...placeOf(td));
    });
    table.table.addEventListener("click", (event) => {
      const td = event.target instanceof Element ? /** @type {HTMLTableCellElement | null} */ (event.target.closest("tbody td")) : null;
      td?.focus();
    });
  };
  walk(out, [tokensQ.length, columns.length], onoutput);
  walk(part, [rows.length, n + 1], (row, col) => {
    if (row < heads.length && col < n) onpart(row, col);
  });

  const why = h("p", { class: "qkv-cross-part" });
  const score = h("p", { class: "qkv-cross-score" });
  return {
    picture: h("div", { class: "qkv-cross-picture" }, target, canvas, source),
    output: out.el,
    parts: h("div", { class: "qkv-cross-side" }, part.el, why, score),
    /**
     * @param {object} now
     * @param {readonly string[]} now.words source words in their order
     * @param {readonly boolean[]} now.seen
     * @param {readonly (readonly number[])[]} now.weights of the chosen head
     * @param {readonly (readonly number[])[]} now.numbers the output
     * @param {readonly (readonly number[])[]} now.shares head by word
     * @param {{ t: number, c: number, head: number, place: number }} now.chosen
     * @param {readonly [string, string]} now.texts
     */
    update({ words, seen, weights, numbers, shares, chosen, texts }) {
      const { t, c, head, place } = chosen;
      const below = spread(words, 9);
      source.style.gridTemplateColumns = below.columns;
      lines.forEach((row, i) =>
        row.forEach((line, j) => {
          const w = weights[i][j];
          set(line, {
            x1: above.middles[i].toFixed(1),
            x2: below.middles[j].toFixed(1),
            "stroke-width": w < 0.04 ? 0 : (8 * w).toFixed(2),
            class: i === t ? "qkv-cross-on" : null,
          });
        }),
      );
      asks.forEach((ask, i) => set(ask, { "aria-pressed": String(i === t) }));
      keys.forEach((key, j) => {
        write(key.word, words[j]);
        write(key.weight, seen[j] ? number(weights[t][j]) : "hidden");
        set(key.word, { "aria-pressed": String(!seen[j]), "aria-label": `hide ${words[j]}` });
        key.moves.forEach((move, i) => {
          set(move, { "aria-label": `move ${words[j]} to the ${i ? "right" : "left"}` });
          move.disabled = i ? j === n - 1 : j === 0;
        });
      });
      out.write(numbers, (x) => number(x));
      const sums = shares.map((row) => [...row, add(row)]);
      const total = sums[0].map((_, j) => add(sums.map((row) => row[j])));
      part.write([...sums, total], (x) => number(x));
      write(part.head, `${tokensQ[t]}, ${columns[c]}: ${number(numbers[t][c])}`);
      part.colHeads.forEach((th, j) => j < n && write(th, words[j]));
      out.cells.forEach((row, i) => row.forEach((td, j) => td.classList.toggle("qkv-here", i === t && j === c)));
      out.rowHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === t));
      out.colHeads.forEach((th, j) => th.classList.toggle("qkv-here-head", j === c));
      part.cells.forEach((row, i) => row.forEach((td, j) => td.classList.toggle("qkv-here", i === head && j === place)));
      write(why, texts[0]);
      write(score, texts[1]);
      if (!out.table.contains(document.activeElement)) out.rove(out.cells[t][c]);
      if (!part.table.contains(document.activeElement)) part.rove(part.cells[head][place]);
    },
  };
}
