// PositionLab: move words, choose how the order is written down, see what attention notices (chapter 13).
// Traits: order (which word stands at each place), code ("none" | "sinusoids" | "learned" | "rotary"), start, causal.

import { FARTHEST, lab, swapped, WORDS } from "../math/position-lab.mjs";
import { bind, history, vector } from "../ui/bind.mjs";
import { button, checkboxRow, choiceRow, rangeRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { positionView, sentence } from "../ui/position-lab.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["order", "code", "start", "causal"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  let moved = "";
  const order = () => vector(model.get("order"));

  const view = positionView({
    onswap(place, to) {
      moved = `“${WORDS[order()[place]]}” stands at place ${Number(model.get("start")) + to}. `;
      past.change({ order: swapped(order(), place, to) });
    },
  });
  const code = choiceRow({
    label: "Code",
    options: [["none", "none"], ["sinusoids", "sinusoids"], ["learned", "learned"], ["rotary", "RoPE"]],
    onchange: (value) => past.change({ code: value }),
  });
  const causal = checkboxRow({ label: "causal mask", onchange: (value) => past.change({ causal: value }) });
  const start = rangeRow({ label: "Place of the first word", min: 0, max: FARTHEST, step: 1, oninput: (x) => past.change({ start: x }, "start") });
  const reverse = button("Turn round", () => past.change({ order: order().reverse() }));
  const sort = button("In order", () => past.change({ order: WORDS.map((_, i) => i) }));
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-order", onkeydown: undoKey(past) },
    h("div", { class: "qkv-order-bar" }, code.el, causal.el),
    h("div", { class: "qkv-order-bar" }, start.el, h("div", { class: "qkv-buttons" }, reverse, sort, ...buttons.all)),
    view.words,
    view.said,
    view.body,
    live.el,
  );

  function update() {
    const state = { order: order(), code: model.get("code"), start: Number(model.get("start")), causal: Boolean(model.get("causal")) };
    const made = lab(state);
    view.update(state, made);
    code.set(state.code);
    causal.set(state.causal);
    start.set(state.start);
    buttons.update();
    if (ui.isConnected) live.say(moved + sentence(state, made));
    moved = "";
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, TRAITS, update, () => {
    live.destroy();
    ui.remove();
  });
}

export default { render };
