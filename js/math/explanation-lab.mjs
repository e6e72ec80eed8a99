// A small model whose truth is known, and what six methods say of each token, as qkv.data.known_truth does it
// (js/test/golden/explanation_lab.json holds the proof).

import { matmul, softmax, transpose } from "./attention.mjs";

/** @typedef {number[][]} Rows */
/** @typedef {{ W_Q: Rows[], W_K: Rows[], W_V: Rows[], W_O: Rows[] }} Layer one entry a head */
/** @typedef {{ E: Rows, R: Rows, layers: Layer[] }} Model */
/** @typedef {{ text: string[], model: string, layer: number, slide: number }} State */
/** @typedef {{ said: number, right: number, truth: number[], weights: number[], norms: number[], rollout: number[], gradient: number[], erased: number[], free: number[], moved: number, output_moved: number }} Lab */

const LETTERS = ["A", "B", "C", "D"];
const DIGITS = ["0", "1", "2", "3", "4"];
export const STAR = "*";
export const BLANK = "·";
export const START = "<s>";
export const QUESTIONS = [...LETTERS.map((letter) => `${letter}?`), "*?", "!"];
export const BODY = [
  ...LETTERS.flatMap((letter) => DIGITS.map((digit) => letter + digit)),
  ...LETTERS.flatMap((from) => LETTERS.filter((to) => to !== from).map((to) => `${from}→${to}`)),
  STAR,
  BLANK,
];
export const TOKENS = [...BODY, START, ...QUESTIONS];
export const ANSWERS = [...DIGITS, "–"];
export const METHODS = /** @type {const} */ (["weights", "norms", "rollout", "gradient", "erased"]);
export const SCORED = 9;
const NOTHING = DIGITS.length;
const MOST_STARS = DIGITS.length - 1;
const BLANKS = TOKENS.indexOf(BLANK);

/** The rule, in words of the text. @param {readonly string[]} text eight tokens and a question */
export function rule(text) {
  const body = text.slice(0, -1);
  const question = text[text.length - 1];
  if (question === "!") return NOTHING;
  if (question === "*?") return body.filter((token) => token === STAR).length;
  const told = (/** @type {string} */ letter) => body.find((token) => token !== STAR && token[0] === letter)?.slice(1) ?? "";
  let value = told(question[0]);
  if (value[0] === "→") value = told(value[1]);
  return value.length === 1 ? Number(value) : NOTHING;
}

/** Which of the nine tokens before the question matter: 1 or 0. @param {readonly string[]} text */
export function relevant(text) {
  const answer = rule(text);
  return [0, ...text.slice(0, -1).map((_, j) => Number(rule(text.with(j, BLANK)) !== answer))];
}

/**
 * Put a token at a place, and take away what the rule does not allow beside it: a letter told about twice, a fifth star.
 * @param {readonly string[]} text @param {number} place @param {string} token
 */
export function put(text, place, token) {
  const next = text.map((other, j) => (j < text.length - 1 && j !== place && token !== STAR && token !== BLANK && other[0] === token[0] ? BLANK : other));
  next[place] = token;
  const stars = next.flatMap((other, j) => (other === STAR && j !== place ? [j] : []));
  if (token === STAR && stars.length >= MOST_STARS) next[stars[0]] = BLANK;
  return next;
}

/** @param {import("./safetensors.mjs").Weights} weights @returns {Model} */
export function modelOf(weights) {
  const rows = (/** @type {Float64Array} */ data, /** @type {number} */ width) => Array.from({ length: data.length / width }, (_, i) => Array.from(data.subarray(i * width, (i + 1) * width)));
  const heads = (/** @type {string} */ name) => {
    const { shape, data } = weights[name];
    const size = shape[1] * shape[2];
    return Array.from({ length: shape[0] }, (_, i) => rows(data.subarray(i * size, (i + 1) * size), shape[2]));
  };
  const n = Object.keys(weights).filter((name) => name.startsWith("W_Q")).length;
  const layers = Array.from({ length: n }, (_, l) => {
    const W_V = heads(`W_V_${l}`);
    const out = rows(weights[`W_O_${l}`].data, weights[`W_O_${l}`].shape[1]);
    const d = W_V[0][0].length;
    return { W_Q: heads(`W_Q_${l}`), W_K: heads(`W_K_${l}`), W_V, W_O: W_V.map((_, i) => out.slice(i * d, (i + 1) * d)) };
  });
  return { E: rows(weights.E.data, weights.E.shape[1]), R: rows(weights.R.data, weights.R.shape[1]), layers };
}

