// ParameterMap: what a Transformer learns as fields on a map, while its sizes change (chapter 15).
// Traits: sizes (d_model, d_ff, n_heads, d_k, d_v), layers (encoder, decoder), rows (of a table), tables (1: one for all uses),
// biases (in the attention), at (the part in focus).

import { count } from "../math/parameter-map.mjs";
import { assign, bind, history, vector } from "../ui/bind.mjs";
import { button, checkboxRow, numberRow, selectRow } from "../ui/controls.mjs";
import { h, set } from "../ui/dom.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { aboutPart, mapView } from "../ui/parameter-map.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["sizes", "layers", "rows", "tables", "biases"];
const SIZES = /** @type {const} */ ([["d_model", 16384, 64], ["d_ff", 65536, 256], ["heads", 128, 1], ["d_k", 1024, 8], ["d_v", 1024, 8]]);
const SIDES = ["encoder layers", "decoder layers"];

/** @type {[name: string, values: Record<string, any>][]} */
const PRESETS = [
  ["base", { sizes: [512, 2048, 8, 64, 64], layers: [6, 6], rows: 37000, tables: 1, biases: false }],
  ["big", { sizes: [1024, 4096, 16, 64, 64], layers: [6, 6], rows: 37000, tables: 1, biases: false }],
  ["like BERT base", { sizes: [768, 3072, 12, 64, 64], layers: [12, 0], rows: 30522, tables: 1, biases: true }],
  ["ours", { sizes: [8, 16, 3, 4, 2], layers: [2, 3], rows: 13, tables: 1, biases: false }],
];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const live = liveRegion();

  const now = () => ({
    sizes: vector(model.get("sizes")),
    layers: vector(model.get("layers")),
    rows: Number(model.get("rows")),
    tables: Number(model.get("tables")),
    biases: Boolean(model.get("biases")),
  });
  /** @param {"sizes" | "layers"} trait @param {number} i @param {number} value */
  const put = (trait, i, value) => {
    const values = now()[trait];
    values[i] = Math.round(value);
    past.change({ [trait]: values }, `${trait} ${i}`);
  };

  const view = mapView({ onselect: (id) => assign(model, { at: id }) });
  const sizes = SIZES.map(([label, max, step], i) =>
    numberRow({ label, min: 1, max, step, oninput: (value) => put("sizes", i, value) }),
  );
  const layers = SIDES.map((label, i) =>
    numberRow({ label, min: 0, max: 128, step: 1, oninput: (value) => put("layers", i, value) }),
  );
  const rows = numberRow({ label: "table rows", min: 1, max: 1e6, step: 1000, oninput: (value) => past.change({ rows: Math.round(value) }, "rows") });
  const tables = selectRow({
    label: "Tables",
    options: [
      ["1", "one, used three times"],
      ["2", "source; target and read-out"],
      ["3", "three"],
    ],
    onchange: (value) => past.change({ tables: Number(value) }),
  });
  const biases = checkboxRow({ label: "biases in the attention", onchange: (value) => past.change({ biases: value }) });
  const presets = PRESETS.map(([name, values]) => button(name, () => past.change(structuredClone(values))));
  const buttons = undoButtons(past);

  const ui = h(
    "div",
    { class: "qkv-ui qkv-map", onkeydown: undoKey(past) },
    h(
      "div",
      { class: "qkv-map-bar" },
      h("div", { class: "qkv-map-presets", role: "group", "aria-label": "Models" }, ...presets),
      h("div", { class: "qkv-buttons" }, ...buttons.all),
    ),
    h("div", { class: "qkv-map-sizes" }, ...[...sizes, ...layers, rows, tables, biases].map((row) => row.el)),
    view.picture,
    h("div", { class: "qkv-map-body" }, view.table, h("div", { class: "qkv-map-words" }, view.part, view.total)),
    live.el,
  );

  let last = "";
  function update() {
    const state = now();
    const made = count(state);
    const at = String(model.get("at"));
    view.update(made, at, state.tables);
    sizes.forEach((row, i) => row.set(state.sizes[i]));
    layers.forEach((row, i) => row.set(state.layers[i]));
    rows.set(state.rows);
    tables.set(String(state.tables));
    biases.set(state.biases);
    presets.forEach((one, i) => {
      const same = JSON.stringify(state) === JSON.stringify(PRESETS[i][1]);
      set(one, { "aria-pressed": String(same) });
    });
    buttons.update();
    const said = JSON.stringify(state);
    // A field says itself when it gets the focus; a change of sizes has to be told.
    if (ui.isConnected && said !== last) {
      const part = made.parts.find((one) => one.id === at && one.count > 0);
      live.say(`${view.total.textContent} ${part ? aboutPart(part, made.total) : ""}`);
    }
    last = said;
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, [...TRAITS, "at"], update, () => {
    live.destroy();
    view.destroy();
    ui.remove();
  });
}

export default { render };
