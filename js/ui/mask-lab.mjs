// The lab's drawing: one table that is painted and shows the weights, and three sentences on what the mask does.

import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {ReturnType<typeof import("../math/mask-lab.mjs").lab>} Lab */
/** @typedef {import("../math/mask-lab.mjs").Mask} Mask */
/** @typedef {import("../math/mask-lab.mjs").Rule} Rule */

/** A weight in a cell: nothing where nothing is. @param {number} x */
export function cellText(x) {
  return Number.isNaN(x) ? "NaN" : x === 0 ? "" : number(x);
}

/** @param {readonly string[]} tokens @param {readonly number[]} rows */
function named(tokens, rows) {
  return rows.map((i) => `“${tokens[i]}”`).join(", ");
}

/**
 * Three sentences: what comes from later tokens, what goes to pads, which rows are empty.
 * @param {readonly string[]} tokens
 * @param {Lab} made
 * @param {Rule} rule
 * @returns {[string, string, string]}
 */
export function sentences(tokens, made, rule) {
  const rowsOf = (/** @type {readonly number[]} */ list) => list.flatMap((x, i) => (x > 0 ? [i] : []));
  const most = (/** @type {readonly number[]} */ list) => list.indexOf(Math.max(...list.map((x) => (Number.isNaN(x) ? -1 : x))));
  const count = (/** @type {number} */ n) => `${n} row${n === 1 ? "" : "s"}`;

  const looking = rowsOf(made.ahead);
  const robbed = rowsOf(made.lost);
  const later = looking.length
    ? `Later tokens reach ${count(looking.length)}; most of all “${tokens[most(made.ahead)]}”, ${number(made.ahead[most(made.ahead)])} of its weight.`
    : robbed.length
      ? `No weight on later tokens, yet their scores stand in the sums of ${count(robbed.length)}: they took ${number(made.lost[most(made.lost)])} from “${tokens[most(made.lost)]}”.`
      : "No row takes anything from a later token.";

  const real = made.onPads.map((x, i) => (tokens[i] === "pad" ? 0 : x));
  const padding = rowsOf(real).length
    ? `${count(rowsOf(real).length)} of real words look${rowsOf(real).length === 1 ? "s" : ""} at a pad; most of all “${tokens[most(real)]}”, ${number(real[most(real)])}.`
    : "No real word looks at a pad.";

  const what = {
    "-inf": "its weights are zeros, its output too",
    "-1e9": "all scores are equal, so it looks at everything, hidden keys included",
    "0": "all scores are 0, so it looks at everything, hidden keys included",
    after: "its weights were set to zeros",
    again: "0 divided by 0, NaN",
  }[rule];
  const empty = made.empty.length ? `Empty: ${named(tokens, made.empty)}; ${what}.` : "No row is empty.";
  return [later, padding, empty];
}

/**
 * @param {{ tokens: readonly string[], onpaint: (cells: [row: number, col: number][], open: boolean, gesture: string) => void, isOpen: (row: number, col: number) => boolean, onfocus: (row: number, col: number) => void }} options
 */
export function maskView({ tokens, onpaint, isOpen, onfocus }) {
  const n = tokens.length;
  const table = matrixTable({
    name: "weights",
    role: "w",
    label: "weights under the mask; Space opens or closes a cell",
    rows: tokens,
    cols: [...tokens, "sum", "later"],
    editable: true,
    heat: true,
  });
  set(table.table, { "aria-multiselectable": "true" });
  table.el.style.setProperty("--columns", String(n + 2));
  write(table.head, "weights");
  for (const row of table.cells) for (const td of row.slice(n)) td.classList.add("qkv-mask-sum");

  /** @param {EventTarget | null} target @returns {[number, number] | null} */
  const cellAt = (target) => {
    const td = target instanceof Element ? target.closest("td") : null;
    if (!td || !table.table.tBodies[0].contains(td)) return null;
    const place = placeOf(td);
    return place[1] < n ? place : null;
  };
  /** @type {{ open: boolean, gesture: string } | null} */
  let brush = null;
  let strokes = 0;
  let touched = false;

  table.table.addEventListener("pointerdown", (event) => {
    const place = cellAt(event.target);
    touched = event.pointerType === "touch";
    if (!place || touched || event.button !== 0) return;
    brush = { open: !isOpen(...place), gesture: `stroke ${(strokes += 1)}` };
    onpaint([place], brush.open, brush.gesture);
  });
  table.table.addEventListener("pointerover", (event) => {
    const place = cellAt(event.target);
    if (!brush || !place || !(event.buttons & 1)) return;
    if (isOpen(...place) !== brush.open) onpaint([place], brush.open, brush.gesture);
  });
  const lift = () => {
    brush = null;
  };
  for (const type of ["pointerup", "pointercancel"]) addEventListener(type, lift);
  table.table.addEventListener("click", (event) => {
    const place = cellAt(event.target);
    if (!place) return;
    table.cells[place[0]][place[1]].focus();
    // A finger scrolls as well as it paints, so it paints by tapping.
    if (touched) onpaint([place], !isOpen(...place), "");
  });

  table.table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const [row, col] = placeOf(/** @type {HTMLTableCellElement} */ (event.target));
    if ((event.key === " " || event.key === "Enter") && !event.shiftKey) {
      event.preventDefault();
      if (col < n) onpaint([[row, col]], !isOpen(row, col), "");
      return;
    }
    const next = step(event, [row, col], [n, n + 2]);
    if (!next) return;
    event.preventDefault();
    table.cells[next[0]][next[1]].focus();
  });
  table.table.addEventListener("focusin", (event) => {
    const td = /** @type {HTMLTableCellElement} */ (event.target);
    table.rove(td);
    onfocus(...placeOf(td));
  });

  const said = [0, 1, 2].map(() => h("li"));
  return {
    table,
    words: h("ul", { class: "qkv-mask-words" }, ...said),
    destroy() {
      for (const type of ["pointerup", "pointercancel"]) removeEventListener(type, lift);
    },
    /** @param {{ mask: Mask, rule: Rule, made: Lab }} picture */
    update({ mask, rule, made }) {
      const values = made.weights.map((row, i) => [...row, made.sums[i], made.ahead[i]]);
      const scores = values.map((row, i) => row.map((_, j) => (j < n && !mask[i][j] ? -Infinity : 0)));
      table.write(values, cellText, (x) => (Number.isNaN(x) ? 0 : Math.min(1, x)), scores);
      table.cells.forEach((row, i) => {
        row.forEach((td, j) => {
          if (j < n) set(td, { "aria-selected": mask[i][j] ? "true" : "false" });
          else write(td.lastChild ?? td, Number.isNaN(values[i][j]) ? "NaN" : number(values[i][j]));
          td.classList.toggle("qkv-mask-later", j > i && j < n && values[i][j] > 0);
        });
        row[n + 1].classList.toggle("qkv-mask-leaks", made.ahead[i] > 0);
        table.rowHeads[i].classList.toggle("qkv-here-head", made.empty.includes(i));
      });
      sentences(tokens, made, rule).forEach((text, i) => write(said[i], text));
      set(said[0], { "data-warn": made.ahead.some((x) => x > 0) || made.lost.some((x) => x > 0) ? "yes" : null });
      set(said[1], { "data-warn": made.onPads.some((x, i) => x > 0 && tokens[i] !== "pad") ? "yes" : null });
      set(said[2], { "data-warn": made.empty.length > 0 ? "yes" : null });
    },
  };
}
