// Two vectors: the arithmetic of chapter 2, as qkv.core does it (js/test/golden/dot_product.json holds the proof).

/** @typedef {readonly number[]} Vector */

/**
 * @param {Vector} x
 * @param {Vector} y
 */
export function dotProduct(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i += 1) sum += x[i] * y[i];
  return sum;
}

/** @param {Vector} x */
export function vectorLength(x) {
  return Math.sqrt(dotProduct(x, x));
}

/**
 * Cosine of the angle between x and y; NaN where one has no length, hence no direction.
 * @param {Vector} x
 * @param {Vector} y
 */
export function cosineSimilarity(x, y) {
  const lengths = vectorLength(x) * vectorLength(y);
  return lengths === 0 ? NaN : dotProduct(x, y) / lengths;
}

/**
 * The shadow of x on the line through y: its end point, and its length with a sign (negative against y).
 * @param {Vector} x
 * @param {Vector} y
 * @returns {{ point: number[], length: number }}
 */
export function projection(x, y) {
  const squared = dotProduct(y, y);
  if (squared === 0) return { point: y.map(() => NaN), length: NaN };
  const dot = dotProduct(x, y);
  return { point: y.map((value) => (dot / squared) * value), length: dot / Math.sqrt(squared) };
}

/**
 * @param {number} cosine
 * @returns {"none" | "same" | "acute" | "right" | "obtuse" | "opposite"}
 */
export function zone(cosine) {
  if (Number.isNaN(cosine)) return "none";
  if (Math.abs(cosine) < 5e-4) return "right";
  if (cosine > 1 - 5e-7) return "same";
  if (cosine < -1 + 5e-7) return "opposite";
  return cosine > 0 ? "acute" : "obtuse";
}

/** @param {number} cosine angle in degrees */
export function degrees(cosine) {
  return (Math.acos(Math.min(1, Math.max(-1, cosine))) * 180) / Math.PI;
}
