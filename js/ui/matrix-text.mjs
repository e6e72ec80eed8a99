// What is written about a number of attention: its name, where it came from, and the arithmetic in full.

import { INPUTS, products, sources } from "../math/trace.mjs";

/** @typedef {import("../math/trace.mjs").Cell} Cell */
/** @typedef {import("../math/trace.mjs").Name} Name */
/**
 * @typedef {object} Flow everything on the screen
 * @property {boolean} self
 * @property {boolean} causal
 * @property {string[]} tokensQ
 * @property {string[]} tokensKv
 * @property {string[]} columnsQ
 * @property {string[]} columnsKv
 * @property {Record<Name, number[][]>} values
 * @property {number[][]} dotProducts
 * @property {number[][]} scaled
 */
/** @typedef {{ text: string, sup?: string, label?: string, weak?: boolean }} Part a piece of arithmetic; weak = it adds nothing */

const BEYOND = 20; // scores above this are written as the code computes them, less the row's largest

/** @type {Record<Name, string>} */
const FORMULAS = {
  x_q: "X_q",
  x_kv: "X_kv",
  w_q: "W_Q",
  w_k: "W_K",
  w_v: "W_V",
  q: "Q = X_q W_Q",
  k: "K = X_kv W_K",
  v: "V = X_kv W_V",
  scores: "scores = Q Kᵀ ÷ √d_k",
  weights: "weights = softmax by row",
  output: "output = weights V",
};

/**
 * The equation that makes an array, or its name. In self-attention both inputs are X.
 * @param {Name} name
 * @param {boolean} self
 */
export function formula(name, self) {
  if (self && name === "x_kv") return "X = X_q = X_kv";
  return self ? FORMULAS[name].replace(/X_\w+/, "X") : FORMULAS[name];
}

/** @param {Name} name @param {boolean} self */
export function plainName(name, self) {
  return formula(name, self).split(" ")[0];
}

/**
 * Row and column names of an array.
 * @param {Name} name
 * @param {Omit<Flow, "values" | "dotProducts" | "scaled" | "causal">} flow
 * @param {{ dK: number, dV: number }} sizes
 * @returns {{ rows: string[], cols: string[] }}
 */
export function axes(name, flow, { dK, dV }) {
  const { self, tokensKv, columnsKv } = flow;
  const asking = self ? tokensKv : flow.tokensQ;
  const columnsQ = self ? columnsKv : flow.columnsQ;
  const numbered = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => String(i));
  const [d_k, d_v] = [numbered(dK), numbered(dV)];
  const [rows, cols] = {
    x_q: [asking, columnsQ],
    x_kv: [tokensKv, columnsKv],
    w_q: [columnsQ, d_k],
    w_k: [columnsKv, d_k],
    w_v: [columnsKv, d_v],
    q: [asking, d_k],
    k: [tokensKv, d_k],
    v: [tokensKv, d_v],
    scores: [asking, tokensKv],
    weights: [asking, tokensKv],
    output: [asking, d_v],
  }[name];
  return { rows, cols };
}

/**
 * At most three decimals, no trailing zeros, a true minus sign.
 * @param {number} x
 */
export function short(x) {
  if (x === -Infinity) return "−∞";
  const size = Math.abs(x);
  const text = size >= 1e6 || (size > 0 && size < 5e-4) ? size.toExponential(2).replace("e+", "e").replace("e-", "e−") : String(Number(size.toFixed(3)));
  return x < 0 ? `−${text}` : text;
}

/** "=" where `short` is exact, "≈" where it is rounded. @param {number} x */
export function equals(x) {
  return !Number.isFinite(x) || Math.abs(x - Number(x.toFixed(3))) < 1e-12 ? "=" : "≈";
}

/** @param {number} x */
function factor(x) {
  return x < 0 ? `(${short(x)})` : short(x);
}

/**
 * @param {Cell} cell
 * @param {Flow} flow
 */
export function cellName(cell, flow) {
  const { rows, cols } = axes(cell.name, flow, sizesOf(flow));
  return { row: rows[cell.row], col: cols[cell.col], name: plainName(cell.name, flow.self) };
}

/** @param {{ values: Record<Name, number[][]> }} flow */
export function sizesOf({ values }) {
  return { dK: values.w_q[0].length, dV: values.w_v[0].length };
}

/**
 * @param {import("../math/trace.mjs").Band} band
 * @param {Flow} flow
 */
export function bandName({ name, axis, index }, flow) {
  const { rows, cols } = axes(name, flow, sizesOf(flow));
  return `${axis === "row" ? `row ${rows[index]}` : `column ${cols[index]}`} of ${plainName(name, flow.self)}`;
}

/**
 * A number in words and in arithmetic.
 * @param {Cell} cell
 * @param {Flow} flow
 * @returns {{ note: string, work: Part[], spoken: string }}
 */
