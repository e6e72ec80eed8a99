// SoftLookup: move a query along a line of keys; see the weights, the values, and the sum that makes the output (chapter 4).
// Traits: pairs (n, 2) of key and value, query, bandwidth, score ("distance" | "dot"), hard, labels (units of key and value).

import { curve, lookUp } from "../math/soft-lookup.mjs";
import { bind, history, matrix } from "../ui/bind.mjs";
import { choiceRow, rangeRow } from "../ui/controls.mjs";
import { h, set } from "../ui/dom.mjs";
import { number } from "../ui/format.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { largest, lookUpView, placesOf, verdict } from "../ui/soft-lookup.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["query", "bandwidth", "score", "hard"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const pairs = matrix(model.get("pairs"));
  /** @type {string[]} */
  const labels = model.get("labels");
  const places = placesOf(pairs.map(([key]) => key));
  const live = liveRegion();

  const view = lookUpView({ pairs, labels, onquery: (query, gesture) => past.change({ query }, gesture) });
  const bandwidth = rangeRow({
    label: "Bandwidth b",
    min: -3,
    max: 7,
    step: 0.5,
    format: (x) => number(2 ** x),
    oninput: (x) => past.change({ bandwidth: 2 ** x }, "bandwidth"),
  });
  const score = choiceRow({
    label: "Score",
    options: [["distance", "distance"], ["dot", "dot product"]],
    onchange: (value) => past.change({ score: value }),
  });
  const hard = choiceRow({
    label: "Look-up",
    options: [["soft", "soft"], ["hard", "hard"]],
    onchange: (value) => past.change({ hard: value === "hard" }),
  });
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-lookup", onkeydown: undoKey(past) },
    h("div", { class: "qkv-bar qkv-lookup-top" }, score.el, hard.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    h("div", { class: "qkv-lookup-body" }, view.el, h("div", { class: "qkv-lookup-side" }, bandwidth.el, view.text)),
    live.el,
  );

  function update() {
    const state = {
      pairs,
      query: Number(model.get("query")),
      bandwidth: Number(model.get("bandwidth")),
      score: /** @type {import("../math/soft-lookup.mjs").Score} */ (model.get("score")),
      hard: Boolean(model.get("hard")),
    };
    const found = lookUp(state);
    view.update({ state, found, places, outputs: curve(state, places) });
    bandwidth.set(Math.log2(state.bandwidth));
    set(bandwidth.input, { "aria-valuetext": number(state.bandwidth) });
    score.set(state.score);
    hard.set(state.hard ? "hard" : "soft");
    buttons.update();
    if (!ui.isConnected) return;
    const shares = largest(found).top.filter((j) => found.weights[j] >= 0.005).map((j) => `${number(found.weights[j])} from the key at ${number(pairs[j][0], 1)}`);
    live.say(`output ${number(found.output, 1)}: ${shares.join(", ")}. ${verdict(state, found, labels[0])}`);
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, TRAITS, update, () => {
    live.destroy();
    view.destroy();
    ui.remove();
  });
}

export default { render };
