// TranslatorExplorer: a trained translator at work, its three attention sites open (chapter 16).
// Traits: text (a number or a date), language ("de" | "fr"), site ("encoder" | "decoder" | "cross"), head ([layer, head]),
// at ([query, key]), first (the rows of the first picture; the model itself is loaded on the reader's first action).

import { readWeights, translate } from "../math/transformer.mjs";
import { idsOf, isKnown, LARGEST, translation, VOCABULARY } from "../math/translations.mjs";
import { assign, bind, history, matrix, vector } from "../ui/bind.mjs";
import { choiceRow, numberRow, selectRow } from "../ui/controls.mjs";
import { h, uid, write } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { late } from "../ui/late.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { explorerView, sentence, verdict } from "../ui/translator-explorer.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["text", "language", "site", "head", "at"];
const ENDS = { start: 1, stop: 2, longest: 16 };
const OWN = "";
const TEXTS = [
  ["85026", "85,026: never trained"],
  ["81028", "81,028: try it in French"],
  ["260867", "260,867: too long"],
  ["1957-12-25", "a date"],
  ["2020-12-20", "20 December 2020: which 20?"],
];

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
  /** @type {ReturnType<typeof translate> | undefined} */
  let made;

  const state = () => ({
    text: String(model.get("text")),
    language: /** @type {"de" | "fr"} */ (model.get("language")),
    site: /** @type {"encoder" | "decoder" | "cross"} */ (model.get("site")),
    head: vector(model.get("head")),
    at: vector(model.get("at")),
  });

  const view = explorerView({ onchoose: (at) => String(at) !== String(model.get("at")) && assign(model, { at }) });
  const choose = (/** @type {string} */ text) => past.change({ text, at: [0, 1] }, "text");
  const field = numberRow({ label: "Number", value: 85026, min: 0, max: LARGEST, step: 1, oninput: (x) => Number.isInteger(x) && choose(String(x)) });
  const date = h("input", { type: "date", id: uid(), min: "1900-01-01", max: "2099-12-31" });
  date.addEventListener("input", () => isKnown(date.value) && date.value !== model.get("text") && choose(date.value));
  const texts = selectRow({ label: "or take", options: [[OWN, "your own"], ...TEXTS.map(([text, what]) => /** @type {[string, string]} */ ([text, what]))], onchange: (text) => text !== OWN && choose(text) });
  const language = choiceRow({ label: "Into", options: [["de", "German"], ["fr", "French"]], onchange: (value) => past.change({ language: value }) });
  const site = choiceRow({
    label: "Attention",
    options: [["encoder", "encoder"], ["decoder", "decoder, masked"], ["cross", "cross"]],
    onchange: (value) => past.change({ site: value }),
  });
  const layer = choiceRow({ label: "Layer", options: [["0", "1"], ["1", "2"]], onchange: (value) => past.change({ head: [Number(value), state().head[1]] }) });
  const head = choiceRow({ label: "Head", options: ["0", "1", "2", "3"].map((i) => [i, String(Number(i) + 1)]), onchange: (value) => past.change({ head: [state().head[0], Number(value)] }) });
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-translate", onkeydown: undoKey(past) },
    h("div", { class: "qkv-translate-bar" }, field.el, h("div", { class: "qkv-row" }, h("label", { for: date.id }, "or date"), date), texts.el, language.el),
    view.lines,
    h("div", { class: "qkv-translate-bar" }, site.el, layer.el, head.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    view.body,
    live.el,
  );

  function load() {
    late(model, { want: "translator-weights", field: "translatorWeights" }).then(
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

  /** @param {ReturnType<typeof state>} now @returns {import("../ui/translator-explorer.mjs").Look | undefined} */
  function look(now) {
    const gold = translation(now.text, now.language);
    const base = { site: now.site, layer: now.head[0], head: now.head[1], source: gold.source, gold };
    const [own, given] = [now, first].map((s) => JSON.stringify([s.text, s.language, s.site, s.head]));
    if (!weights && own === given) {
      const [q, k] = [matrix(first.q), matrix(first.k)];
      const scores = q.map((x, t) => k.map((y, s) => (now.site === "decoder" && s > t ? -Infinity : x.reduce((a, v, c) => a + v * y[c], 0) / Math.sqrt(x.length))));
      const rows = scores.map((row) => row.map((s) => Math.exp(s - Math.max(...row)))).map((row) => row.map((e) => e / row.reduce((a, b) => a + b)));
      return { ...base, written: first.written, q, k, scores, weights: rows };
    }
    if (!weights) return undefined;
    const key = `${now.text} ${now.language}`;
    if (!made || ran !== key) made = translate(weights, idsOf(gold.source), ENDS);
    ran = key;
    const { q, k, scores, weights: w } = made[now.site][now.head[0]].heads[now.head[1]];
    return { ...base, written: made.written.map((id) => VOCABULARY[id]), q: matrix(q), k: matrix(k), scores: matrix(scores), weights: matrix(w) };
  }

  const waiting = h("p", { class: "qkv-translate-wait", hidden: true });
  ui.insertBefore(waiting, ui.children[1]);
  function update() {
    const now = state();
    const isDate = now.text.includes("-");
    if (!isDate && Number(now.text) !== field.input.valueAsNumber) field.set(Number(now.text));
    if (isDate) field.input.value = "";
    if (date.value !== (isDate ? now.text : "")) date.value = isDate ? now.text : "";
    texts.set(TEXTS.some(([text]) => text === now.text) ? now.text : OWN);
    language.set(now.language);
    site.set(now.site);
    layer.set(String(now.head[0]));
    head.set(String(now.head[1]));
    buttons.update();
    const found = look(now);
    waiting.hidden = Boolean(found);
    if (!found) {
      write(waiting, failed ? "The weights could not be loaded; the first picture still works." : "Loading the translator, 538 kB …");
      ui.setAttribute("aria-busy", failed ? "false" : "true");
      if (!failed) load();
      return;
    }
    ui.removeAttribute("aria-busy");
    const at = view.within(found, now.at);
    view.update(found, at);
    if (ui.isConnected) live.say(`${found.written.slice(1, -1).join(" ")}. ${verdict(found)} ${sentence(found, at)}`);
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
