import assert from "node:assert/strict";
import { test } from "node:test";
import { joined, lab, preset, sameMask } from "../math/mask-lab.mjs";
import { cellText, sentences } from "../ui/mask-lab.mjs";
import { close, golden } from "./golden.mjs";

const TOKENS = ["a", "b", "c", "pad", "pad"];
const ZEROS = TOKENS.map(() => TOKENS.map(() => 0));
const open = (/** @type {number[][]} */ mask) => mask.map((row) => row.map(Boolean));

test("weights, sums, what comes from later tokens and from pads equal core's, by every rule", () => {
  const cases = golden("mask_lab");
  assert.equal(cases.length, 20);
  for (const { tokens, scores, mask, rule, ...core } of cases) {
    const made = lab({ tokens, scores, mask: open(mask), rule });
    close(made.weights, core.weights, `weights, ${rule}`);
    close(made.sums, core.sum, `sum, ${rule}`);
    close(made.ahead, core.later, `later, ${rule}`);
    close(made.lost, core.lost, `lost, ${rule}`);
    close(made.onPads, core["on pads"], `pads, ${rule}`);
    assert.deepEqual(made.empty, core.empty);
  }
});

test("presets, and joining them", () => {
  const causal = preset("causal", TOKENS);
  const padding = preset("padding", TOKENS);
  assert.deepEqual(causal[1], [true, true, false, false, false]);
  assert.deepEqual(padding[4], [true, true, true, false, false]);
  assert.deepEqual(preset("window", TOKENS)[0], [true, true, false, false, false]);
  assert.ok(preset("none", TOKENS).flat().every(Boolean));
  assert.deepEqual(joined(causal, padding)[4], [true, true, true, false, false]);
  assert.ok(sameMask(causal, preset("causal", TOKENS)));
  assert.ok(!sameMask(causal, padding));
});

test("an empty row by each rule", () => {
  const mask = preset("causal", TOKENS);
  mask[2].fill(false);
  const row = (/** @type {import("../math/mask-lab.mjs").Rule} */ rule) => lab({ tokens: TOKENS, scores: ZEROS, mask, rule }).weights[2];
  assert.deepEqual(row("-inf"), [0, 0, 0, 0, 0]);
  close(row("-1e9"), [0.2, 0.2, 0.2, 0.2, 0.2]);
  close(row("0"), [0.2, 0.2, 0.2, 0.2, 0.2]);
  assert.deepEqual(row("after"), [0, 0, 0, 0, 0]);
  assert.ok(row("again").every(Number.isNaN));
});

test("the sentences name the leak, the pads and the empty rows", () => {
  const state = { tokens: TOKENS, scores: ZEROS, rule: /** @type {const} */ ("-inf") };
  const clean = joined(preset("causal", TOKENS), preset("padding", TOKENS));
  assert.deepEqual(sentences(TOKENS, lab({ ...state, mask: clean }), "-inf"), [
    "No row takes anything from a later token.",
    "No real word looks at a pad.",
    "No row is empty.",
  ]);
  const all = sentences(TOKENS, lab({ ...state, mask: preset("none", TOKENS) }), "-inf");
  assert.match(all[0], /reach 4 rows; most of all “a”, 0\.80/);
  assert.match(all[1], /^3 rows of real words look at a pad/);
  const late = sentences(TOKENS, lab({ ...state, mask: clean, rule: "after" }), "after");
  assert.match(late[0], /their scores stand in the sums of 4 rows: they took 0\.80 from “a”/);
  const shut = clean.map((row) => row.map(() => false));
  assert.match(sentences(TOKENS, lab({ ...state, mask: shut }), "-inf")[2], /^Empty: “a”, “b”, “c”, “pad”, “pad”; its weights/);
});

test("a cell shows nothing where nothing is", () => {
  assert.deepEqual([0, 0.001, 0.5, NaN].map(cellText), ["", "0.00", "0.50", "NaN"]);
});
