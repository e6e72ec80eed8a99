// ExplanationLab: what five methods say of each token, beside the truth (chapter 22).
// Traits: text (eight tokens and a question), model ("one" | "two" | "hidden"), layer (whose weights), slide (0 to 1: other
// weights with the same output), first (the numbers of the first picture; the models are loaded on the reader's first action).

import { lab, modelOf, put, QUESTIONS } from "../math/explanation-lab.mjs";
import { readWeights } from "../math/safetensors.mjs";
import { bind, history } from "../ui/bind.mjs";
import { choiceRow, rangeRow, selectRow } from "../ui/controls.mjs";
import { h, set, write } from "../ui/dom.mjs";
import { explanationView, sentence } from "../ui/explanation-lab.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { late } from "../ui/late.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["text", "model", "layer", "slide"];
const OWN = "";
/** @type {Record<string, { text: string, model: string, layer: number }>} */
const EXAMPLES = {
  "one layer: weights are right": { text: "A3 * B1 · C0 * · · A?", model: "one", layer: 1 },
  "two layers: the same question": { text: "A3 * B1 · C0 * · · A?", model: "two", layer: 2 },
  "two hops": { text: "A→C * B1 · C3 * · · A?", model: "two", layer: 2 },
  "how many stars": { text: "A→C * B1 · C3 * · · *?", model: "two", layer: 2 },
  "nothing is asked": { text: "A→C * B1 · C3 * · · !", model: "two", layer: 1 },
  "trained to hide": { text: "A3 * B1 · C0 * · · A?", model: "hidden", layer: 2 },
};

/** @param {{ model: import("../ui/late.mjs").Sender, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const first = model.get("first");
  /** @type {Record<string, import("../math/explanation-lab.mjs").Model> | undefined} */
  let models;
  let alive = true;
  let failed = false;

  const state = () => ({
    text: /** @type {string[]} */ (Array.from(model.get("text"))),
    model: String(model.get("model")),
    layer: Number(model.get("layer")),
    slide: Number(model.get("slide")),
  });
  const view = explanationView({ onput: (place, token) => past.change({ text: put(state().text, place, token) }) });
  const example = selectRow({
    label: "Look at",
    options: [[OWN, "your own text"], ...Object.keys(EXAMPLES).map((name) => /** @type {[string, string]} */ ([name, name]))],
    onchange: (name) => {
      if (name === OWN) return;
      const { text, ...rest } = EXAMPLES[name];
      past.change({ text: text.split(" "), slide: 0, ...rest });
    },
  });
  const question = selectRow({
    label: "Question",
    options: QUESTIONS.map((token) => /** @type {[string, string]} */ ([token, token])),
    onchange: (token) => past.change({ text: [...state().text.slice(0, -1), token] }),
  });
  const which = choiceRow({
    label: "Model",
    options: [["one", "one layer"], ["two", "two layers"], ["hidden", "trained to hide"]],
    onchange: (value) => past.change({ model: value }),
  });
  const layer = choiceRow({ label: "Weights of layer", options: [["1", "1"], ["2", "2"]], onchange: (value) => past.change({ layer: Number(value) }) });
  const slide = rangeRow({
    label: "Other weights, same output",
    min: 0,
    max: 1,
    step: 0.05,
    format: (x) => `${Math.round(100 * x)} %`,
    oninput: (x) => past.change({ slide: x }, "slide"),
  });
  const buttons = undoButtons(past);
  const waiting = h("p", { class: "qkv-explain-wait", hidden: true });
  const ui = h(
    "div",
    { class: "qkv-ui qkv-explain", onkeydown: undoKey(past) },
    h("div", { class: "qkv-explain-line" }, example.el, question.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    h("div", { class: "qkv-explain-line" }, which.el, layer.el),
    view.said,
    waiting,
    view.table,
    slide.el,
    live.el,
  );

  function load() {
    if (models) return;
    late(model, { want: "known-truth-weights", field: "knownTruth" }).then(
      (texts) => {
        models ??= Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, modelOf(readWeights(/** @type {string} */ (text)))]));
        if (alive) update();
      },
      () => {
        failed = true;
        if (alive) update();
      },
    );
  }

  /** @param {ReturnType<typeof state>} now @returns {import("../math/explanation-lab.mjs").Lab | undefined} */
  function look(now) {
    if (JSON.stringify([now.text, now.model, now.layer, now.slide]) === JSON.stringify(first.of)) return first.made;
    return models ? lab(models[now.model], now) : undefined;
  }

  function update() {
    const now = state();
    const same = Object.entries(EXAMPLES).find(([, e]) => e.text === now.text.join(" ") && e.model === now.model && (e.model === "one" || e.layer === now.layer));
    example.set(same ? same[0] : OWN);
    question.set(now.text[now.text.length - 1]);
    which.set(now.model);
    layer.set(now.model === "one" ? "1" : String(now.layer));
    layer.input[1].disabled = now.model === "one";
    slide.set(now.slide);
    buttons.update();
    const made = look(now);
    waiting.hidden = Boolean(made);
    if (!made) {
      view.tokens(now);
      write(waiting, failed ? "The models could not be loaded; the first picture still works." : "Loading the models, 29 kB …");
      set(ui, { "aria-busy": !failed && "true" });
      if (!failed) load();
      return;
    }
    set(ui, { "aria-busy": false });
    view.update(now, made);
    if (ui.isConnected) live.say(sentence(now, made));
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, TRAITS, update, () => {
    alive = false;
    live.destroy();
    ui.remove();
  });
}

export default { render };
