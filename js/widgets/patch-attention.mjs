// PatchAttention: a trained Vision Transformer at work on a picture that can be painted (chapter 17).
// Traits: ink (64 pixels, 0 to 16), layer, view ("0" | "1" | "2" | "mean" | "rollout"), query (0 is the class token),
// first (the numbers of the first picture; the model itself is loaded on the reader's first action).

import { DIGITS, FULL, inkOf, known, N_LAYERS, see, shown, shuffled } from "../math/patch-attention.mjs";
import { readWeights } from "../math/transformer.mjs";
import { assign, bind, history, matrix, vector } from "../ui/bind.mjs";
import { button, choiceRow, selectRow } from "../ui/controls.mjs";
import { h, write } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { late } from "../ui/late.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { patchView, sentence, verdict } from "../ui/patch-attention.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["ink", "layer", "view", "query"];
const OWN = "";

/** @param {{ model: import("../ui/late.mjs").Sender, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const first = model.get("first");
  /** @type {import("../math/transformer.mjs").Weights | undefined} */
  let weights;
  let alive = true;
  let failed = false;
  let ran = "";
  /** @type {ReturnType<typeof see> | undefined} */
  let made;

  const state = () => ({
    ink: vector(model.get("ink")),
    layer: Number(model.get("layer")),
    view: String(model.get("view")),
    query: Number(model.get("query")),
  });

  const view = patchView({
    onask: (query) => query !== Number(model.get("query")) && assign(model, { query }),
    onpaint(pixel, ink, gesture) {
      const next = state().ink;
      next[pixel] = ink;
      past.change({ ink: next }, gesture);
    },
  });
  const picture = selectRow({
    label: "Picture",
    options: [[OWN, "your own"], ...DIGITS.map(([place, digit]) => /** @type {[string, string]} */ ([String(place), `${digit}, number ${place}`]))],
    onchange(value) {
      const digit = DIGITS.find(([place]) => String(place) === value);
      if (digit) past.change({ ink: inkOf(digit[2]) });
    },
  });
  const layer = choiceRow({ label: "Layer", options: Array.from({ length: N_LAYERS }, (_, i) => [String(i), String(i + 1)]), onchange: (value) => past.change({ layer: Number(value) }) });
  const look = choiceRow({
    label: "Show",
    options: [["0", "head 1"], ["1", "head 2"], ["2", "head 3"], ["mean", "mean"], ["rollout", "rollout"]],
    onchange: (value) => past.change({ view: value }),
  });
  const shuffle = button("Shuffle patches", () => past.change({ ink: shuffled(state().ink) }));
  const clear = button("Blank", () => past.change({ ink: state().ink.map(() => 0) }));
  const buttons = undoButtons(past);
  const waiting = h("p", { class: "qkv-patch-wait" });

  const ui = h(
    "div",
    { class: "qkv-ui qkv-patch", onkeydown: undoKey(past) },
    h("div", { class: "qkv-patch-bar" }, picture.el, h("div", { class: "qkv-buttons" }, shuffle, clear, ...buttons.all)),
    h("div", { class: "qkv-patch-bar" }, layer.el, look.el),
    view.body,
    waiting,
    live.el,
  );

  function load() {
    late(model, { want: "image-model", field: "imageModel" }).then(
      (text) => {
        weights ??= readWeights(text);
        failed = false;
        if (alive) update();
      },
      () => {
        failed = true;
        if (alive) update();
      },
    );
  }

  /** @param {ReturnType<typeof state>} now @returns {import("../ui/patch-attention.mjs").Look | undefined} */
  function looked(now) {
    const [own, given] = [now, first].map((s) => JSON.stringify([vector(s.ink), s.layer, s.view]));
    if (!weights && own === given) return { ...now, weights: matrix(first.weights), scores: vector(first.scores) };
    if (!weights) return undefined;
    const key = String(now.ink);
    if (!made || ran !== key) made = see(weights, now.ink);
    ran = key;
    return { ...now, weights: matrix(shown(made.weights, now.layer, now.view)), scores: made.scores };
  }

  function update() {
    const now = state();
    const digit = known(now.ink);
    picture.set(digit ? String(digit[0]) : OWN);
    layer.set(String(now.layer));
    look.set(now.view);
    clear.disabled = now.ink.every((x) => x === 0);
    buttons.update();
    const found = looked(now);
    const text = failed ? "The model could not be loaded; the first picture still works." : "Loading the model, 42 kB …";
    write(waiting, found ? `Ink goes from 0 to ${FULL}. Numbers beside a digit: its place in the file; no training saw it.` : text);
    if (!found) {
      ui.setAttribute("aria-busy", failed ? "false" : "true");
      if (!failed) load();
      return;
    }
    ui.removeAttribute("aria-busy");
    view.update(found);
    if (ui.isConnected) live.say(`${sentence(found)} ${verdict(found)}`);
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