/** @param {Rows} a @param {Rows} b */
const plus = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));

/** Everything inside the layers. @param {Model} model @param {Rows} rows */
function run(model, rows) {
  let X = rows;
  const inside = model.layers.map(({ W_Q, W_K, W_V, W_O }) => {
    const heads = W_Q.map((_, i) => {
      const [q, k, v] = [matmul(X, W_Q[i]), matmul(X, W_K[i]), matmul(X, W_V[i])];
      const root = Math.sqrt(q[0].length);
      const weights = matmul(q, transpose(k)).map((row) => softmax(row.map((x) => x / root)));
      return { q, k, v, weights, root };
    });
    X = heads.reduce((sum, head, i) => plus(sum, matmul(matmul(head.weights, head.v), W_O[i])), X);
    return heads;
  });
  return { inside, scores: matmul([X[X.length - 1]], model.R)[0] };
}

/** How fast the answer's lead over the mean score grows when the rows move along `d`. @param {Model} model @param {ReturnType<typeof run>} made @param {Rows} d @param {number} said */
function slope(model, { inside }, d, said) {
  let dX = d;
  model.layers.forEach(({ W_Q, W_K, W_V, W_O }, l) => {
    const into = dX;
    inside[l].forEach(({ q, k, v, weights, root }, i) => {
      const [dq, dk, dv] = [matmul(into, W_Q[i]), matmul(into, W_K[i]), matmul(into, W_V[i])];
      const ds = plus(matmul(dq, transpose(k)), matmul(q, transpose(dk)));
      const dw = weights.map((row, t) => {
        const mean = row.reduce((sum, w, j) => sum + w * ds[t][j], 0);
        return row.map((w, j) => (w * (ds[t][j] - mean)) / root);
      });
      dX = plus(dX, matmul(plus(matmul(dw, v), matmul(weights, dv)), W_O[i]));
    });
  });
  const moved = matmul([dX[dX.length - 1]], model.R)[0];
  return moved[said] - moved.reduce((sum, x) => sum + x, 0) / moved.length;
}

/** An orthonormal basis of the columns of [v 1]. @param {Rows} v @returns {number[][]} */
function columns(v) {
  /** @type {number[][]} */
  const basis = [];
  const size = Math.max(1e-300, ...v.flat().map(Math.abs));
  for (const column of [...transpose(v).map((c) => c.map((x) => x / size)), v.map(() => 1)]) {
    let rest = column;
    for (const _ of [1, 2])
      for (const u of basis) {
        const along = rest.reduce((sum, x, i) => sum + x * u[i], 0);
        rest = rest.map((x, i) => x - along * u[i]);
      }
    const length = Math.hypot(...rest);
    if (length > 1e-10 * Math.sqrt(v.length)) basis.push(rest.map((x) => x / length));
  }
  return basis;
}

/** In how many directions the weights can move while the output stays. @param {Rows} v */
export const freeDirections = (v) => v.length - columns(v).length;

/**
 * Other weights with the same output: away from the largest weight until one is 0, then without that key, and so on.
 * @param {readonly number[]} weights @param {Rows} v @param {number} share 0 the weights, 1 the end of the walk
 */
export function otherWeights(weights, v, share) {
  const far = weights.slice();
  for (let line = freeLine(far, v); line; line = freeLine(far, v)) {
    const fall = line;
    const steps = Math.min(...far.map((w, j) => (fall[j] < -1e-12 ? -w / fall[j] : Infinity)));
    far.forEach((w, j) => {
      const next = w + steps * fall[j];
      far[j] = next < 1e-12 ? 0 : next;
    });
  }
  return weights.map((w, j) => (1 - share) * w + share * far[j]);
}

