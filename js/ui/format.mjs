// Numbers as a reader should see them.

/**
 * A fixed number of decimals, a true minus sign, and never "−0.00".
 * @param {number} x
 * @param {number} [digits]
 */
export function number(x, digits = 2) {
  if (Number.isNaN(x)) return "undefined";
  const size = Number.isFinite(x) ? Math.abs(x).toFixed(digits) : "∞";
  return x < 0 && Number(size) !== 0 ? `−${size}` : size;
}

/**
 * The same in brackets when negative, for use after an operator: `2 × (−1.00)`.
 * @param {number} x
 * @param {number} [digits]
 */
export function factor(x, digits = 2) {
  const text = number(x, digits);
  return text.startsWith("−") ? `(${text})` : text;
}

/**
 * Read what a reader may have typed or pasted; NaN if it is no number.
 * @param {string} text
 */
export function parse(text) {
  const plain = text.trim().replace(/[−–]/g, "-").replace(",", ".");
  return plain === "" ? NaN : Number(plain);
}