export function explain(cell, flow) {
  const { name, row, col } = cell;
  const { values, self } = flow;
  const value = values[name][row][col];
  const at = cellName(cell, flow);
  const title = `${at.name}, ${at.row}, ${at.col}`;
  const result = [{ text: equals(value) }, { text: short(value) }];
  if (INPUTS.includes(name)) {
    const learned = name.startsWith("w");
    const goes = { x_q: "Q", x_kv: self ? "Q, K and V" : "K and V", w_q: "Q", w_k: "K", w_v: "V" }[/** @type {"x_q"} */ (name)];
    const where = learned ? `It shapes column ${at.col} of ${goes}, for every token.` : `It goes into row ${at.row} of ${goes}, and into no other row.`;
    return { note: `${learned ? "A learned number" : "An input"}. ${where}`, work: [], spoken: `${title}: ${short(value)}. ${where}` };
  }
  if (name === "weights") return explainWeight(cell, flow, at, value);

  const pairs = products(cell, self, values);
  const [a, b] = sources(cell, self);
  const along = a.axis === "row" ? axes(a.name, flow, sizesOf(flow)).cols : [];
  /** @type {Part[]} */
  const sum = pairs.flatMap(([x, y], i) => [
    ...(i ? [{ text: "+" }] : []),
    { text: `${factor(x)}·${factor(y)}`, label: along[i], weak: x * y === 0 },
  ]);
  const live = pairs.filter(([x, y]) => x * y !== 0);
  const aloud = live.length ? live.map(([x, y]) => `${short(x)} times ${short(y)}`).join(" plus ") : "every product is 0";

  if (name === "scores") {
    const dK = values.q[0].length;
    const dot = flow.dotProducts[row][col];
    const scaled = flow.scaled[row][col];
    const divided = [{ text: equals(dot) }, { text: `${factor(dot)} ÷ √${dK}` }, { text: equals(scaled) }, { text: short(scaled) }];
    if (value === -Infinity) {
      return {
        note: `Masked: ${at.col} comes after ${at.row}, so the score ${short(scaled)} is replaced by −∞.`,
        work: [{ text: "(" }, ...sum, { text: ") ÷" }, { text: `√${dK}` }, { text: "→" }, { text: "−∞" }],
        spoken: `query '${at.row}' may not look at key '${at.col}', which comes later`,
      };
    }
    return {
      note: `Query ${at.row} with key ${at.col}: row ${at.row} of Q times row ${at.col} of K, divided by √d_k.`,
      work: [{ text: "(" }, ...sum, { text: ")" }, { text: `÷ √${dK}` }, ...divided],
      spoken: `query '${at.row}' with key '${at.col}', score ${short(value)}: ${aloud}, divided by the root of ${dK}`,
    };
  }
  if (name === "output") {
    return {
      note: `A mean of column ${at.col} of V, weighted by row ${at.row} of the weights.`,
      work: [...sum, ...result],
      spoken: `output for '${at.row}', column ${at.col}: ${short(value)}. ${aloud}`,
    };
  }
  return {
    note: `Row ${at.row} of ${plainName(a.name, self)} times column ${at.col} of ${plainName(b.name, self)}. No other token is used.`,
    work: [...sum, ...result],
    spoken: `${title}: ${short(value)}. ${aloud}`,
  };
}

/**
 * @param {Cell} cell
 * @param {Flow} flow
 * @param {{ row: string, col: string }} at
 * @param {number} value
 */
function explainWeight({ row, col }, flow, at, value) {
  const scores = flow.values.scores[row];
  const largest = Math.max(...scores);
  const spoken = `query '${at.row}' looks at key '${at.col}', weight ${value.toFixed(2)}`;
  if (largest === -Infinity) return { note: `Query ${at.row} may look at no key at all: zero weights.`, work: [], spoken };
  const shift = Math.max(...scores.map((score) => (Number.isFinite(score) ? Math.abs(score) : 0))) > BEYOND ? largest : 0;
  const powers = scores.map((score) => Math.exp(score - shift));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const power = (/** @type {number} */ j) => ({ text: "e", sup: short(scores[j] - shift) });
  const off = shift ? ` The row's largest score, ${short(shift)}, is taken off first; that changes no weight.` : "";
  return {
    note: `How much query ${at.row} looks at key ${at.col}: its share of the row's powers of e.${off}`,
    work: [
      power(col),
      { text: "÷ (" },
      ...scores.flatMap((score, j) => [...(j ? [{ text: "+" }] : []), { ...power(j), label: flow.tokensKv[j], weak: score === -Infinity }]),
      { text: ")" },
      { text: "=" },
      { text: `${short(powers[col])} ÷ ${short(total)}` },
      { text: equals(value) },
      { text: short(value) },
    ],
    spoken,
  };
}
