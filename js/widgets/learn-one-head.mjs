// LearnOneHead: press "step" and watch scores, weights and the four matrices of one head move (chapter 7).
// Traits: W_Q, W_K, W_V, W_O (the start), rate, steps. All else follows: the training is done again from the start.

import { MOST_STEPS, training } from "../math/learn-one-head.mjs";
import { bind, history, matrix } from "../ui/bind.mjs";
import { button, choiceRow, selectRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { learnView } from "../ui/learn-one-head.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoKey } from "../ui/undo.mjs";

const START = ["W_Q", "W_K", "W_V", "W_O"];
const TRAITS = [...START, "rate", "steps"];
const RATES = [0.1, 0.25, 0.5, 1];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  let changes = true;
  let key = "";
  /** @type {ReturnType<typeof training>} */
  let run;

  const forward = [1, 10, 100].map((n) =>
    button(n === 1 ? "Step" : `${n} steps`, () => past.change({ steps: Math.min(MOST_STEPS, Number(model.get("steps")) + n) })),
  );
  const back = button("Back one", () => past.change({ steps: Number(model.get("steps")) - 1 }));
  const undo = button("Undo", () => past.undo());
  const reset = button("Start again", () => past.change({ steps: 0 }));
  const rate = selectRow({
    label: "Learning rate",
    options: RATES.map((x) => /** @type {[string, string]} */ ([String(x), String(x)])),
    onchange: (value) => past.change({ rate: Number(value) }),
  });
  const show = choiceRow({
    label: "The four matrices",
    options: [["changes", "the last step, in thousandths"], ["numbers", "themselves"]],
    value: "changes",
    onchange(value) {
      changes = value === "changes";
      update();
    },
  });
  const view = learnView((text) => live.say(text));

  const ui = h(
    "div",
    { class: "qkv-ui qkv-learn", onkeydown: undoKey(past) },
    h(
      "div",
      { class: "qkv-learn-bar" },
      h("div", { class: "qkv-learn-go", role: "group", "aria-label": "Train" }, ...forward),
      h("div", { class: "qkv-buttons" }, back, undo, reset),
      rate.el,
    ),
    view.top,
    view.now,
    show.el,
    view.four,
    view.readout,
    live.el,
  );

  function update() {
    const steps = Number(model.get("steps"));
    const pace = Number(model.get("rate"));
    const start = /** @type {import("../math/learn-one-head.mjs").Four} */ (/** @type {unknown} */ (START.map((name) => matrix(model.get(name)))));
    const now = JSON.stringify([start, pace]);
    if (now !== key) run = training(start, pace);
    key = now;
    rate.set(String(pace));
    for (const go of forward) go.disabled = steps >= MOST_STEPS;
    back.disabled = reset.disabled = steps === 0;
    undo.disabled = !past.canUndo;
    const said = view.update({ run, steps, rate: pace, changes });
    if (ui.isConnected) live.say(said);
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
