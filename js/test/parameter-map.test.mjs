import assert from "node:assert/strict";
import { test } from "node:test";
import { allParts, count, layout, PRINTED, sum } from "../math/parameter-map.mjs";
import { aboutPart, aboutTotal, headings, share, whole } from "../ui/parameter-map.mjs";
import { close, golden } from "./golden.mjs";

const BASE = { sizes: [512, 2048, 8, 64, 64], layers: [6, 6], rows: 37000, tables: 1, biases: false };

test("every part, the sums and the rows that fit are core's, to the last integer", () => {
  const cases = golden("parameter_map");
  assert.equal(cases.length, 22);
  for (const { model, names, fields, counts, total, groups, printed, fits } of cases) {
    const made = count(model);
    assert.deepEqual(made.parts.map((part) => [part.id, part.shape, part.each, part.layers]), names);
    assert.deepEqual(made.parts.map((part) => part.count), counts);
    assert.equal(made.total, total);
    assert.deepEqual(made.groups, groups);
    assert.equal(made.printed, printed);
    assert.deepEqual(made.fits, fits);
    close(layout(made.parts, 390, 320).map((box) => [box.x, box.y, box.width, box.height]), fields, "fields");
  }
});

test("each printed row of Table 3 is found, and no other", () => {
  const printed = golden("parameter_map").flatMap((/** @type {any} */ { printed }) => (printed === null ? [] : [printed]));
  assert.deepEqual(printed.slice(0, 11).toSorted(), PRINTED.map((line) => line[6]).toSorted());
  assert.equal(count({ ...BASE, layers: [6, 5] }).printed, null);
});

test("the fields fill the map and do not overlap", () => {
  const parts = allParts({ ...BASE, tables: 3, biases: true });
  const boxes = layout(parts, 700, 320);
  const area = boxes.reduce((total, box) => total + box.width * box.height, 0);
  assert.ok(Math.abs(area - 700 * 320) < 1e-6);
  boxes.forEach((box, i) => assert.ok(Math.abs((box.width * box.height) / (700 * 320) - parts[i].count / sum(parts)) < 1e-12));
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1)) {
      const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
      const tall = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
      assert.ok(wide < 1e-9 || tall < 1e-9);
    }
});

test("the sentences", () => {
  const made = count(BASE);
  assert.equal(
    aboutTotal(made, 1),
    "63,045,632 numbers: 63.0 million. Table 3 prints 65 for these sizes; this count does not round to it. 65 needs 39,841 to 41,793 rows.",
  );
  assert.match(aboutTotal(count({ ...BASE, rows: 41100 }), 1), /and so does this count\. 65 needs/);
  assert.match(aboutTotal(count({ ...BASE, layers: [6, 0] }), 1), /prints no count for these sizes/);
  assert.match(aboutTotal(count({ ...BASE, tables: 3 }), 3), /65 needs 13,281 to 13,931 rows a table/);
  const key = made.parts.find((part) => part.id === "decoder cross-attention W_K");
  assert.ok(key);
  assert.equal(aboutPart(key, made.total), "decoder, cross-attention: W_K. 8 heads, 512 × 64 in each of 6 layers; 1,572,864 numbers, 2.5 %.");
  assert.deepEqual([999, 1000, 63045632].map(whole), ["999", "1,000", "63,045,632"]);
  assert.deepEqual([share(3, 10), share(1, 40), share(1, 1000), share(0, 0)], ["30 %", "2.5 %", "0.10 %", "0.00 %"]);
});

test("names stand over the columns and in the groups that have room", () => {
  const parts = allParts(BASE);
  const texts = (/** @type {number} */ width) => headings(parts, layout(parts, width, 300)).map(({ text }) => text);
  assert.deepEqual(texts(700), ["encoder", "feed-forward", "self-attention", "decoder", "feed-forward", "cross-attention", "self-attention", "table"]);
  assert.deepEqual(texts(60), []);
});
