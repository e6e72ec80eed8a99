// Labelled native inputs. Every row has a label, and a `set` that never calls back.

import { h, uid } from "./dom.mjs";

/**
 * @template T, E
 * @typedef {{ el: HTMLElement, input: E, set: (value: T) => void }} Row
 */

/**
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} kind
 * @param {Node[]} [after]
 * @param {boolean} [hidden] the label is for screen readers only, since the eye has a heading
 */
function row(label, input, kind, after = [], hidden = false) {
  input.id = uid();
  const name = h("label", { for: input.id, class: hidden && "qkv-sr" }, label);
  return h("div", { class: `qkv-row qkv-row-${kind}` }, name, input, ...after);
}

/**
 * @typedef {object} NumberOptions
 * @property {string} label
 * @property {boolean} [hideLabel] keep the label for screen readers only
 * @property {number} [value]
 * @property {number} [min]
 * @property {number} [max]
 * @property {number | (() => number)} [step] one press of an arrow key; Shift makes five
 * @property {(value: number) => void} oninput
 */

/**
 * A number field. Half-typed or empty text is left alone and reported to nobody.
 * @param {NumberOptions} options
 * @returns {Row<number, HTMLInputElement>}
 */
export function numberRow({ label, hideLabel, value = 0, min, max, step = 0.1, oninput }) {
  const input = h("input", { type: "number", min, max, step: "any", inputmode: "decimal", value: String(value) });
  input.addEventListener("input", () => {
    const x = input.valueAsNumber;
    if (Number.isFinite(x)) oninput(clamp(x, min, max));
  });
  // step="any" accepts every number; the arrows still move by a useful amount.
  input.addEventListener("keydown", (event) => {
    const sign = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    const x = input.valueAsNumber;
    if (!sign || !Number.isFinite(x)) return;
    event.preventDefault();
    const one = typeof step === "number" ? step : step();
    const next = clamp(snap(x + sign * one * (event.shiftKey ? 5 : 1), one), min, max);
    input.value = String(next);
    oninput(next);
  });
  return {
    el: row(label, input, "number", [], hideLabel),
    input,
    set(x) {
      // A field that already says x (to the four decimals shown) is left as it is: the reader may be typing "1.".
      if (plain(input.valueAsNumber) !== plain(x)) input.value = plain(x);
    },
  };
}

/**
 * A slider with its value beside it.
 * @param {{ label: string, value?: number, min: number, max: number, step?: number, format?: (x: number) => string, oninput: (value: number) => void }} options
 * @returns {Row<number, HTMLInputElement>}
 */
export function rangeRow({ label, value = 0, min, max, step = 0.1, format = String, oninput }) {
  const input = h("input", { type: "range", min, max, step, value: String(value) });
  const output = h("output", {}, format(value));
  input.addEventListener("input", () => {
    output.textContent = format(input.valueAsNumber);
    oninput(input.valueAsNumber);
  });
  const el = row(label, input, "range", [output]);
  output.htmlFor.add(input.id);
  return {
    el,
    input,
    set(x) {
      if (input.valueAsNumber !== x) input.value = String(x);
      output.textContent = format(x);
    },
  };
}

/**
 * A drop-down list.
 * @param {{ label: string, options: readonly (readonly [value: string, text: string])[], value?: string, onchange: (value: string) => void }} options
 * @returns {Row<string, HTMLSelectElement>}
 */
export function selectRow({ label, options, value, onchange }) {
  const input = h("select", {}, ...options.map(([v, text]) => h("option", { value: v }, text)));
  if (value !== undefined) input.value = value;
  input.addEventListener("change", () => onchange(input.value));
  return {
    el: row(label, input, "select"),
    input,
    set(v) {
      if (input.value !== v) input.value = v;
    },
  };
}

/**
 * A tick box.
 * @param {{ label: string, value?: boolean, onchange: (value: boolean) => void }} options
 * @returns {Row<boolean, HTMLInputElement>}
 */
export function checkboxRow({ label, value = false, onchange }) {
  const input = h("input", { type: "checkbox", checked: value });
  input.addEventListener("change", () => onchange(input.checked));
  return {
    el: row(label, input, "checkbox"),
    input,
    set(v) {
      input.checked = v;
    },
  };
}

/**
 * A few exclusive choices as native radio buttons drawn as one strip.
 * @param {{ label: string, options: readonly (readonly [value: string, text: string])[], value?: string, onchange: (value: string) => void }} options
 * @returns {Row<string, HTMLInputElement[]>}
 */
export function choiceRow({ label, options, value, onchange }) {
  const name = uid();
  const inputs = options.map(([v]) => h("input", { type: "radio", name, value: v, checked: v === value }));
  for (const input of inputs) input.addEventListener("change", () => input.checked && onchange(input.value));
  const el = h(
    "fieldset",
    { class: "qkv-row qkv-row-choice" },
    h("legend", {}, label),
    h("div", { class: "qkv-strip" }, ...inputs.map((input, i) => h("label", {}, input, h("span", {}, options[i][1])))),
  );
  return {
    el,
    input: inputs,
    set(v) {
      for (const input of inputs) input.checked = input.value === v;
    },
  };
}

/**
 * @param {string} label
 * @param {() => void} onclick
 * @param {Record<string, any>} [props]
 */
export function button(label, onclick, props = {}) {
  return h("button", { type: "button", class: "qkv-button", onclick, ...props }, label);
}

/**
 * @param {number} x
 * @param {number} [min]
 * @param {number} [max]
 */
export function clamp(x, min = -Infinity, max = Infinity) {
  return Math.min(max, Math.max(min, x));
}

/**
 * Round to a multiple of `step` without a tail such as 0.30000000000000004.
 * @param {number} x
 * @param {number} step
 */
export function snap(x, step) {
  return Number((Math.round(x / step) * step).toFixed(10));
}

/** @param {number} x */
function plain(x) {
  return String(Number(x.toFixed(4)));
}
