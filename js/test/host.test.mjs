import assert from "node:assert/strict";
import { test } from "node:test";
import { assign, bind, history } from "../ui/bind.mjs";
import { fakeDocument, figure } from "./fake-dom.mjs";

/** @type {any} */
const page = globalThis;
const figures = [figure("late", '{"x": [1, 2]}'), figure("early", "{}"), figure("broken", "{}"), figure("hurt", "{not json"), figure("absent", "{}")];
page.document = fakeDocument(figures);
const [late, early, broken, hurt, absent] = figures;
/** @type {any[]} */
const complaints = [];
console.error = (...words) => complaints.push(words);
page.qkvBook = {
  widgets: {
    early: { render: () => {} },
    hurt: { render: () => {} },
    broken: { render: () => { throw new Error("no"); } },
  },
};
const { makeModel } = await import("../host.mjs");
await new Promise((resolve) => setTimeout(resolve));

test("a widget that registered before the host is mounted in front of its poster, which keeps its place", () => {
  assert.equal(early.dataset.qkvState, "live");
  assert.ok(early.classes.has("qkv-mounted"));
  assert.deepEqual(early.children.map((/** @type {any} */ child) => [...child.classes][0] || child.tag), ["qkv-state", "qkv-live", "qkv-poster", "figcaption"]);
  assert.equal(early.querySelector(".qkv-live").style.minHeight, "300px");
});

test("a widget that registers after the host is mounted then, once, and its model can be read", async () => {
  let count = 0;
  page.qkvBook.widgets.late = { render: () => { count += 1; } };
  page.qkvBook.mount();
  page.qkvBook.mount();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(count, 1);
  assert.deepEqual(late.qkvModel.get("x"), [1, 2]);
});

test("a widget that fails, or whose state is damaged, leaves its poster, a sentence and a message for the author", () => {
  for (const root of [broken, hurt]) {
    assert.equal(root.dataset.qkvState, "failed");
    assert.ok(!root.classes.has("qkv-mounted"));
    assert.equal(root.querySelector(".qkv-live"), null);
    assert.match(root.querySelector(".qkv-note").textContent, /still picture/);
    assert.equal(root.qkvModel, undefined);
  }
  assert.equal(complaints.length, 2);
});

test("a figure whose script never comes is left alone", () => {
  assert.equal(absent.dataset.qkvState, undefined);
});

test("the model tells of a change once, and not of an equal value", () => {
  const model = makeModel({ x: [1, 2] });
  /** @type {any[]} */
  const heard = [];
  const hear = () => heard.push(model.get("x"));
  model.on("change:x", hear);
  model.set("x", [1, 2]);
  model.set("x", [1, 3]);
  model.off("change:x", hear);
  model.set("x", [0, 0]);
  assert.deepEqual(heard, [[1, 3]]);
});

test("bind joins a burst of changes into one update and stops when torn down", async () => {
  const model = makeModel({ x: 1, y: 2 });
  let updates = 0;
  let destroyed = 0;
  const stop = bind(model, ["x", "y"], () => { updates += 1; }, () => { destroyed += 1; });
  assign(model, { x: 3, y: 4 });
  assert.equal(updates, 0);
  await Promise.resolve();
  assert.equal(updates, 1);
  model.set("x", 9);
  stop();
  await Promise.resolve();
  model.set("x", 10);
  await Promise.resolve();
  assert.deepEqual([updates, destroyed], [1, 1]);
});

test("history: one gesture is one step back, reset is a step too", () => {
  const model = makeModel({ x: [0, 0] });
  let time = 0;
  const past = history(model, ["x"], () => time);
  assert.deepEqual([past.canUndo, past.isFirst], [false, true]);
  for (const x of [1, 2, 3]) {
    past.mark("drag");
    model.set("x", [x, 0]);
    time += 100;
  }
  time += 5000;
  past.mark("drag");
  model.set("x", [9, 9]);
  past.undo();
  assert.deepEqual(model.get("x"), [3, 0]);
  past.change({ x: [7, 7] });
  assert.deepEqual(model.get("x"), [7, 7]);
  past.undo();
  assert.deepEqual(model.get("x"), [3, 0]);
  past.reset();
  assert.deepEqual(model.get("x"), [0, 0]);
  past.undo();
  assert.deepEqual(model.get("x"), [3, 0]);
  past.undo();
  assert.deepEqual(model.get("x"), [0, 0]);
  assert.equal(past.undo(), false);
});
