// TokensToRows: a text becomes tokens, ids, rows of a table, and X (chapter 1).
// Traits: text, mode ("wordpiece" or "whitespace"), special ([CLS] and [SEP] around it), at (the token in focus, -1 none),
// small (the list of words that the whitespace goes by), seed (the pieces of the first text). All 30,522 pieces are loaded
// when the reader first needs them.

import { listed, lookUp, unpacked } from "../math/tokens-to-rows.mjs";
import { assign, bind, history } from "../ui/bind.mjs";
import { button, checkboxRow, choiceRow, selectRow } from "../ui/controls.mjs";
import { h, uid, write } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { rowsView, sentence } from "../ui/tokens-to-rows.mjs";
import { wordPieces } from "../ui/word-pieces.mjs";

const TRAITS = ["text", "mode", "special", "at"];
const OWN = "";
const TEXTS = [
  ["The bank by the river bank", "a word twice"],
  ["river bank the by bank The", "another order"],
  ["she ate an apple .", "running example"],
  ["Kangaroos love embeddings!", "words in pieces"],
  ["we saw a ☃ and a 🦘", "unknown signs"],
];

/** @param {{ model: import("../ui/word-pieces.mjs").Sender, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const small = listed(model.get("small"));
  const seed = model.get("seed");
  const first = listed(seed);
  /** @type {import("../math/tokens-to-rows.mjs").Vocabulary | undefined} */
  let all;
  let alive = true;

  /** @param {Record<string, any>} values */
  const change = (values) => past.change(values, "edit");
  const view = rowsView({ onchoose: (at) => at !== model.get("at") && assign(model, { at }) });
  const field = h("input", { type: "text", id: uid(), maxlength: 200, autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  field.addEventListener("focus", () => model.get("mode") === "wordpiece" && load());
  field.addEventListener("input", () => change({ text: field.value, at: -1 }));
  const texts = selectRow({
    label: "or take",
    options: [[OWN, "your own text"], ...TEXTS.map(([text, what]) => /** @type {[string, string]} */ ([text, what]))],
    onchange: (text) => text !== OWN && change({ text, at: -1 }),
  });
  const mode = choiceRow({
    label: "Cut",
    options: [
      ["whitespace", "at spaces"],
      ["wordpiece", "in pieces"],
    ],
    onchange: (value) => change({ mode: value, at: -1 }),
  });
  const special = checkboxRow({ label: "add [CLS] and [SEP]", onchange: (value) => change({ special: value, at: -1 }) });
  const reset = button("Reset", () => past.reset());
  const said = h("p", { class: "qkv-rows-said" });

  const ui = h(
    "div",
    { class: "qkv-ui qkv-rows" },
    h("div", { class: "qkv-row qkv-rows-field" }, h("label", { for: field.id }, "Text"), field),
    h("div", { class: "qkv-rows-bar" }, texts.el, mode.el, special.el, reset),
    view.list,
    view.more,
    said,
    view.el,
    live.el,
  );

  function load() {
    if (all) return;
    wordPieces(model).then(
      (packed) => {
        all ??= unpacked(packed, seed.width);
        if (alive) update();
      },
      () => alive && write(said, "The list of pieces could not be loaded; cutting at spaces still works."),
    );
  }

  /** @type {string | undefined} */
  let drawn;
  function update() {
    const state = { text: model.get("text"), mode: model.get("mode"), special: Boolean(model.get("special")) };
    if (field.value !== state.text) field.value = state.text;
    texts.set(TEXTS.some(([text]) => text === state.text) ? state.text : OWN);
    mode.set(state.mode);
    special.set(state.special);
    special.input.disabled = state.mode === "whitespace";
    reset.disabled = past.isFirst;
    const words = state.mode === "whitespace" ? small : (all ?? (state.text === seed.text ? first : undefined));
    if (!words) {
      write(said, "Loading the 30,522 pieces …");
      ui.setAttribute("aria-busy", "true");
      return load();
    }
    ui.removeAttribute("aria-busy");
    const found = lookUp(state, words);
    const key = JSON.stringify(state);
    if (key !== drawn) view.draw({ words, found, mode: state.mode });
    drawn = key;
    const at = Number(model.get("at"));
    view.light(at, found);
    write(said, sentence(found, at));
    if (ui.isConnected) live.say(sentence(found, at));
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
