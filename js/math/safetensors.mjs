// Weights from a safetensors file of float16, written as base64.

/** @typedef {{ shape: number[], data: Float64Array }} Weight */
/** @typedef {Record<string, Weight>} Weights */

/** A number of 16 bits. @param {number} bits */
export function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** @param {string} text @returns {Weights} */
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
