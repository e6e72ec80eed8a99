import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cutWord, listed, lookUp, splitWords, unpacked } from "../math/tokens-to-rows.mjs";
import { sentence } from "../ui/tokens-to-rows.mjs";
import { close, golden } from "./golden.mjs";

const [{ small }, ...cases] = golden("tokens_to_rows");
const script = readFileSync(new URL("../../src/qkv/widgets/static/word-pieces.js", import.meta.url), "utf8");
new Function(script)();
const all = unpacked(/** @type {any} */ (globalThis).qkvBook.wordPieces, 384);

test("tokens, ids and rows equal Python's, for every text", () => {
  assert.equal(cases.length, 57);
  for (const { text, mode, special, ...python } of cases) {
    const found = lookUp({ text, mode, special }, mode === "whitespace" ? listed(small) : all);
    assert.deepEqual(found.tokens, python.tokens, text);
    assert.deepEqual(found.ids, python.ids, text);
    close(found.rows, python.X, text);
    assert.deepEqual(found.used, python.used);
    assert.deepEqual(found.place, python.place);
  }
});

test("the script holds the whole vocabulary", () => {
  assert.equal(all.size, 30522);
  assert.equal(all.token(0), "[PAD]");
  assert.equal(all.id("apple"), 6207);
  assert.deepEqual(all.columns, ["0", "1", "2", "3", "4"]);
  for (const id of [0, 6207, 30521]) assert.ok(all.row(id).every((x) => Math.abs(x) < 1 && Math.abs(1000 * x - Math.round(1000 * x)) < 1e-9));
});

test("a few pieces give the picture of their own text before the script is there", () => {
  const { tokens, ids, rows } = lookUp({ text: "The river bank", mode: "wordpiece", special: true }, all);
  const few = listed({ tokens, ids, numbers: rows, columns: all.columns, size: 30522, width: 384 });
  assert.deepEqual(lookUp({ text: "The river bank", mode: "wordpiece", special: true }, few), lookUp({ text: "The river bank", mode: "wordpiece", special: true }, all));
  assert.equal(few.size, 30522);
});

test("the longest piece first, and unknown if none fits", () => {
  const pieces = new Set(["a", "ab", "##b", "##c", "##cd"]);
  const has = (/** @type {string} */ piece) => pieces.has(piece);
  assert.deepEqual(cutWord("abcd", has), ["ab", "##cd"]);
  assert.deepEqual(cutWord("abc", has), ["ab", "##c"]);
  assert.deepEqual(cutWord("ax", has), ["[UNK]"]);
  assert.deepEqual(splitWords("A,b"), ["a", ",", "b"]);
});

test("the sentence names the row in E and the row of X, and who shares it", () => {
  const found = lookUp({ text: "The bank by the river bank", mode: "wordpiece", special: false }, all);
  assert.equal(sentence(found, 1), "Token 1, “bank”, has id 2,924: row 2,924 of E becomes row 1 of X. Token 5 points there too.");
  assert.equal(sentence(found, -1), "6 tokens, 4 different ids.");
  assert.equal(sentence(found, 4), "Token 4, “river”, has id 2,314: row 2,314 of E becomes row 4 of X.");
});
