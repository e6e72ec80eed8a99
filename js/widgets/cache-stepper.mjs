// CacheStepper: write the running example word by word; see what is made, what is kept, and what it costs (chapter 19).
// Traits: word (the new one, 0 to 6), kept ("nothing" | "X" | "K and V"), sets (3 or 1 of keys and values), head.

import { cacheStep, HEADS, WAYS, WORDS } from "../math/cache-stepper.mjs";
import { bind, history } from "../ui/bind.mjs";
import { cacheView, sentence } from "../ui/cache-stepper.mjs";
import { button, choiceRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["word", "kept", "sets", "head"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const view = cacheView();
  const move = (/** @type {number} */ by) => past.change({ word: Math.min(WORDS.length - 1, Math.max(0, Number(model.get("word")) + by)) });

  const word = choiceRow({
    label: "New word",
    options: WORDS.map((name, t) => [String(t), name]),
    onchange: (value) => past.change({ word: Number(value) }),
  });
  const kept = choiceRow({
    label: "Kept",
    options: WAYS.map((way) => [way, way]),
    onchange: (value) => past.change({ kept: value }),
  });
  const sets = choiceRow({
    label: "Sets of K and V",
    options: [["3", "3, one a head"], ["1", "1 for all"]],
    onchange: (value) => past.change({ sets: Number(value) }),
  });
  const head = choiceRow({
    label: "Head",
    options: Array.from({ length: HEADS }, (_, i) => [String(i), String(i + 1)]),
    onchange: (value) => past.change({ head: Number(value) }),
  });
  const back = button("Back", () => move(-1));
  const next = button("Next word", () => move(1));
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-cache", onkeydown: undoKey(past) },
    h("div", { class: "qkv-cache-bar" }, word.el, h("div", { class: "qkv-buttons" }, back, next, ...buttons.all)),
    h("div", { class: "qkv-cache-bar" }, kept.el, sets.el, head.el),
    view.said,
    view.body,
    live.el,
  );

  function update() {
    const state = { word: Number(model.get("word")), kept: model.get("kept"), sets: Number(model.get("sets")), head: Number(model.get("head")) };
    const made = cacheStep(state);
    view.update(state, made);
    word.set(String(state.word));
    kept.set(state.kept);
    sets.set(String(state.sets));
    head.set(String(state.head));
    // A button that is disabled would lose the focus in the middle of a walk.
    for (const [end, one] of /** @type {const} */ ([[0, back], [WORDS.length - 1, next]])) one.setAttribute("aria-disabled", String(state.word === end));
    buttons.update();
    if (ui.isConnected) live.say(sentence(state, made));
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
