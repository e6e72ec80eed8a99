// MaskLab: paint a mask, and see the weights, what leaks from later tokens, and rows that may look at nothing (chapter 9).
// Traits: tokens (a token "pad" is a pad), scores (n, n), mask (1 = may look), rule (what happens to a hidden key),
// join (a preset is joined with what stands there by "and").

import { joined, lab, preset, sameMask } from "../math/mask-lab.mjs";
import { bind, history, matrix } from "../ui/bind.mjs";
import { button, checkboxRow, selectRow } from "../ui/controls.mjs";
import { h, set } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { cellText, maskView, sentences } from "../ui/mask-lab.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["scores", "mask", "rule", "join"];
const PRESETS = /** @type {const} */ (["none", "causal", "padding", "window"]);

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  /** @type {string[]} */
  const tokens = model.get("tokens");
  const live = liveRegion();
  /** @type {[number, number] | null} */
  let last = null;

  const maskNow = () => matrix(model.get("mask")).map((row) => row.map((x) => x > 0.5));
  /** @param {readonly (readonly boolean[])[]} mask @param {string} [gesture] */
  const setMask = (mask, gesture) => past.change({ mask: mask.map((row) => row.map(Number)) }, gesture);

  const view = maskView({
    tokens,
    isOpen: (row, col) => maskNow()[row][col],
    onpaint(cells, open, gesture) {
      const mask = maskNow();
      for (const [row, col] of cells) mask[row][col] = open;
      last = cells[0];
      setMask(mask, gesture);
    },
    onfocus(row, col) {
      last = col < tokens.length ? [row, col] : null;
    },
  });
  const presets = PRESETS.map((name) =>
    button(name, () => {
      last = null;
      const chosen = preset(name, tokens);
      setMask(model.get("join") ? joined(maskNow(), chosen) : chosen);
    }),
  );
  const join = checkboxRow({ label: "join with &", onchange: (value) => past.change({ join: value }) });
  const rule = selectRow({
    label: "A hidden key gets",
    options: [
      ["-inf", "−∞ before the softmax"],
      ["-1e9", "−1e9 before the softmax"],
      ["0", "0 before the softmax"],
      ["after", "0 after the softmax"],
      ["again", "0 after, rows divided again"],
    ],
    onchange(value) {
      last = null;
      past.change({ rule: value });
    },
  });
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-mask", onkeydown: undoKey(past) },
    h(
      "div",
      { class: "qkv-mask-bar" },
      h("div", { class: "qkv-mask-presets", role: "group", "aria-label": "Masks" }, ...presets, join.el),
      h("div", { class: "qkv-buttons" }, ...buttons.all),
    ),
    rule.el,
    h("div", { class: "qkv-mask-body" }, view.table.el, view.words),
    live.el,
  );

  function update() {
    const mask = maskNow();
    const now = /** @type {import("../math/mask-lab.mjs").Rule} */ (model.get("rule"));
    const made = lab({ tokens, scores: matrix(model.get("scores")), mask, rule: now });
    view.update({ mask, rule: now, made });
    presets.forEach((preview, i) => set(preview, { "aria-pressed": String(sameMask(mask, preset(PRESETS[i], tokens))) }));
    join.set(Boolean(model.get("join")));
    rule.set(now);
    buttons.update();
    if (!ui.isConnected) return;
    const [i, j] = last ?? [-1, -1];
    const cell = last ? `query '${tokens[i]}' ${mask[i][j] ? "may" : "may not"} look at key '${tokens[j]}', weight ${cellText(made.weights[i][j]) || "0"}. ` : "";
    live.say(cell + sentences(tokens, made, now).join(" "));
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, TRAITS, update, () => {
    live.destroy();
    view.destroy();
    ui.remove();
  });
}

export default { render };
