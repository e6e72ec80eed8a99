// InductionTrace: a two-layer model copies in context; follow the note, cut what carries it (chapter 18).
// Traits: text (1 to 16 letters), row (the place that asks, -1 the last), head (of layer 2), step (1 to 4), closed (paths),
// first (the numbers of the first picture; the weights are loaded on the reader's first action).

import { LONGEST, PATHS, tidy, trace } from "../math/induction-trace.mjs";
import { readWeights } from "../math/safetensors.mjs";
import { assign, bind, history } from "../ui/bind.mjs";
import { checkboxRow, choiceRow, rangeRow, selectRow } from "../ui/controls.mjs";
import { h, set, uid, write } from "../ui/dom.mjs";
import { sentence, traceView } from "../ui/induction-trace.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { late } from "../ui/late.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["text", "row", "head", "step", "closed"];
const OWN = "";
const TEXTS = [
  ["QUERYKEYVALU", "QUERYKEYVALU"],
  ["HOCUSPOCUS", "HOCUSPOCUS"],
  ["ABCDEFGHIJKABC", "in order"],
  ["SEVENTYSE", "a letter three times"],
  ["XAYAXBYBXA", "two followers"],
];

/** @param {{ model: import("../ui/late.mjs").Sender, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const first = model.get("first");
  /** @type {import("../math/safetensors.mjs").Weights | undefined} */
  let weights;
  let alive = true;
  let failed = false;

  const state = () => ({
    text: String(model.get("text")),
    row: Number(model.get("row")),
    head: Number(model.get("head")),
    step: Number(model.get("step")),
    closed: /** @type {string[]} */ (Array.from(model.get("closed"))),
  });
  const view = traceView({ onrow: (row) => past.change({ row }) });
  const field = h("input", { type: "text", id: uid(), maxlength: LONGEST, autocomplete: "off", spellcheck: "false", autocapitalize: "characters" });
  const choose = (/** @type {string} */ text) => past.change({ text, row: -1 }, "text");
  field.addEventListener("focus", () => load());
  field.addEventListener("input", () => {
    const text = tidy(field.value);
    if (text && text !== model.get("text")) choose(text);
  });
  field.addEventListener("change", () => (field.value = state().text));
  const texts = selectRow({ label: "or take", options: [[OWN, "your own"], ...TEXTS.map(([text, name]) => /** @type {[string, string]} */ ([text, name]))], onchange: (text) => text !== OWN && choose(text) });
  const row = rangeRow({ label: "Place that asks", min: 0, max: LONGEST - 1, step: 1, oninput: (x) => past.change({ row: x }, "row") });
  const head = choiceRow({ label: "Follow head", options: [["0", "2.1"], ["1", "2.2"]], onchange: (value) => past.change({ head: Number(value) }) });
  const step = choiceRow({
    label: "Step",
    options: [["1", "1 note"], ["2", "2 key"], ["3", "3 weight"], ["4", "4 letter"]],
    onchange: (value) => assign(model, { step: Number(value) }),
  });
  const paths = PATHS.map((path) =>
    checkboxRow({
      label: path,
      onchange: (open) => past.change({ closed: PATHS.filter((other) => (other === path ? !open : state().closed.includes(other))) }),
    }),
  );
  const group = (/** @type {string} */ name, /** @type {typeof paths} */ boxes) => h("fieldset", { class: "qkv-trace-paths" }, h("legend", {}, name), ...boxes.map((box) => box.el));
  const buttons = undoButtons(past);
  const waiting = h("p", { class: "qkv-trace-wait", hidden: true });

  const ui = h(
    "div",
    { class: "qkv-ui qkv-trace", onkeydown: undoKey(past, { fields: false }) },
    h("div", { class: "qkv-trace-line" }, h("div", { class: "qkv-row qkv-trace-field" }, h("label", { for: field.id }, "Text"), field), texts.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    h("div", { class: "qkv-trace-line" }, group("Heads at work", paths.slice(0, 4)), group("Layer 2 reads layer 1 for", paths.slice(4))),
    h("div", { class: "qkv-trace-line" }, row.el, head.el, step.el),
    waiting,
    view.said,
    view.body,
    live.el,
  );

  function load() {
    if (weights) return;
    late(model, { want: "two-layers-weights", field: "twoLayers" }).then(
      (text) => {
        weights ??= readWeights(text);
        if (alive) update();
      },
      () => {
        failed = true;
        if (alive) update();
      },
    );
  }

  /** @param {ReturnType<typeof state>} now @returns {import("../math/induction-trace.mjs").Trace | undefined} */
  function look(now) {
    const own = JSON.stringify([now.text, now.row, now.head, [...now.closed].sort()]);
    if (own === JSON.stringify(first.of)) return first.made;
    return weights ? trace(weights, now) : undefined;
  }

  function update() {
    const now = state();
    if (tidy(field.value) !== now.text) field.value = now.text;
    texts.set(TEXTS.some(([text]) => text === now.text) ? now.text : OWN);
    const last = now.text.length - 1;
    set(row.input, { max: last });
    row.set(now.row < 0 ? last : Math.min(now.row, last));
    head.set(String(now.head));
    step.set(String(now.step));
    PATHS.forEach((path, i) => paths[i].set(!now.closed.includes(path)));
    buttons.update();
    const made = look(now);
    waiting.hidden = Boolean(made);
    view.said.hidden = !made;
    if (!made) {
      write(waiting, failed ? "The weights could not be loaded; the first picture still works." : "Loading the weights, 27 kB …");
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
