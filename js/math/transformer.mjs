// The encoder-decoder Transformer in plain loops (post-norm, ReLU, one table for all), from a safetensors file of float16.

/** @typedef {{ shape: number[], data: Float64Array }} Weight */
/** @typedef {Record<string, Weight>} Weights */
/** @typedef {Float64Array[]} Rows */
/** @typedef {{ q: Rows, k: Rows, v: Rows, scores: Rows, weights: Rows }} Head scores is −∞ where the query may not look */
/** @typedef {{ X_q: Rows, X_kv: Rows, heads: Head[] }} Site one attention sub-layer: what came in, and what its heads made */

/** A number of 16 bits. @param {number} bits */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Read a safetensors file, written as base64. @param {string} text @returns {Weights} */
export function readWeights(text) {
  const raw = atob(text);
  const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  return Object.fromEntries(
    Object.entries(header).map(([name, { shape, data_offsets: [begin, end] }]) => {
      const at = 8 + length + begin;
      return [name, { shape, data: Float64Array.from({ length: (end - begin) / 2 }, (_, i) => half(view.getUint16(at + 2 * i, true))) }];
    }),
  );
}

/**
 * Rows times one head's matrix, or the only one.
 * @param {Rows} X @param {Weight} W @param {number} [head]
 * @returns {Rows}
 */
export function times(X, { shape, data }, head = 0) {
  const [n, m] = shape.slice(-2);
  const at = head * n * m;
  return X.map((x) => {
    const y = new Float64Array(m);
    for (let i = 0; i < n; i += 1) for (let j = 0; j < m; j += 1) y[j] += x[i] * data[at + i * m + j];
    return y;
  });
}

/** @param {Float64Array} a @param {Float64Array} b */
function dot(a, b) {
  return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

/** @param {Float64Array} scores */
export function softmax(scores) {
  const top = Math.max(...scores);
  const e = scores.map((s) => Math.exp(s - top));
  const total = e.reduce((a, b) => a + b);
  return e.map((x) => x / total);
}

/** @param {Rows} X @param {Rows} Y */
export const plus = (X, Y) => X.map((x, t) => x.map((a, i) => a + Y[t][i]));

/** @param {Rows} X @param {Weights} w @param {string} at */
export function norm(X, w, at) {
  const gain = w[`${at}.gain`].data;
  const shift = w[`${at}.shift`].data;
  return X.map((x) => {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length;
    return x.map((a, i) => (gain[i] * (a - mean)) / Math.sqrt(variance + 1e-5) + shift[i]);
  });
}

/** @param {Rows} X @param {Weights} w @param {string} at */
export function feedForward(X, w, at) {
  const b1 = w[`${at}.b_1`].data;
  const b2 = w[`${at}.b_2`].data;
  const hidden = times(X, w[`${at}.W_1`]).map((row) => row.map((a, i) => Math.max(0, a + b1[i])));
  return times(hidden, w[`${at}.W_2`]).map((row) => row.map((a, i) => a + b2[i]));
}

/**
 * One multi-head attention.
 * @param {Rows} X_q @param {Rows} X_kv @param {Weights} w @param {string} at @param {boolean} [causal]
 * @returns {{ output: Rows, site: Site }}
 */
export function attend(X_q, X_kv, w, at, causal = false) {
  const [n_heads, , d_k] = w[`${at}.W_Q`].shape;
  const heads = Array.from({ length: n_heads }, (_, i) => {
    const [q, k, v] = [times(X_q, w[`${at}.W_Q`], i), times(X_kv, w[`${at}.W_K`], i), times(X_kv, w[`${at}.W_V`], i)];
    const scores = q.map((row, t) => Float64Array.from(k, (key, s) => (causal && s > t ? -Infinity : dot(row, key) / Math.sqrt(d_k))));
    return { q, k, v, scores, weights: scores.map(softmax) };
  });
  const concatenated = X_q.map((_, t) =>
    Float64Array.from(
      heads.flatMap(({ v, weights }) => {
        const sum = new Float64Array(v[0].length);
        weights[t].forEach((a, s) => v[s].forEach((x, c) => (sum[c] += a * x)));
        return Array.from(sum);
      }),
    ),
  );
  return { output: times(concatenated, w[`${at}.W_O`]), site: { X_q, X_kv, heads } };
}

/** Rows of the table times the root of its width, plus sinusoids. @param {number[]} ids @param {Weight} E */
export function embedTokens(ids, { shape: [, d], data }) {
  return ids.map((id, t) =>
    Float64Array.from({ length: d }, (_, c) => {
      const angle = t / 10000 ** ((c - (c % 2)) / d);
      return Math.sqrt(d) * data[id * d + c] + (c % 2 ? Math.cos(angle) : Math.sin(angle));
    }),
  );
}

/** How many layers a stack has. @param {Weights} w @param {string} stack */
function depth(w, stack) {
  return 1 + Math.max(...Object.keys(w).map((name) => (name.startsWith(`${stack}.`) ? Number(name.split(".")[1]) : -1)));
}

/** @param {Weights} w @param {number[]} ids @returns {{ memory: Rows, sites: Site[] }} */
export function encode(w, ids) {
  let X = embedTokens(ids, w.E_source);
  /** @type {Site[]} */
  const sites = [];
  for (let l = 0; l < depth(w, "encoder"); l += 1) {
    const at = `encoder.${l}`;
    const { output, site } = attend(X, X, w, `${at}.attention`);
    sites.push(site);
    X = norm(plus(X, output), w, `${at}.norm_1`);
    X = norm(plus(X, feedForward(X, w, `${at}.feed_forward`)), w, `${at}.norm_2`);
  }
  return { memory: X, sites };
}

/**
 * @param {Weights} w @param {Rows} memory @param {number[]} ids
 * @returns {{ scores: Rows, self: Site[], cross: Site[] }} row t of the scores rates the word after ids[t]
 */
export function decode(w, memory, ids) {
  let X = embedTokens(ids, w.E_source);
  /** @type {Site[]} */
  const self = [];
  /** @type {Site[]} */
  const cross = [];
  for (let l = 0; l < depth(w, "decoder"); l += 1) {
    const at = `decoder.${l}`;
    const own = attend(X, X, w, `${at}.self_attention`, true);
    self.push(own.site);
    X = norm(plus(X, own.output), w, `${at}.norm_1`);
    const other = attend(X, memory, w, `${at}.cross_attention`);
    cross.push(other.site);
    X = norm(plus(X, other.output), w, `${at}.norm_2`);
    X = norm(plus(X, feedForward(X, w, `${at}.feed_forward`)), w, `${at}.norm_3`);
  }
  const { shape, data } = w.E_source;
  const scores = X.map((x) => Float64Array.from({ length: shape[0] }, (_, i) => dot(x, data.subarray(i * shape[1], (i + 1) * shape[1]))));
  return { scores, self, cross };
}

/**
 * Write by the best next word, again and again; then one pass more, to look at.
 * @param {Weights} w @param {number[]} source @param {{ start: number, stop: number, longest: number }} ends
 */
export function translate(w, source, { start, stop, longest }) {
  const { memory, sites } = encode(w, source);
  const written = [start];
  while (written.length <= longest && !(written.length > 1 && written[written.length - 1] === stop)) {
    const { scores } = decode(w, memory, written);
    const last = scores[scores.length - 1];
    written.push(last.indexOf(Math.max(...last)));
  }
  const read = written.slice(0, -1); // the last word is predicted, not read
  const { scores, self, cross } = decode(w, memory, read);
  return { written, scores, encoder: sites, decoder: self, cross };
}
