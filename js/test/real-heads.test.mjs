import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { look, reader } from "../math/real-heads.mjs";
import { MEASURES, role, sentence } from "../ui/real-heads.mjs";
import { close, golden } from "./golden.mjs";

const script = readFileSync(new URL("../../src/qkv/widgets/static/real-heads-data.js", import.meta.url), "utf8");
/** @type {import("../math/real-heads.mjs").Data} */
const data = JSON.parse(script.slice(script.indexOf("={") + 1).trim().replace(/;$/, "").replace(/^.*?realHeads=/, ""));
const heads = reader(data.sentences);

test("scores, weights and what is carried equal core's", () => {
  const cases = golden("real_heads");
  assert.equal(cases.length, 5);
  for (const { sentence: s, head, q, ...core } of cases) {
    const opened = heads(s, head[0], head[1]);
    close(opened.q.slice(0, 2), q, "q");
    const made = /** @type {any} */ (look(opened));
    for (const name of Object.keys(core)) close(made[name], core[name], `${name} of ${head}`);
  }
});

test("the bytes are those of whole sentences", () => {
  assert.ok(script.length <= 600_000);
  assert.equal(data.sentences.length, 8);
  for (const [i, { tokens }] of data.sentences.entries()) {
    assert.deepEqual([tokens[0], tokens.at(-1)], ["[CLS]", "[SEP]"]);
    const { q, k, lengths } = heads(i, 5, 11);
    assert.deepEqual([q.length, k.length, lengths.length], Array(3).fill(tokens.length));
    for (const row of look({ q, k, lengths }).weights) assert.ok(Math.abs(row.reduce((a, b) => a + b, 0) - 1) < 1e-12);
  }
  for (const [name] of MEASURES) assert.deepEqual([data.looks[name].length, data.looks[name][0].length], [6, 12]);
});

test("sentences", () => {
  const { tokens } = data.sentences[0];
  const made = look(heads(0, 2, 9));
  assert.match(sentence(tokens, made, [2, 9]), /^“bank” looks at “bank”, weight 0\.5\d; of what is carried to it, 7\d % comes from there\.$/);
  assert.match(role(data.looks, [0, 2]), /^Layer 0, head 2, over 360 sentences, in % of its weight: before 100, after 0,/);
});
