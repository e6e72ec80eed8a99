// A table of numbers with one tab stop: a real table, walked with the arrow keys, whose cells are never rebuilt.

import { h, write } from "./dom.mjs";

/**
 * @typedef {object} MatrixOptions
 * @property {string} name stands in `data-matrix`
 * @property {string} role colour: q, k, v, w or x
 * @property {string} label what a screen reader calls the table
 * @property {readonly string[]} rows
 * @property {readonly string[]} cols
 * @property {boolean} [editable]
 * @property {boolean} [upright] column names stand on end
 * @property {boolean} [heat] cells are shaded by value
 */

/** @param {MatrixOptions} options */
export function matrixTable({ name, role, label, rows, cols, editable = false, upright = false, heat = false }) {
  const head = h("p", { class: "qkv-matrix-head" });
  const colHeads = cols.map((text) => h("th", { scope: "col" }, upright ? h("span", {}, text) : text));
  const rowHeads = rows.map((text) => h("th", { scope: "row" }, text));
  const cells = rows.map(() => cols.map(() => h("td", { tabindex: -1 }, "")));
  const texts = cells.map((row) => row.map((td) => td.appendChild(document.createTextNode(""))));
  const table = h(
    "table",
    { role: "grid", "aria-label": label, "aria-readonly": editable ? null : "true" },
    h("thead", {}, h("tr", {}, h("td", { "aria-hidden": "true" }), ...colHeads)),
    h("tbody", {}, ...rows.map((_, i) => h("tr", {}, rowHeads[i], ...cells[i]))),
  );
  const classes = ["qkv-matrix", `qkv-as-${role}`, upright && "qkv-upright", heat && "qkv-heat", editable && "qkv-editable"];
  const el = h("div", { class: classes.filter(Boolean).join(" "), "data-matrix": name }, head, table);
  let stop = cells[0][0];
  stop.tabIndex = 0;
  return {
    el,
    table,
    head,
    cells,
    colHeads,
    rowHeads,
    /** The cell that Tab reaches. @param {HTMLTableCellElement} td */
    rove(td) {
      if (td === stop) return;
      stop.tabIndex = -1;
      td.tabIndex = 0;
      stop = td;
    },
    get stop() {
      return stop;
    },
    /**
     * Write numbers: only texts that changed are touched.
     * @param {readonly (readonly number[])[]} values
     * @param {(x: number) => string} format
     * @param {(x: number) => number} [share] of the shade, 0 to 1
     * @param {readonly (readonly number[])[]} [scores] a cell whose score is -Infinity is masked
     */
    write(values, format, share, scores) {
      for (let i = 0; i < cells.length; i += 1) {
        for (let j = 0; j < cols.length; j += 1) {
          const td = cells[i][j];
          const x = values[i][j];
          const exact = String(x);
          write(texts[i][j], format(x));
          if (td.dataset.value === exact && !share) continue;
          td.dataset.value = exact;
          td.classList.toggle("qkv-zero", x === 0);
          td.classList.toggle("qkv-masked", scores?.[i][j] === -Infinity);
          if (share) td.style.setProperty("--shade", `${Math.round(50 * share(x))}%`);
        }
      }
    },
  };
}

/**
 * The place of a cell in its table's body.
 * @param {HTMLTableCellElement} td
 * @returns {[row: number, col: number]}
 */
export function placeOf(td) {
  return [/** @type {HTMLTableRowElement} */ (td.parentElement).sectionRowIndex, td.cellIndex - 1];
}

/**
 * Where a key leads from a cell: arrows, Home and End (of the row; with Ctrl, of the table). Null for any other key.
 * @param {{ key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean }} event
 * @param {readonly [row: number, col: number]} from
 * @param {readonly [rows: number, cols: number]} size
 * @returns {[row: number, col: number] | null}
 */
export function step({ key, ctrlKey, metaKey, altKey }, [row, col], [rows, cols]) {
  const far = ctrlKey || metaKey;
  if (altKey || (far && key.startsWith("Arrow"))) return null;
  switch (key) {
    case "ArrowUp":
      return [Math.max(0, row - 1), col];
    case "ArrowDown":
      return [Math.min(rows - 1, row + 1), col];
    case "ArrowLeft":
      return [row, Math.max(0, col - 1)];
    case "ArrowRight":
      return [row, Math.min(cols - 1, col + 1)];
    case "Home":
      return [far ? 0 : row, 0];
    case "End":
      return [far ? rows - 1 : row, cols - 1];
    default:
      return null;
  }
}

/**
 * As many decimals (at most 2) as the numbers of a table need to be exact, so that a table of integers shows integers.
 * @param {readonly (readonly number[])[]} values
 */
export function decimals(values) {
  const exact = (/** @type {number} */ x, /** @type {number} */ d) => Math.abs(x * 10 ** d - Math.round(x * 10 ** d)) < 1e-9;
  const numbers = values.flat().filter(Number.isFinite);
  return [0, 1].find((d) => numbers.every((x) => exact(x, d))) ?? 2;
}
