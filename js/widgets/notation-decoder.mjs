// NotationDecoder: one multi-head layer in four notations; any symbol lights up its twins (chapter 11).
// Traits: notation, use (cross, encoder, decoder), head, focus (a symbol), inputs, weights.

import { decode } from "../math/notation-decoder.mjs";
import { assign, bind, history } from "../ui/bind.mjs";
import { choiceRow, selectRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { decoderView } from "../ui/notation-decoder.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["notation", "use", "head", "focus", "inputs", "weights"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  // The symbol is a place where one looks, not a change: it follows the pointer and is not undone.
  const past = history(model, ["notation", "use", "head"]);
  const live = liveRegion();
  const view = decoderView({
    onfocus(id) {
      if (model.get("focus") !== id) assign(model, { focus: id });
    },
  });
  const notation = choiceRow({
    label: "Notation",
    options: [
      ["paper", "the paper"],
      ["plain", "this book"],
      ["code", "code"],
      ["columns", "tokens as columns"],
    ],
    onchange: (value) => past.change({ notation: value }),
  });
  const use = selectRow({
    label: "Use",
    options: [
      ["cross", "cross-attention"],
      ["encoder", "encoder self-attention"],
      ["decoder", "decoder self-attention, masked"],
    ],
    onchange: (value) => past.change({ use: value }),
  });
  const heads = model.get("weights").self.W_Q.length;
  const head = selectRow({
    label: "Head",
    options: Array.from({ length: heads }, (_, i) => /** @type {const} */ ([String(i), String(i + 1)])),
    onchange: (value) => past.change({ head: Number(value) }),
  });
  const buttons = undoButtons(past);
  const ui = h(
    "div",
    { class: "qkv-ui qkv-decoder", onkeydown: undoKey(past) },
    h("div", { class: "qkv-decoder-bar" }, notation.el, use.el, head.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    view.el,
    live.el,
  );

  function update() {
    const state = {
      notation: model.get("notation"),
      use: model.get("use"),
      head: Number(model.get("head")),
      focus: model.get("focus"),
      inputs: model.get("inputs"),
      weights: model.get("weights"),
    };
    const said = view.update({ ...state, arrays: decode(state) });
    notation.set(state.notation);
    use.set(state.use);
    head.set(String(state.head));
    buttons.update();
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
