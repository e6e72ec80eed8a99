// Where a number came from, and where it goes: the wiring of one attention head.

/** @typedef {"x_q" | "x_kv" | "w_q" | "w_k" | "w_v" | "q" | "k" | "v" | "scores" | "weights" | "output"} Name */
/** @typedef {{ name: Name, row: number, col: number }} Cell */
/** @typedef {{ name: Name, axis: "row" | "col", index: number }} Band one row or one column of an array */

/** @type {readonly Name[]} */
export const NAMES = ["x_q", "x_kv", "w_q", "q", "w_k", "k", "w_v", "v", "scores", "weights", "output"];

/** @type {readonly Name[]} */
export const INPUTS = ["x_q", "x_kv", "w_q", "w_k", "w_v"];

/**
 * The row and the column that a number is computed from; none for an input.
 * @param {Cell} cell
 * @param {boolean} self in self-attention the queries come from x_kv too
 * @returns {Band[]}
 */
export function sources({ name, row, col }, self) {
  /** @type {(name: Name, axis: "row" | "col", index: number) => Band} */
  const band = (source, axis, index) => ({ name: source, axis, index });
  switch (name) {
    case "q":
      return [band(self ? "x_kv" : "x_q", "row", row), band("w_q", "col", col)];
    case "k":
      return [band("x_kv", "row", row), band("w_k", "col", col)];
    case "v":
      return [band("x_kv", "row", row), band("w_v", "col", col)];
    case "scores":
      return [band("q", "row", row), band("k", "row", col)];
    case "weights":
      return [band("scores", "row", row)];
    case "output":
      return [band("weights", "row", row), band("v", "col", col)];
    default:
      return [];
  }
}

/**
 * The rows and columns that a number goes into, one step on.
 * @param {Cell} cell
 * @param {boolean} self
 * @returns {Band[]}
 */
export function uses({ name, row, col }, self) {
  /** @type {(name: Name, axis: "row" | "col", index: number) => Band} */
  const band = (target, axis, index) => ({ name: target, axis, index });
  switch (name) {
    case "x_q":
      return [band("q", "row", row)];
    case "x_kv":
      return [...(self ? [band("q", "row", row)] : []), band("k", "row", row), band("v", "row", row)];
    case "w_q":
      return [band("q", "col", col)];
    case "w_k":
      return [band("k", "col", col)];
    case "w_v":
      return [band("v", "col", col)];
    case "q":
      return [band("scores", "row", row)];
    case "k":
      return [band("scores", "col", row)];
    case "v":
      return [band("output", "col", col)];
    case "scores":
      return [band("weights", "row", row)];
    case "weights":
      return [band("output", "row", row)];
    default:
      return [];
  }
}

/**
 * @param {Band} band
 * @param {readonly (readonly number[])[]} values of the array that the band is in
 * @returns {Cell[]}
 */
export function cellsOf({ name, axis, index }, values) {
  return axis === "row"
    ? values[index].map((_, col) => ({ name, row: index, col }))
    : values.map((_, row) => ({ name, row, col: index }));
}

/**
 * The summands of a number that is a dot product (all but the weights), as pairs of factors.
 * @param {Cell} cell
 * @param {boolean} self
 * @param {Record<Name, readonly (readonly number[])[]>} values
 * @returns {[number, number][]}
 */
export function products(cell, self, values) {
  const [a, b] = sources(cell, self).map((band) => cellsOf(band, values[band.name]).map(({ name, row, col }) => values[name][row][col]));
  return a.map((x, i) => [x, b[i]]);
}

/**
 * Which place of the bands matters most: the largest product; for a weight, its own score.
 * @param {Cell} cell
 * @param {boolean} self
 * @param {Record<Name, readonly (readonly number[])[]>} values
 */
export function strongest(cell, self, values) {
  if (cell.name === "weights") return cell.col;
  const sizes = products(cell, self, values).map(([a, b]) => Math.abs(a * b));
  return sizes.indexOf(Math.max(...sizes));
}
