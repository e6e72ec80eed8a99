import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { half, readWeights, translate } from "../math/transformer.mjs";
import { idsOf, isKnown, translation, VOCABULARY } from "../math/translations.mjs";
import { isRight, labels, sentence, verdict } from "../ui/translator-explorer.mjs";
import { close, golden } from "./golden.mjs";

const script = readFileSync(new URL("../../src/qkv/widgets/static/translator-weights.js", import.meta.url), "utf8");
const weights = readWeights(script.split('"')[1]);
const ENDS = { start: 1, stop: 2, longest: 16 };
/** @param {ArrayLike<number>[]} rows */
const plain = (rows) => rows.map((row) => Array.from(row));

test("halves are read as numpy reads them", () => {
  const cases = [[0x0000, 0], [0x3c00, 1], [0xc000, -2], [0x3555, 0.333251953125], [0x0001, 2 ** -24], [0x7bff, 65504], [0x7c00, Infinity], [0xfc00, -Infinity]];
  for (const [bits, value] of cases) assert.equal(half(bits), value);
  assert.ok(Number.isNaN(half(0x7e00)));
});

test("words, links and vocabulary equal the rule's in Python", () => {
  const [{ vocabulary }, ...cases] = golden("translations");
  assert.deepEqual(VOCABULARY, vocabulary);
  assert.ok(cases.length > 300);
  for (const { text, language, ...wanted } of cases) assert.deepEqual(translation(text, language), wanted, `${text} ${language}`);
});

test("what the model writes, and every head, equal core's", () => {
  for (const { text, language, source, written, heads } of golden("translator_explorer")) {
    const { source: read } = translation(text, language);
    assert.deepEqual(read, source);
    const made = translate(weights, idsOf(read), ENDS);
    assert.deepEqual(made.written.map((id) => VOCABULARY[id]), written);
    for (const { site, layer, head, ...rows } of heads) {
      const ours = /** @type {any} */ (made)[site][layer].heads[head];
      for (const name of Object.keys(rows)) close(plain(ours[name]), rows[name], `${text} ${site} ${layer}.${head} ${name}`);
    }
  }
});

test("which texts are known", () => {
  for (const text of ["0", "999999", "1900-01-01", "2024-02-29", "2099-12-31"]) assert.ok(isKnown(text), text);
  for (const text of ["", "1000000", "-1", "1.5", "1899-12-31", "2100-01-01", "2023-02-29", "2024-13-01", "x"]) assert.ok(!isKnown(text), text);
});

test("sentences", () => {
  const gold = translation("21", "de");
  const base = { layer: 1, head: 1, source: gold.source, written: ["<s>", ...gold.target, "</s>"], gold, q: [], k: [] };
  const rows = [[0, 0.1, 0.9], [0.5, 0.25, 0.25], [0, 1, 0], [1, 0, 0]];
  const cross = /** @type {any} */ ({ ...base, site: "cross", weights: rows, scores: rows });
  assert.deepEqual(labels(cross), { rows: ["→ ein", "→ und", "→ zwanzig", "→ </s>"], cols: ["<de>", "twenty", "one"], reads: ["<s>", "ein", "und", "zwanzig"] });
  assert.ok(isRight(cross));
  assert.equal(verdict(cross), "Right, word for word.");
  assert.equal(sentence(cross, [0, 2]), "The row that reads “<s>” and predicts “ein” looks at “one”, weight 0.90: its partner.");
  assert.match(sentence(cross, [0, 1]), /weight 0\.10; its partner is “one”\.$/);
  assert.match(sentence(cross, [1, 0]), /“und” has no partner\.$/);
  assert.match(sentence(cross, [3, 0]), /predicts “<\/s>” looks at “<de>”, weight 1\.00\.$/);
  const wrong = /** @type {any} */ ({ ...cross, written: ["<s>", "ein", "</s>"] });
  assert.equal(verdict(wrong), "Wrong. The rule says: ein und zwanzig");
  const decoder = /** @type {any} */ ({ ...base, site: "decoder", weights: rows, scores: [[0, -Infinity, -Infinity]] });
  assert.match(sentence(decoder, [0, 1]), /may not look ahead\.$/);
  const encoder = /** @type {any} */ ({ ...base, site: "encoder", weights: rows, scores: rows });
  assert.equal(sentence(encoder, [0, 2]), "“<de>” looks at “one”, weight 0.90.");
});
