// RealHeads: the 72 heads of a trained model on a few sentences (chapter 21).
// Traits: sentence (its number), head ([layer, head]), at ([query, key]), measure (what the map of heads shows),
// first (the first picture's bytes; all others are loaded on the reader's first action).

import { look, reader } from "../math/real-heads.mjs";
import { assign, bind, history, vector } from "../ui/bind.mjs";
import { selectRow } from "../ui/controls.mjs";
import { h, write } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { late } from "../ui/late.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { MEASURES, realHeadsView, role, sentence } from "../ui/real-heads.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["sentence", "head", "at", "measure"];

/** @param {{ model: import("../ui/late.mjs").Sender, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const first = model.get("first");
  /** @type {ReturnType<typeof reader> | undefined} */
  let heads;
  /** @type {string[][] | undefined} */
  let tokens;
  let alive = true;
  let failed = false;

  const state = () => ({
    sentence: Number(model.get("sentence")),
    head: vector(model.get("head")),
    at: vector(model.get("at")),
    measure: /** @type {import("../math/real-heads.mjs").Measure} */ (model.get("measure")),
  });
  /** @param {string} name @param {readonly number[]} value */
  const choose = (name, value) => String(value) !== String(model.get(name)) && past.change({ [name]: value }, name);

  const view = realHeadsView({ onhead: (head) => choose("head", head), onat: (at) => String(at) !== String(model.get("at")) && assign(model, { at }) });
  const pick = selectRow({
    label: "Sentence",
    options: first.texts.map((/** @type {string} */ text, /** @type {number} */ i) => [String(i), text]),
    onchange: (value) => past.change({ sentence: Number(value) }),
  });
  const measure = selectRow({ label: "Map shows the weight on", options: MEASURES, onchange: (value) => past.change({ measure: value }) });
  const buttons = undoButtons(past);
  const waiting = h("p", { class: "qkv-real-wait" });
  const ui = h(
    "div",
    { class: "qkv-ui qkv-real", onkeydown: undoKey(past) },
    h("div", { class: "qkv-real-bar" }, pick.el, measure.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    view.map,
    waiting,
    view.body,
    live.el,
  );

  function load() {
    late(model, { want: "real-heads-data", field: "realHeads" }).then(
      (/** @type {import("../math/real-heads.mjs").Data} */ data) => {
        heads ??= reader(data.sentences);
        tokens ??= data.sentences.map((s) => s.tokens);
        if (alive) update();
      },
      () => {
        failed = true;
        if (alive) update();
      },
    );
  }

  /** @param {ReturnType<typeof state>} now */
  function found(now) {
    if (heads && tokens) return { tokens: tokens[now.sentence], head: heads(now.sentence, now.head[0], now.head[1]) };
    if (now.sentence !== first.sentence || String(now.head) !== String(first.head)) return undefined;
    return { tokens: first.tokens, head: { q: first.q, k: first.k, lengths: first.lengths } };
  }

  function update() {
    const now = state();
    pick.set(String(now.sentence));
    measure.set(now.measure);
    buttons.update();
    view.heads(first.looks, now.measure, now.head);
    const got = found(now);
    if (!got) {
      write(waiting, failed ? "The heads could not be loaded; the first picture still works." : "Loading the heads, 580 kB …");
      ui.setAttribute("aria-busy", failed ? "false" : "true");
      if (!failed) load();
      return;
    }
    write(waiting, `Layer ${now.head[0]}, head ${now.head[1]} on “${first.texts[now.sentence]}”`);
    ui.removeAttribute("aria-busy");
    const n = got.tokens.length;
    const at = now.at.map((x) => Math.min(Math.max(x, 0), n - 1));
    const made = look(got.head);
    view.update(got.tokens, got.head, made, at);
    if (ui.isConnected) live.say(`${sentence(got.tokens, made, at)} ${role(first.looks, now.head)}`);
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
