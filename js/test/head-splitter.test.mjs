import assert from "node:assert/strict";
import { test } from "node:test";
import { blocks, broken, layer } from "../math/head-splitter.mjs";
import { sentences, short } from "../ui/head-splitter.mjs";
import { close, golden } from "./golden.mjs";

const cases = golden("head_splitter");

test("every array of every way equals core's", () => {
  assert.equal(cases.length, 45);
  for (const { x, w, h, way, t, ...core } of cases) {
    const made = layer({ x, w, h, way });
    const name = `${h} heads, ${way}`;
    close(made.q[t], core.q, `q, ${name}`);
    close(made.weights.map((rows) => rows[t]), core.weights, `weights, ${name}`);
    close(made.concatenated[t], core.found, `found, ${name}`);
    close(made.writes.map((rows) => rows[t]), core.writes, `writes, ${name}`);
    close(made.output[t], core.output, `output, ${name}`);
    const now = broken({ x, w, h, way });
    close([now.off], [core.off], `off, ${name}`);
    assert.deepEqual([now.reads, now.reaches, now.count], [core.reads, core.reaches, core.count], name);
  }
});

test("only a reshape without turning mixes tokens, and only with several heads", () => {
  for (const { h, way, off } of cases) {
    const mixes = h > 1 && (way === "reshape" || way === "join");
    assert.equal(off > 1e-6, mixes, `${h}, ${way}`);
  }
});

test("blocks keep the diagonal", () => {
  assert.deepEqual(blocks([[1, 2], [3, 4]], 1), [[1, 0], [0, 4]]);
  assert.deepEqual(blocks([[1, 2], [3, 4]], 2), [[1, 2], [3, 4]]);
});

test("the sentences warn of what is broken", () => {
  const fine = { reads: 8, off: 1e-15, reaches: 8, count: 256 };
  assert.deepEqual(sentences(fine, 2, 8).map(([, bad]) => bad), [false, false, false, false]);
  const bad = sentences({ reads: 4, off: 1.5, reaches: 4, count: 160 }, 2, 8);
  assert.deepEqual(bad.map(([, warns]) => warns), [true, true, true, false]);
  assert.match(bad[1][0], /off by 1\.50/);
  assert.match(sentences(fine, 1, 8)[3][0], /256 weights: 1 head, each 8 wide/);
});

test("integers are short", () => {
  assert.deepEqual([2, -1, 0.25, 1.96].map(short), ["2", "−1", "0.3", "2.0"]);
});
