// Where a number came from, and where it goes: the wiring of one attention head.

/** @typedef {"x_q" | "x_kv" | "w_q" | "w_k" | "w_v" | "q" | "k" | "v" | "scores" | "weights" | "output"} Name */
/** @typedef {{ name: Name, row: number, col: number }} Cell */
/** @typedef {{ name: Name, axis: "row" | "col", index: number }} Band one row or one column of an array */
/** @typedef {Record<Name, readonly (readonly number[])[]>} Values */
/** @typedef {readonly [name: Name, axis: "row" | "col", at: "row" | "col"]} Wire that row or column of `name` whose number is the cell's own row or column */

/** @type {readonly Name[]} */
export const NAMES = ["x_q", "x_kv", "w_q", "q", "w_k", "k", "w_v", "v", "scores", "weights", "output"];

/** @type {readonly Name[]} */
export const INPUTS = ["x_q", "x_kv", "w_q", "w_k", "w_v"];

/** @type {Partial<Record<Name, readonly Wire[]>>} */
const MADE_FROM = {
  q: [["x_q", "row", "row"], ["w_q", "col", "col"]],
  k: [["x_kv", "row", "row"], ["w_k", "col", "col"]],
  v: [["x_kv", "row", "row"], ["w_v", "col", "col"]],
  scores: [["q", "row", "row"], ["k", "row", "col"]],
  weights: [["scores", "row", "row"]],
  output: [["weights", "row", "row"], ["v", "col", "col"]],
};

/** @type {Partial<Record<Name, readonly Wire[]>>} */
const GOES_INTO = {
  x_q: [["q", "row", "row"]],
  x_kv: [["k", "row", "row"], ["v", "row", "row"]],
  w_q: [["q", "col", "col"]],
  w_k: [["k", "col", "col"]],
  w_v: [["v", "col", "col"]],
};

/**
 * The row and the column that a number is computed from; none for an input.
 * @param {Cell} cell
 * @param {boolean} self in self-attention the queries come from x_kv too
 * @returns {Band[]}
 */
export function sources(cell, self) {
  return (MADE_FROM[cell.name] ?? []).map(([name, axis, at]) => ({ name: self && name === "x_q" ? "x_kv" : name, axis, index: cell[at] }));
}

/**
 * The rows and columns that an input goes into.
 * @param {Cell} cell
 * @param {boolean} self
 * @returns {Band[]}
 */
export function uses(cell, self) {
  const asks = self && cell.name === "x_kv" ? (GOES_INTO.x_q ?? []) : [];
  return [...asks, ...(GOES_INTO[cell.name] ?? [])].map(([name, axis, at]) => ({ name, axis, index: cell[at] }));
}

/**
 * @param {Band} band
 * @param {Values} values
 * @returns {Cell[]}
 */
export function cellsOf({ name, axis, index }, values) {
  return axis === "row"
    ? values[name][index].map((_, col) => ({ name, row: index, col }))
    : values[name].map((_, row) => ({ name, row, col: index }));
}

/**
 * The summands of a number that is a dot product (all but the weights), as pairs of factors.
 * @param {Cell} cell
 * @param {boolean} self
 * @param {Values} values
 * @returns {[number, number][]}
 */
export function products(cell, self, values) {
  const [a, b] = sources(cell, self).map((band) => cellsOf(band, values).map(({ name, row, col }) => values[name][row][col]));
  return a.map((x, i) => [x, b[i]]);
}

/**
 * How much each place of the sources adds: the size of its product; for a weight, its own score alone.
 * @param {Cell} cell
 * @param {boolean} self
 * @param {Values} values
 */
export function shares(cell, self, values) {
  if (INPUTS.includes(cell.name)) return [];
  if (cell.name === "weights") return values.scores[cell.row].map((_, j) => Number(j === cell.col));
  return products(cell, self, values).map(([a, b]) => Math.abs(a * b));
}

/**
 * The cell of a source that adds most to a number.
 * @param {Cell} cell
 * @param {Band} band one of its sources
 * @param {boolean} self
 * @param {Values} values
 */
export function strongest(cell, band, self, values) {
  const sizes = shares(cell, self, values);
  return cellsOf(band, values)[sizes.indexOf(Math.max(...sizes))];
}
