// The stepper's drawing: the row of scores in tiles, the step as a table, both answers, and the tiles of the whole table.

import { LIMIT, N, V } from "../math/tile-stepper.mjs";
import { numberRow } from "./controls.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {import("../math/tile-stepper.mjs").State} State */
/** @typedef {ReturnType<typeof import("../math/tile-stepper.mjs").tileSteps>} Steps */

const COLUMNS = ["before", "× 1", "this tile", "after"];
const ROWS = ["m", "l", "o[0]", "o[1]"];
const SQUARE = 18;

/** @param {readonly number[]} pair */
const pairText = (pair) => `(${pair.map((x) => number(x)).join(", ")})`;

/** @param {number} x */
const short = (x) => number(x, Number.isInteger(x) ? 0 : 2);

/**
 * What the last step did, in a sentence.
 * @param {State} state
 * @param {Steps} made
 */
export function sentence({ tile }, made) {
  if (!made.read) return "Nothing is read yet: m is −∞, l and o are 0.";
  const first = (made.read - 1) * tile;
  const last = first + made.inTile - 1;
  const keys = first === last ? `key ${first}` : `keys ${first} to ${last}`;
  const where = `Tile ${made.read} of ${made.tiles}, ${keys}: `;
  const [old, now] = [made.before[0], made.after[0]];
  if (made.read === 1) return `${where}the first tile. Nothing was kept before, so the factor is 0.`;
  if (now === old) return `${where}no larger score. m stays ${short(now)}, and the factor is 1.`;
  return `${where}a larger score, ${short(now)} after ${short(old)}. All that was kept is multiplied by e^(${short(old)} − ${now < 0 ? `(${short(now)})` : short(now)}) = ${number(made.factor, 3)}.`;
}

/**
 * How near the running answer is.
 * @param {Steps} made
 */
export function verdict(made) {
  const off = Math.max(...made.mean.map((x, c) => Math.abs(x - made.full[c])));
  const left = made.tiles - made.read;
  if (!left) return off < 1e-9 ? "equal: every tile is read" : `off by ${number(off)}`;
  return `off by ${number(off)}, ${left} ${left === 1 ? "tile" : "tiles"} to read`;
}

/** @param {{ onscore: (key: number, value: number) => void }} options */
export function tileView({ onscore }) {
  const fields = Array.from({ length: N }, (_, j) =>
    numberRow({ label: `score of key ${j}`, hideLabel: true, min: -LIMIT, max: LIMIT, step: 1, oninput: (x) => onscore(j, x) }),
  );
  const states = fields.map(() => h("span", { class: "qkv-tile-state" }));
  const cells = fields.map((field, j) =>
    h("div", { class: "qkv-tile-cell" }, h("span", { class: "qkv-tile-key", "aria-hidden": "true" }, `key ${j}`), field.el, h("span", { class: "qkv-tile-value" }, h("span", { class: "qkv-sr" }, "value "), V[j].join(", ")), states[j]),
  );
  const row = h("div", { class: "qkv-tile-row", role: "group", "aria-label": "Scores of the query with eight keys" }, ...cells);

  const table = matrixTable({ name: "step", role: "w", label: "the step: m, l and o before and after", rows: ROWS, cols: COLUMNS });
  write(table.head, "one step");
  table.table.addEventListener("keydown", (event) => {
    const next = step(event, placeOf(/** @type {HTMLTableCellElement} */ (event.target)), [ROWS.length, COLUMNS.length]);
    if (!next) return;
    event.preventDefault();
    table.cells[next[0]][next[1]].focus();
  });
  table.table.addEventListener("focusin", (event) => table.rove(/** @type {HTMLTableCellElement} */ (event.target)));

  const said = h("p", { class: "qkv-tile-said" });
  const [mean, full, near, held] = Array.from({ length: 4 }, () => h("dd", {}));
  const answers = h(
    "dl",
    { class: "qkv-tile-answers" },
    h("dt", {}, "o / l now"),
    mean,
    h("dt", {}, "full softmax"),
    full,
    h("dt", {}, "difference"),
    near,
    h("dt", {}, "held"),
    held,
  );
  const squares = Array.from({ length: N * N }, () => svg("rect", {}));
  const line = svg("rect", { x: 0, width: N * SQUARE, height: SQUARE, class: "qkv-tile-query" });
  const map = svg("svg", { viewBox: `-3 -3 ${N * SQUARE + 6} ${N * SQUARE + 6}`, class: "qkv-tile-map", role: "img" }, ...squares, line);
  return {
    row,
    said,
    body: h("div", { class: "qkv-tile-body" }, table.el, answers, map),
    /** @param {State} state @param {Steps} made */
    update(state, made) {
      const { scores, tile, causal, query } = state;
      cells.forEach((cell, j) => {
        const at = Math.floor(j / tile) + 1;
        const hidden = causal && j > query;
        const kind = hidden ? "hidden" : at < made.read ? "read" : at === made.read ? "now" : "later";
        cell.className = `qkv-tile-cell qkv-tile-${kind}${j % tile === 0 ? " qkv-tile-first" : ""}`;
        write(states[j], { hidden: "−∞", read: "read", now: "now", later: "" }[kind]);
        fields[j].set(scores[j]);
        set(fields[j].input, { "aria-description": hidden ? "may not be looked at" : kind === "later" ? "not read yet" : kind });
      });
      write(said, sentence(state, made));
      const values = ROWS.map((_, i) => [made.before[i], made.kept[i], made.added[i], made.after[i]]);
      table.write(values, (x) => (Number.isNaN(x) ? "–" : number(x, 3)));
      write(table.colHeads[1], `× ${number(made.factor, 3)}`);
      write(mean, pairText(made.mean));
      write(full, pairText(made.full));
      write(near, verdict(made));
      const rows = Math.min(tile, N - tile * Math.floor(query / tile));
      write(held, `${rows * made.inTile} scores and ${4 * rows} running numbers, of a table of ${N * N}`);
      const side = Math.ceil(N / tile);
      const band = Math.floor(query / tile);
      squares.forEach((square, s) => {
        const [i, j] = [Math.floor(s / side), s % side];
        if (s >= side * side) return set(square, { class: "qkv-tile-gone" });
        const kind = causal && j > i ? "skipped" : i === band && j + 1 === made.read ? "at" : "computed";
        set(square, {
          x: j * tile * SQUARE,
          y: i * tile * SQUARE,
          width: Math.min(tile, N - j * tile) * SQUARE,
          height: Math.min(tile, N - i * tile) * SQUARE,
          class: `qkv-tile-square qkv-tile-${kind}`,
        });
      });
      set(line, { y: query * SQUARE });
      const skipped = side * side - made.computed;
      set(map, { "aria-label": `Table of 8 queries by 8 keys in tiles of ${tile}: ${made.computed} of ${side * side} tiles are computed, ${skipped} skipped` });
    },
  };
}
