// TileStepper: one query reads its keys tile by tile, with three things in hand (chapter 20).
// Traits: scores (of eight keys), tile (keys read at once), read (tiles read so far), causal, query.

import { N, tileSteps } from "../math/tile-stepper.mjs";
import { bind, history, vector } from "../ui/bind.mjs";
import { button, checkboxRow, rangeRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { sentence, tileView, verdict } from "../ui/tile-stepper.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["scores", "tile", "read", "causal", "query"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();
  const state = () => ({
    scores: vector(model.get("scores")),
    tile: Number(model.get("tile")),
    read: Number(model.get("read")),
    causal: Boolean(model.get("causal")),
    query: Number(model.get("query")),
  });

  const view = tileView({
    onscore: (key, value) => past.change({ scores: state().scores.map((s, j) => (j === key ? value : s)) }, `score ${key}`),
  });
  const tile = rangeRow({ label: "Keys in a tile", min: 1, max: N, step: 1, oninput: (x) => past.change({ tile: x }, "tile") });
  const query = rangeRow({ label: "Query", min: 0, max: N - 1, step: 1, oninput: (x) => past.change({ query: x }, "query") });
  const causal = checkboxRow({ label: "causal mask", onchange: (value) => past.change({ causal: value }) });
  /** @param {number} by */
  const move = (by) => {
    const to = tileSteps(state()).read + by;
    if (to >= 0 && to <= tileSteps(state()).tiles) past.change({ read: to });
  };
  const back = button("Back", () => move(-1));
  const next = button("Next tile", () => move(1));
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-tile", onkeydown: undoKey(past) },
    h("div", { class: "qkv-tile-bar" }, tile.el, query.el, causal.el),
    h("div", { class: "qkv-tile-bar" }, h("div", { class: "qkv-buttons" }, back, next), h("div", { class: "qkv-buttons" }, ...buttons.all)),
    view.row,
    view.said,
    view.body,
    live.el,
  );

  function update() {
    const now = state();
    const made = tileSteps(now);
    view.update(now, made);
    tile.set(now.tile);
    query.set(now.query);
    causal.set(now.causal);
    // Not `disabled`: the focus would fall off the button at the last tile.
    back.setAttribute("aria-disabled", String(made.read === 0));
    next.setAttribute("aria-disabled", String(made.read === made.tiles));
    buttons.update();
    if (ui.isConnected) live.say(`${sentence(now, made)} o / l is ${verdict(made)}.`);
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
