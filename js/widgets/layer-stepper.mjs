// LayerStepper: one token's row, place by place, through a post-norm or a pre-norm layer (chapter 14).
// Traits: layer (names and arrays), token, place (on its way), order ("post", "pre"), residual (whether parts are added).

import { path, samePlace } from "../math/layer-stepper.mjs";
import { bind, history, matrix, vector } from "../ui/bind.mjs";
import { button, checkboxRow, choiceRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { composition, partNames, sentence, stepperView } from "../ui/layer-stepper.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

/** @typedef {import("../math/layer-stepper.mjs").Order} Order */

const TRAITS = ["token", "place", "order", "residual"];
const ORDERS = /** @type {const} */ ([["post", "post-norm"], ["pre", "pre-norm"]]);

/** @param {Record<string, any>} raw @returns {import("../math/layer-stepper.mjs").Layer} */
function plain(raw) {
  const { tokens, columns, units, words } = raw;
  const heads = (/** @type {any} */ stack) => Array.from(stack, matrix);
  return {
    tokens,
    columns,
    units,
    words,
    X: matrix(raw.X),
    W_Q: heads(raw.W_Q),
    W_K: heads(raw.W_K),
    W_V: heads(raw.W_V),
    W_O: matrix(raw.W_O),
    W_1: matrix(raw.W_1),
    b_1: vector(raw.b_1),
    W_2: matrix(raw.W_2),
    E: matrix(raw.E),
  };
}

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const layer = plain(model.get("layer"));
  const live = liveRegion();
  let byLine = false;

  /** @param {Order} [order] */
  const made = (order = model.get("order")) =>
    path({ layer, token: Number(model.get("token")), order, residual: Boolean(model.get("residual")) });
  const last = () => made().places.length - 1;
  const at = () => Math.min(Number(model.get("place")), last());
  /** @param {number} place */
  const go = (place) => past.change({ place: Math.min(last(), Math.max(0, place)) }, "walk");

  const row = layer.X[Number(model.get("token"))];
  const view = stepperView({
    layer,
    first: row.indexOf(Math.max(...row)), // a column that the word itself has
    onplace: go,
    online() {
      byLine = true;
      update();
    },
  });
  const token = choiceRow({
    label: "Token",
    options: layer.tokens.map((name, i) => [String(i), name]),
    onchange: (value) => past.change({ token: Number(value) }),
  });
  const order = choiceRow({
    label: "Order",
    options: ORDERS,
    onchange(value) {
      const now = /** @type {Order} */ (value);
      past.change({ order: now, place: samePlace(made().places, at(), made(now).places) });
    },
  });
  const residual = checkboxRow({ label: "residual sums", onchange: (value) => past.change({ residual: value }) });
  const back = button("Back", () => go(at() - 1));
  const forth = button("Step", () => go(at() + 1));
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-step", onkeydown: undoKey(past) },
    h("div", { class: "qkv-step-bar-top" }, token.el, order.el, residual.el),
    h(
      "div",
      { class: "qkv-step-body" },
      view.ladder,
      h(
        "div",
        {},
        h("div", { class: "qkv-step-go" }, h("div", { class: "qkv-step-pair" }, back, forth), h("div", { class: "qkv-step-pair" }, ...buttons.all)),
        view.panel,
      ),
    ),
    live.el,
  );

  function update() {
    const now = made();
    const [t, place, sums] = [Number(model.get("token")), at(), Boolean(model.get("residual"))];
    view.update({ path: now, token: t, at: place, residual: sums });
    token.set(String(t));
    order.set(model.get("order"));
    residual.set(sums);
    back.disabled = place === 0;
    forth.disabled = place === now.places.length - 1;
    buttons.update();
    if (!ui.isConnected) return;
    const here = now.places[place];
    const names = partNames(layer.W_Q.length, layer.tokens[t]);
    const text = byLine && here.parts.length
      ? `${layer.columns[view.line]}: ${composition(here, view.line, names)}.`
      : `${layer.tokens[t]}, ${here.name}. ${sentence(layer, t, now, place, sums)}`;
    if (!byLine || here.parts.length) live.say(text);
    byLine = false;
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