/** @param {number[]} weights @param {Rows} v @returns {number[] | undefined} */
function freeLine(weights, v) {
  const seen = weights.flatMap((w, j) => (w > 0 ? [j] : []));
  const basis = columns(seen.map((j) => v[j]));
  const order = seen.map((_, i) => i).sort((a, b) => round(weights[seen[b]]) - round(weights[seen[a]]) || a - b);
  for (const i of order) {
    const free = 1 - basis.reduce((sum, u) => sum + u[i] * u[i], 0);
    if (free <= 1e-9) continue;
    const line = weights.map(() => 0);
    seen.forEach((j, m) => (line[j] = basis.reduce((sum, u) => sum + u[i] * u[m], 0) - (i === m ? 1 : 0)));
    return line;
  }
  return undefined;
}

const round = (/** @type {number} */ x) => Math.round(x * 1e9) / 1e9;

/** The share of pairs (relevant, other) in the right order; NaN if there is no such pair. @param {readonly number[]} scores @param {readonly number[]} truth */
export function separation(scores, truth) {
  let won = 0;
  let pairs = 0;
  scores.forEach((a, i) =>
    scores.forEach((b, j) => {
      if (!truth[i] || truth[j]) return;
      pairs += 1;
      won += a > b ? 1 : a === b ? 0.5 : 0;
    }),
  );
  return pairs ? won / pairs : NaN;
}

/** @param {Model} model @param {State} state @returns {Lab} */
export function lab(model, { text, layer, slide }) {
  const ids = [START, ...text].map((token) => TOKENS.indexOf(token));
  const X = ids.map((id) => model.E[id]);
  const made = run(model, X);
  const said = made.scores.indexOf(Math.max(...made.scores));
  const chance = softmax(made.scores)[said];
  const places = Array.from({ length: SCORED }, (_, j) => j);
  const l = Math.min(layer, model.layers.length) - 1;
  const last = ids.length - 1;
  const own = made.inside[l];
  const rows = own.map(({ weights, v }) => otherWeights(weights[last], v, slide));
  const written = own.map(({ v }, i) => matmul(v, model.layers[l].W_O[i]));
  const sum = written[0].map((_, j) => written[0][j].map((_, c) => rows.reduce((total, row, i) => total + row[j] * written[i][j][c], 0)));

  const layers = made.inside.map((heads, m) => heads.map(({ weights }, i) => (m === l ? weights.with(last, rows[i]) : weights)));
  /** @type {Rows} */
  let rollout = X.map((_, t) => X.map((_, j) => (t === j ? 1 : 0)));
  for (const heads of layers) {
    const step = heads[0].map((row, t) => row.map((_, j) => 0.5 * (t === j ? 1 : 0) + (0.5 * heads.reduce((total, w) => total + w[t][j], 0)) / heads.length));
    rollout = matmul(step, rollout);
  }
  const gradient = places.map((place) => Math.abs(slope(model, made, X.map((row, t) => row.map((x) => (t === place ? x : 0))), said)));
  const erased = places.map((place) => chance - softmax(run(model, X.with(place, model.E[BLANKS])).scores)[said]);
  const far = rows.map((row, i) => row.reduce((total, w, j) => total + Math.abs(w - own[i].weights[last][j]), 0) / 2);
  const outputs = rows.map((row, i) => matmul([row], own[i].v)[0].map((x, c) => Math.abs(x - matmul([own[i].weights[last]], own[i].v)[0][c])));
  return {
    said,
    right: rule(text),
    truth: relevant(text),
    weights: places.map((j) => rows.reduce((total, row) => total + row[j], 0) / rows.length),
    norms: places.map((j) => Math.hypot(...sum[j])),
    rollout: rollout[last].slice(0, SCORED),
    gradient,
    erased,
    free: own.map(({ v }) => freeDirections(v)),
    moved: far.reduce((total, x) => total + x, 0) / far.length,
    output_moved: Math.max(...outputs.flat()),
  };
}
