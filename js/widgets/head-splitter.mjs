// HeadSplitter: one layer with h heads, done rightly and in four wrong ways (chapter 10).
// Traits: tokens, x (n, d), w (d, 4 d: W_Q, W_K, W_V, W_O side by side), n_heads, way, token.

import { broken, layer } from "../math/head-splitter.mjs";
import { bind, history, matrix } from "../ui/bind.mjs";
import { rangeRow, selectRow } from "../ui/controls.mjs";
import { h } from "../ui/dom.mjs";
import { headView, sentences } from "../ui/head-splitter.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

/** @typedef {import("../math/head-splitter.mjs").Way} Way */

const TRAITS = ["n_heads", "way", "token"];
const NAMES = ["who", "thing", "action", "small", "stop", "living", "edible", "past"];
const WAYS = /** @type {const} */ ([
  ["right", "right: project, then split"],
  ["slices", "wrong: split, then project"],
  ["reshape", "wrong: reshape without turning"],
  ["join", "wrong: join without turning back"],
  ["no W_O", "without W_O"],
]);

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  /** @type {string[]} */
  const tokens = model.get("tokens");
  const x = matrix(model.get("x"));
  const w = matrix(model.get("w"));
  const width = w.length;
  const names = width === NAMES.length ? NAMES : w.map((_, c) => String(c));
  const live = liveRegion();

  const heads = rangeRow({ label: "heads h", min: 0, max: 2, step: 1, format: (i) => String(2 ** i), oninput: (i) => past.change({ n_heads: 2 ** i }, "heads") });
  const way = selectRow({ label: "Way", options: WAYS, onchange: (value) => past.change({ way: value }) });
  const token = selectRow({ label: "Token", options: tokens.map((name, t) => [String(t), name]), onchange: (value) => past.change({ token: Number(value) }) });
  const buttons = undoButtons(past);
  const place = h("div");

  const ui = h(
    "div",
    { class: "qkv-ui", onkeydown: undoKey(past) },
    h(
      "div",
      { class: "qkv-heads" },
      h("div", { class: "qkv-heads-bar" }, heads.el, token.el, way.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
      place,
      live.el,
    ),
  );
  let drawn = 0;
  /** @type {ReturnType<typeof headView> | undefined} */
  let view;

  function update() {
    const [count, t] = [Number(model.get("n_heads")), Number(model.get("token"))];
    const now = /** @type {Way} */ (model.get("way"));
    if (!view || drawn !== count) {
      view = headView({ tokens, names, heads: count });
      place.replaceChildren(view.el);
      drawn = count;
    }
    const state = { x, w, h: count, way: now };
    const breaks = broken(state);
    const made = layer(state);
    view.update({ x: x[t], t, made, now: breaks, way: now });
    heads.set(Math.log2(count));
    heads.input.setAttribute("aria-valuetext", String(count));
    token.set(String(t));
    way.set(now);
    buttons.update();
    if (!ui.isConnected) return;
    const looks = made.weights.map((rows, i) => {
      const best = Math.max(...rows[t]);
      return `head ${i + 1}: query '${tokens[t]}' looks most at key '${tokens[rows[t].indexOf(best)]}', weight ${best.toFixed(2)}.`;
    });
    live.say([...looks, ...sentences(breaks, count, width).map(([text]) => text)].join(" "));
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
