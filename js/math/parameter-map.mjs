// What a Transformer learns, part by part, and where each part lies on a map whose areas are counts (chapter 15).
// The proof that it is core's arithmetic: js/test/golden/parameter_map.json.

/** @typedef {{ sizes: readonly number[], layers: readonly number[], rows: number, tables: number, biases: boolean }} Model sizes: d_model, d_ff, n_heads, d_k, d_v; layers: encoder, decoder */
/** @typedef {{ id: string, side: string, group: string, name: string, shape: string, each: number, layers: number, count: number }} Part */
/** @typedef {{ x: number, y: number, width: number, height: number }} Box */

export const SIDES = ["encoder", "decoder", "table"];
export const GROUPS = ["feed-forward", "cross-attention", "self-attention", "biases and norms", "table"];
const TABLES = [["E, all three uses"], ["E, source", "E, target and read-out"], ["E, source", "E, target", "read-out"]];

/** The rows of the paper's table 3 that print a count: sizes, layers a side, millions. */
export const PRINTED = [
  [512, 2048, 8, 64, 64, 6, 65],
  [512, 2048, 8, 16, 64, 6, 58],
  [512, 2048, 8, 32, 64, 6, 60],
  [512, 2048, 8, 64, 64, 2, 36],
  [512, 2048, 8, 64, 64, 4, 50],
  [512, 2048, 8, 64, 64, 8, 80],
  [256, 2048, 8, 32, 32, 6, 28],
  [1024, 2048, 8, 128, 128, 6, 168],
  [512, 1024, 8, 64, 64, 6, 53],
  [512, 4096, 8, 64, 64, 6, 90],
  [1024, 4096, 16, 64, 64, 6, 213],
];

/**
 * First the encoder's parts, then the decoder's, then the tables.
 * @param {Model} model
 * @returns {Part[]}
 */
export function allParts({ sizes: [d, f, h, dk, dv], layers, rows, tables, biases }) {
  /** @type {Part[]} */
  const parts = [];
  /** @param {string} side @param {string} group @param {string} name @param {string} shape @param {number} each @param {number} depth */
  const add = (side, group, name, shape, each, depth) =>
    parts.push({ id: `${side} ${group} ${name}`, side, group, name, shape, each, layers: depth, count: each * depth });

  ["encoder", "decoder"].forEach((side, s) => {
    const sites = s ? ["cross-attention", "self-attention"] : ["self-attention"];
    add(side, "feed-forward", "W_1", `${d} × ${f}`, d * f, layers[s]);
    add(side, "feed-forward", "W_2", `${f} × ${d}`, f * d, layers[s]);
    for (const site of sites) {
      for (const [name, width] of /** @type {[string, number][]} */ ([["W_Q", dk], ["W_K", dk], ["W_V", dv]]))
        add(side, site, name, `${h} heads, ${d} × ${width}`, h * d * width, layers[s]);
      add(side, site, "W_O", `${h * dv} × ${d}`, h * dv * d, layers[s]);
    }
    const norms = sites.length + 1;
    const more = biases ? sites.length * (h * (2 * dk + dv) + d) : 0;
    add(side, "biases and norms", "rest", `b_1, b_2, ${norms} norms${biases ? ", attention biases" : ""}`, f + d + norms * 2 * d + more, layers[s]);
  });
  for (const name of TABLES[tables - 1]) add("table", "table", name, `${rows} × ${d}`, rows * d, 1);
  return parts;
}

/** @param {readonly { count: number }[]} parts */
export function sum(parts) {
  return parts.reduce((total, part) => total + part.count, 0);
}

/**
 * Sides in columns, groups stacked, parts of a group in a row; a table is a group of its own.
 * @param {readonly Part[]} parts
 * @param {number} width
 * @param {number} height
 * @returns {Box[]}
 */
export function layout(parts, width, height) {
  const total = sum(parts);
  /** @type {Box[]} */
  const boxes = [];
  let left = 0;
  for (const side of SIDES) {
    const inside = parts.filter((part) => part.side === side);
    const ofSide = sum(inside);
    const column = (width * ofSide) / total;
    let top = 0;
    const stacks = new Set(inside.map((part) => (side === "table" ? part.id : part.group)));
    for (const name of stacks) {
      const stack = inside.filter((part) => name === (side === "table" ? part.id : part.group));
      const ofStack = sum(stack);
      const tall = ofSide ? (height * ofStack) / ofSide : 0;
      let x = left;
      for (const part of stack) {
        const wide = ofStack ? (column * part.count) / ofStack : 0;
        boxes.push({ x, y: top, width: wide, height: tall });
        x += wide;
      }
      top += tall;
    }
    left += column;
  }
  return boxes;
}

/**
 * Everything the map shows. `printed`: millions that the paper prints for these sizes; `fits`: the least and the largest
 * number of rows with which the count would round to that.
 * @param {Model} model
 */
export function count(model) {
  const parts = allParts(model);
  const total = sum(parts);
  const [encoder, decoder] = model.layers;
  const row = PRINTED.find((line) => encoder === line[5] && decoder === line[5] && model.sizes.every((x, i) => x === line[i]));
  const width = model.tables * model.sizes[0];
  const rest = row ? row[6] * 1e6 - (total - model.rows * width) : 0;
  return {
    parts,
    total,
    groups: GROUPS.map((group) => sum(parts.filter((part) => part.group === group))),
    printed: row ? row[6] : null,
    fits: row ? [Math.ceil((rest - 5e5) / width), Math.floor((rest + 499_999) / width)] : null,
  };
}
