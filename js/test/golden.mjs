// Golden numbers: inputs and outputs of qkv.core, written by tools/goldens.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** @param {string} name */
export function golden(name) {
  return revive(JSON.parse(readFileSync(new URL(`golden/${name}.json`, import.meta.url), "utf8")));
}

/**
 * JSON has no infinities: they travel as words.
 * @param {any} value
 * @returns {any}
 */
function revive(value) {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (value === "nan") return NaN;
  if (Array.isArray(value)) return value.map(revive);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
  return value;
}

/**
 * Equal to 1e-12, entry by entry, in any nesting; infinities and NaN must match exactly.
 * @param {any} actual
 * @param {any} expected
 * @param {string} [path]
 */
export function close(actual, expected, path = "value") {
  if (typeof expected !== "number") {
    assert.equal(actual.length, expected.length, `${path}: length`);
    for (let i = 0; i < expected.length; i += 1) close(actual[i], expected[i], `${path}[${i}]`);
    return;
  }
  if (Object.is(actual, expected)) return;
  const error = Math.abs(actual - expected);
  assert.ok(error <= 1e-12 * Math.max(1, Math.abs(expected)), `${path}: ${actual} is not ${expected}`);
}
