// WhyThree: what one head learned with pieces tied, and why it could not learn more (chapter 8).
// Traits: task, scores (names), settings [{ task, scores, title, names, answers, table, accuracy, weights, baseline, foretold }].

import { bind, history } from "../ui/bind.mjs";
import { selectRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { tiedHead } from "../ui/tied-head.mjs";
import { undoButtons } from "../ui/undo.mjs";

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  /** @typedef {import("../ui/tied-head.mjs").Setting} Setting */
  /** @type {Setting[]} */
  const settings = model.get("settings");
  const past = history(model, ["task", "scores"]);
  const unique = (/** @type {(setting: Setting) => [string, string]} */ pick) => [...new Map(settings.map(pick))];
  const choose = (/** @type {"task" | "scores"} */ name) => (/** @type {string} */ value) => past.change({ [name]: value });
  const task = selectRow({ label: "Task", options: unique((s) => [s.task, s.title]), onchange: choose("task") });
  const scores = selectRow({ label: "Scores from", options: unique((s) => [s.scores, s.ways]), onchange: choose("scores") });
  const buttons = undoButtons(past);
  const view = tiedHead();
  const ui = h(
    "div",
    { class: "qkv-ui qkv-why" },
    h("div", { class: "qkv-why-bar" }, task.el, scores.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    view.el,
  );

  const update = () => {
    const [t, s] = [model.get("task"), model.get("scores")];
    task.set(t);
    scores.set(s);
    buttons.update();
    const found = settings.find((setting) => setting.task === t && setting.scores === s);
    if (found) view.update(found, ui.isConnected);
  };

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, ["task", "scores", "settings"], update, () => {
    view.destroy();
    ui.remove();
  });
}

export default { render };
