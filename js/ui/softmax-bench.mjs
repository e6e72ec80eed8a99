// The bench's drawing: one row of scores on sliders, the table of weights, and the leak meter.
// Knows numbers and names only; what a move means is the caller's affair.

import { visible } from "../math/softmax-bench.mjs";
import { rangeRow } from "./controls.mjs";
import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {ReturnType<typeof import("../math/softmax-bench.mjs").bench>} Bench */
/**
 * @typedef {object} Handlers
 * @property {(row: number, col: number, score: number) => void} onscore
 * @property {(row: number) => void} onrow
 */

/** A power of e or a sum of them, short. @param {number} x */
export function power(x) {
  return x !== 0 && (x >= 1000 || x < 0.005) ? x.toExponential(1).replace("e+", "e").replace("e-", "e−") : number(x);
}

/** @param {readonly string[]} tokens @param {number} nQ */
export function namesOf(tokens, nQ) {
  return { queries: tokens.slice(tokens.length - nQ), keys: [...tokens] };
}

/**
 * @param {{ tokens: readonly string[], nQ: number } & Handlers} options
 */
export function benchView({ tokens, nQ, onscore, onrow }) {
  const { queries, keys } = namesOf(tokens, nQ);
  let selected = 0;

  const lines = keys.map((key, j) => {
    const slider = rangeRow({
      label: key,
      min: -4,
      max: 4,
      step: 0.1,
      format: (x) => number(x, 1),
      oninput: (value) => onscore(selected, j, value),
    });
    const cells = {
      power: h("span", { class: "qkv-bench-power" }),
      total: h("span", { class: "qkv-bench-total" }),
      weight: h("b", { class: "qkv-w qkv-bench-weight" }),
    };
    const el = h("div", { class: "qkv-bench-line" }, slider.el, cells.power, cells.total, cells.weight);
    return { slider, el, ...cells };
  });
  const head = h(
    "div",
    { class: "qkv-bench-line qkv-bench-head", "aria-hidden": "true" },
    h("span", {}, "key and score"),
    h("span", {}, "power"),
    h("span", {}, "÷ sum"),
    h("span", {}, "weight"),
  );

  const table = matrixTable({
    name: "weights",
    role: "w",
    label: "weights, their sums, and how far each row moved",
    rows: [...queries, "sum"],
    cols: [...keys, "sum", "moved"],
    heat: true,
  });
  write(table.head, "weights");
  for (const row of table.cells) for (const td of row.slice(keys.length)) td.classList.add("qkv-bench-sum");
  for (const td of table.cells[nQ]) td.classList.add("qkv-bench-sum");

  table.table.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const td = /** @type {HTMLTableCellElement} */ (event.target);
    const next = step(event, placeOf(td), [nQ + 1, keys.length + 2]);
    if (!next) return;
    event.preventDefault();
    table.cells[next[0]][next[1]].focus();
  });
  table.table.addEventListener("focusin", (event) => {
    const td = /** @type {HTMLTableCellElement} */ (event.target);
    table.rove(td);
    const [row] = placeOf(td);
    if (row < nQ) onrow(row);
  });
  table.table.addEventListener("click", (event) => {
    if (event.target instanceof HTMLTableCellElement && event.target.tagName === "TD") event.target.focus();
  });

  const fill = h("i", { class: "qkv-bench-bar" });
  const value = h("b", { class: "qkv-bench-leak" });
  const verdict = h("p", { class: "qkv-bench-verdict" });
  const meter = h("div", { class: "qkv-bench-meter" }, h("span", {}, "Leak "), value, h("span", { class: "qkv-bench-track", "aria-hidden": "true" }, fill));

  return {
    rows: h("div", { class: "qkv-bench-lines" }, head, ...lines.map((line) => line.el)),
    table,
    meter: h("div", { class: "qkv-bench-meters" }, meter, verdict),
    /**
     * @param {{ scores: readonly (readonly number[])[], row: number, axis: string, times: number, made: Bench }} picture
     */
    update({ scores, row, axis, times, made }) {
      selected = row;
      const overKeys = axis === "keys";
      const powers = made.scaled.map((line) => line.map(Math.exp));
      const add = (/** @type {number[]} */ list) => list.reduce((total, x) => total + x, 0);
      lines.forEach(({ slider, el, ...cells }, j) => {
        const open = visible(nQ, keys.length, row, j);
        slider.set(scores[row][j]);
        slider.input.disabled = !open;
        el.classList.toggle("qkv-bench-masked", !open);
        write(cells.power, open ? power(powers[row][j]) : "later");
        write(cells.total, `÷ ${power(overKeys ? add(powers[row]) : add(powers.map((line) => line[j])))}`);
        write(cells.weight, number(made.weights[row][j]));
        cells.weight.style.setProperty("--share", `${100 * made.weights[row][j]}%`);
      });
      const values = [
        ...made.weights.map((line, i) => [...line, made.rowSums[i], made.moved[i]]),
        [...made.columnSums, add(made.rowSums), NaN],
      ];
      const masks = values.map((line, i) => line.map((_, j) => made.scaled[i]?.[j] ?? 0));
      table.write(values, (x) => (Number.isNaN(x) ? "" : number(x)), (x) => (Number.isNaN(x) ? 0 : Math.min(1, x)), masks);
      table.rowHeads.forEach((th, i) => th.classList.toggle("qkv-here-head", i === row));
      table.colHeads.forEach((th, j) => th.classList.toggle("qkv-lit-head", !overKeys && j < keys.length));

      const last = queries[nQ - 1];
      write(value, number(made.leak));
      fill.style.width = `${100 * Math.min(1, made.leak)}%`;
      set(meter, { "data-leaks": made.leak > 0 ? "yes" : null });
      const worst = made.moved.slice(0, -1).indexOf(made.leak);
      write(
        verdict,
        times === 1
          ? `The query of “${last}” is as it was: nothing to compare yet.`
          : made.leak > 0
            ? `“${last}” comes last, yet changing it moved a weight of “${queries[worst]}” by ${number(made.leak)}.`
            : `Changing “${last}” moved its own row by ${number(made.moved[nQ - 1])}, and no earlier one.`,
      );
    },
  };
}
