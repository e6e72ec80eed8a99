// Queries and keys of 72 heads of a real model on a few sentences, unpacked from bytes; the weights that they make (chapter 21).
// The proof that it is core's arithmetic: js/test/golden/real_heads.json.

export const N_LAYERS = 6;
export const N_HEADS = 12;
export const D_K = 32;

/** @typedef {{ text: string, tokens: string[], codes: string, scales: string, lengths: string }} Packed */
/** @typedef {"previous" | "next" | "itself" | "cls" | "sep" | "same" | "other" | "carried"} Measure */
/** @typedef {{ sentences: Packed[], looks: Record<Measure, number[][]> }} Data */
/** @typedef {{ q: number[][], k: number[][], lengths: number[] }} Head */

/** @param {string} text base64 */
function bytes(text) {
  const plain = atob(text);
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}

/** Little-endian, whatever the machine. @param {Uint8Array} raw @param {number} at */
const float = (raw, at) => new DataView(raw.buffer).getFloat32(4 * at, true);

/**
 * Read sentences out of their bytes; each is unpacked when it is first asked for.
 * @param {Packed[]} sentences
 */
export function reader(sentences) {
  /** @type {Map<number, { codes: Int8Array, scales: Uint8Array, lengths: Uint8Array }>} */
  const open = new Map();
  /** @param {number} s @param {number} layer @param {number} head @returns {Head} */
  return (s, layer, head) => {
    const packed = sentences[s];
    const n = packed.tokens.length;
    let raw = open.get(s);
    if (!raw) {
      raw = { codes: new Int8Array(bytes(packed.codes).buffer), scales: bytes(packed.scales), lengths: bytes(packed.lengths) };
      open.set(s, raw);
    }
    const { codes, scales, lengths } = raw;
    const place = layer * N_HEADS + head;
    /** @param {number} which 0 for q, 1 for k */
    const rows = (which) =>
      Array.from({ length: n }, (_, t) => {
        const row = (2 * place + which) * n + t;
        const scale = float(scales, row);
        return Array.from({ length: D_K }, (_, c) => codes[row * D_K + c] * scale);
      });
    return { q: rows(0), k: rows(1), lengths: Array.from({ length: n }, (_, t) => float(lengths, place * n + t)) };
  };
}

/**
 * Scores, weights, and what each key carries to a query: weight times the length that its value writes.
 * @param {Head} head
 */
export function look({ q, k, lengths }) {
  const scores = q.map((x) => k.map((y) => x.reduce((sum, value, c) => sum + value * y[c], 0) / Math.sqrt(D_K)));
  const weights = scores.map((row) => {
    const top = Math.max(...row);
    const powers = row.map((x) => Math.exp(x - top));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((x) => x / sum);
  });
  const carried = weights.map((row) => row.map((w, j) => w * lengths[j]));
  return { scores, weights, carried };
}
