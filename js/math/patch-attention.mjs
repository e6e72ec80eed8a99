// The Vision Transformer of chapter 17, in plain loops: pictures of 8 by 8 pixels, patches of 2 by 2, a class token in front.

import { attend, feedForward, norm, plus, softmax, times } from "./transformer.mjs";

/** @typedef {import("./transformer.mjs").Weights} Weights */
/** @typedef {import("./transformer.mjs").Rows} Rows */

export const SIDE = 8;
export const ACROSS = 4;
export const FULL = 16; // the most ink of a pixel
export const N_LAYERS = 3;
export const N_HEADS = 3;

/** Pictures that no training saw: place in the file, what was written, the ink of each pixel in base 17. */
export const DIGITS = /** @type {const} */ ([
  [1307, 0, "000gb10000dga90002gb1e2003g1087004d0089003g10a9000a83g40001bgd10"],
  [1308, 1, "00005f100000bg100008fg3002df5g0008e23g0000004f0000005f0000005g10"],
  [1309, 2, "004gg40000cb7b0000925c0000007b000000d6000002g100001ffa10005g8bb0"],
  [1300, 3, "009ggc2003d54e5000007f200005gb0000008g7000000d8000455f4000cgf500"],
  [1301, 4, "0002e100000e8000008f100000d605b003f00a9009d47g3007gggd000032g600"],
  [1302, 5, "05gggga004a444000aa0000004gd71000028ee2000001g700332bf0005ggc100"],
  [1303, 6, "000cd000002gc000004g600000ag8000008ggf50008g06f1007g4ag3001bggc0"],
  [1304, 7, "005dge0001e85g2000102f2000028f30000fgd800006e000000d7000007e0000"],
  [1305, 8, "004ge3002egcab000dc9fa0003eeg400009g800000cfe10000ccg400004fg300"],
  [1306, 9, "008g400006c2ed000961ee0002bc8g2000000b800000079000201c600089d700"],
  [1323, 0, "002ed20000bgfd0000dd1g3000cd0f6001g71g4001g58g1000fdfd00003ff200"],
  [1338, 2, "00age60000g86g3000950d6000000e8000004g200000db000029ga6100cgedg8"],
]);

/** The one order of patches that the chapter's experiment uses. */
export const ORDER = [15, 6, 13, 4, 14, 8, 9, 7, 1, 0, 12, 10, 2, 11, 5, 3];

/** @param {string} text */
export function inkOf(text) {
  return Array.from(text, (c) => parseInt(c, 17));
}

/** Which shipped picture this is, or undefined. @param {readonly number[]} ink */
export function known(ink) {
  return DIGITS.find(([, , text]) => inkOf(text).every((x, i) => x === ink[i]));
}

/** The pixels of each patch, patch by patch. @returns {number[][]} */
export function pixelsOfPatches() {
  return Array.from({ length: ACROSS * ACROSS }, (_, p) => {
    const at = 2 * SIDE * Math.floor(p / ACROSS) + 2 * (p % ACROSS);
    return [at, at + 1, at + SIDE, at + SIDE + 1];
  });
}

const PIXELS = pixelsOfPatches();

/** The patches in another order: patch p of the new picture is patch order[p] of the old. @param {readonly number[]} ink @param {readonly number[]} order */
export function shuffled(ink, order = ORDER) {
  const made = Array.from(ink);
  order.forEach((from, to) => PIXELS[to].forEach((pixel, i) => (made[pixel] = ink[PIXELS[from][i]])));
  return made;
}

/**
 * Run the model.
 * @param {Weights} w @param {readonly number[]} ink
 * @returns {{ scores: number[], weights: Rows[][] }} weights[layer][head], 17 by 17
 */
export function see(w, ink) {
  const patches = PIXELS.map((pixels) => Float64Array.from(pixels, (i) => ink[i] / FULL));
  const embedded = times(patches, w.W_E).map((row) => row.map((x, c) => x + w.b_E.data[c]));
  const d = w.b_E.data.length;
  let X = [w.x_class.data, ...embedded].map((row, t) => row.map((x, c) => x + w.P.data[t * d + c]));
  /** @type {Rows[][]} */
  const weights = [];
  for (let l = 0; l < N_LAYERS; l += 1) {
    const at = `layers.${l}`;
    const N = norm(X, w, `${at}.norm_1`);
    const { output, site } = attend(N, N, w, `${at}.attention`);
    weights.push(site.heads.map((head) => head.weights));
    X = plus(X, output);
    X = plus(X, feedForward(norm(X, w, `${at}.norm_2`), w, `${at}.feed_forward`));
  }
  const [row] = times(norm(X.slice(0, 1), w, "norm"), w.W_R);
  return { scores: Array.from(row, (x, c) => x + w.b_R.data[c]), weights };
}

/** @param {Rows[]} heads */
function mean(heads) {
  return heads[0].map((row, t) => row.map((_, s) => heads.reduce((sum, head) => sum + head[t][s], 0) / heads.length));
}

/**
 * What the widget shows: a head's weights, the mean of the heads, or the rollout up to this layer.
 * @param {Rows[][]} weights @param {number} layer @param {string} view "0", "1", "2", "mean" or "rollout"
 * @returns {Rows}
 */
export function shown(weights, layer, view) {
  if (view === "mean") return mean(weights[layer]);
  if (view !== "rollout") return weights[layer][Number(view)];
  const n = weights[0][0].length;
  let R = Array.from({ length: n }, (_, t) => Float64Array.from({ length: n }, (__, s) => Number(s === t)));
  for (const heads of weights.slice(0, layer + 1)) {
    const W = mean(heads);
    const below = R;
    R = below.map((row, t) => row.map((x, s) => 0.5 * x + 0.5 * below.reduce((sum, other, u) => sum + W[t][u] * other[s], 0)));
  }
  return R;
}

/** Scores as probabilities. @param {readonly number[]} scores */
export function probabilities(scores) {
  return Array.from(softmax(Float64Array.from(scores)));
}
