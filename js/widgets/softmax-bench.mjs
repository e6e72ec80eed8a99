// SoftmaxBench: scores to weights, temperature, the axis of the sum, and a meter for what leaks from the future (chapter 3).
// Traits: tokens, scores (the last tokens look, all are looked at), temperature, axis ("keys" | "queries"),
// times (the last query is multiplied by it), row (whose scores stand on the sliders).

import { bench } from "../math/softmax-bench.mjs";
import { bind, history, matrix } from "../ui/bind.mjs";
import { choiceRow, rangeRow } from "../ui/controls.mjs";
import { h, set } from "../ui/dom.mjs";
import { number } from "../ui/format.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { benchView, namesOf } from "../ui/softmax-bench.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["scores", "temperature", "axis", "times", "row"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  /** @type {string[]} */
  const tokens = model.get("tokens");
  const nQ = matrix(model.get("scores")).length;
  const { queries, keys } = namesOf(tokens, nQ);
  const live = liveRegion();

  const view = benchView({
    tokens,
    nQ,
    onscore(row, col, score) {
      const scores = matrix(model.get("scores"));
      scores[row][col] = score;
      past.change({ scores }, `score ${row} ${col}`);
    },
    onrow: (row) => row !== model.get("row") && past.change({ row }, "row"),
  });
  const axis = choiceRow({
    label: "Each sum runs over",
    options: [["keys", "keys: rows sum to 1"], ["queries", "queries: columns do"]],
    onchange: (value) => past.change({ axis: value }),
  });
  const temperature = rangeRow({
    label: "Temperature",
    min: -3,
    max: 3,
    step: 0.5,
    format: (x) => number(2 ** x),
    oninput: (x) => past.change({ temperature: 2 ** x }, "temperature"),
  });
  const row = choiceRow({
    label: "Scores of the query",
    options: queries.map((name, i) => /** @type {const} */ ([String(i), name])),
    onchange: (value) => past.change({ row: Number(value) }),
  });
  const times = rangeRow({
    label: `Query of “${queries[nQ - 1]}” times`,
    min: -3,
    max: 3,
    step: 0.5,
    format: (x) => number(x, 1),
    oninput: (x) => past.change({ times: x }, "times"),
  });
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-bench", onkeydown: undoKey(past) },
    h("div", { class: "qkv-bar" }, axis.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    h(
      "div",
      { class: "qkv-bench-body" },
      h("div", { class: "qkv-bench-left" }, row.el, view.rows, temperature.el),
      h("div", { class: "qkv-bench-right" }, view.table.el, times.el, view.meter),
    ),
    live.el,
  );

  function update() {
    const state = { scores: matrix(model.get("scores")), temperature: Number(model.get("temperature")), axis: model.get("axis"), times: Number(model.get("times")) };
    const at = Number(model.get("row"));
    const made = bench(state);
    view.update({ ...state, row: at, made });
    axis.set(state.axis);
    temperature.set(Math.log2(state.temperature));
    set(temperature.input, { "aria-valuetext": number(state.temperature) });
    row.set(String(at));
    times.set(state.times);
    buttons.update();
    const shares = made.weights[at].map((weight, j) => `${keys[j]} ${number(weight)}`).filter((_, j) => Number.isFinite(made.scaled[at][j]));
    if (ui.isConnected) live.say(`query '${queries[at]}' looks at ${shares.join(", ")}; its weights sum to ${number(made.rowSums[at])}; leak ${number(made.leak)}`);
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
