// ScaleLab: random queries and keys, the spread of their scores, and what softmax makes of it (chapter 6).
// Traits: d_k, n_k, factor ("none" | "sqrt" | "d"), seed (which random numbers).

import { lab, MOST_KEYS, sampler, WIDEST } from "../math/scale-lab.mjs";
import { bind, history } from "../ui/bind.mjs";
import { button, choiceRow, rangeRow } from "../ui/controls.mjs";
import { h, set } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { scaleView, short } from "../ui/scale-lab.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["d_k", "n_k", "factor", "seed"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const view = scaleView();
  let sample = sampler(Number(model.get("seed")));

  const factor = choiceRow({
    label: "Score",
    options: [["none", "q · k"], ["sqrt", "q · k / √d_k"], ["d", "q · k / d_k"]],
    onchange: (value) => past.change({ factor: value }),
  });
  /** @param {string} label @param {number} min @param {number} max @param {"d_k" | "n_k"} name */
  const doubling = (label, min, max, name) =>
    rangeRow({
      label,
      min: Math.log2(min),
      max: Math.log2(max),
      step: 1,
      format: (x) => String(Math.round(2 ** x)),
      oninput: (x) => past.change({ [name]: 2 ** x }, name),
    });
  const dK = doubling("Key width d_k", 1, WIDEST, "d_k");
  const nK = doubling("Keys n_k", 2, MOST_KEYS, "n_k");
  const again = button("New numbers", () => past.change({ seed: (Number(model.get("seed")) + 1) % (2 ** 31 - 2) }, "seed"));
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-scale", onkeydown: undoKey(past) },
    h("div", { class: "qkv-bar" }, factor.el, h("div", { class: "qkv-buttons" }, again, ...buttons.all)),
    h("div", { class: "qkv-scale-sliders" }, dK.el, nK.el),
    view.el,
    view.numbers,
    live.el,
  );

  function update() {
    const state = { dK: Number(model.get("d_k")), nK: Number(model.get("n_k")), factor: model.get("factor") };
    const seed = Number(model.get("seed"));
    if (seed !== sample.seed) sample = sampler(seed);
    const made = lab(sample, state);
    view.update(made, state.nK);
    factor.set(state.factor);
    for (const [row, value] of /** @type {const} */ ([[dK, state.dK], [nK, state.nK]])) {
      row.set(Math.log2(value));
      set(row.input, { "aria-valuetext": String(value) });
    }
    buttons.update();
    if (ui.isConnected)
      live.say(`width ${state.dK}, ${state.nK} keys: the scores spread by ${short(made.spread)}, the largest weight is ${short(made.largest)}, an equal share ${short(made.uniform)}`);
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
