// The stepper's drawing: a ladder of places with mean and length, one line a column with a bar made of parts, and a sentence.

import { mean, root, size } from "../math/layer-stepper.mjs";
import { h, set, uid, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {import("../math/layer-stepper.mjs").Layer} Layer */
/** @typedef {import("../math/layer-stepper.mjs").Place} Place */
/** @typedef {ReturnType<typeof import("../math/layer-stepper.mjs").path>} Path */

/** What the bars are made of. @param {number} nHeads @param {string} token */
export function partNames(nHeads, token) {
  return [`the word “${token}”`, ...Array.from({ length: nHeads }, (_, i) => `head ${i + 1}`), "feed-forward"];
}

/** @param {number} part @param {number} nHeads */
function pattern(part, nHeads) {
  return part === 0 ? "x" : part > nHeads ? "ff" : `h${((part - 1) % 3) + 1}`;
}

/** Words whose number is the largest, ties joined by "and". @param {readonly number[]} values @param {readonly string[]} names */
export function winners(values, names) {
  const top = Math.max(...values);
  return names.filter((_, i) => values[i] > top - 1e-9).map((name) => `“${name}”`).join(" and ");
}

/**
 * One sentence on what happened at a place.
 * @param {Layer} layer
 * @param {number} token
 * @param {Path} made
 * @param {number} at
 * @param {boolean} residual
 */
export function sentence(layer, token, made, at, residual) {
  const place = made.places[at];
  const before = made.places[at - 1];
  const long = number(size(place.row));
  switch (place.kind) {
    case "copy":
      return `A normalised copy, for the next part to read; the row itself stays as it was. Length ${long}.`;
    case "write": {
      const head = /^head (\d+)/.exec(place.name);
      if (!head) return `What the firing units write, added up: length ${long}.`;
      const weights = made.weights[Number(head[1]) - 1];
      return `Head ${head[1]} looks most at ${winners(weights, layer.tokens)}, weight ${number(Math.max(...weights))}, and writes a row of length ${long}.`;
    }
    case "hidden": {
      const fire = place.row.filter((x) => x > 0).length;
      return fire
        ? `${fire} of ${place.row.length} units fire; most of all ${winners(place.row, layer.units)}, ${number(Math.max(...place.row))}.`
        : `None of the ${place.row.length} units fires.`;
    }
    case "words": {
      const p = Math.max(...made.probabilities);
      return `The row's dot product with each word's row: ${winners(place.row, layer.words)}, ${number(Math.max(...place.row))}; after the softmax ${number(p)}.`;
    }
    default:
      if (at === 0) return `“${layer.tokens[token]}” comes in: its row of the table, length ${long}.`;
      if (!place.name.includes("sum")) {
        const [off, by] = [number(mean(before.row)), number(root(before.row))];
        return `Mean ${off} taken off, the rest divided by ${by}: mean 0, length ${long}.`;
      }
      return residual
        ? `Added to the row: length ${long}, mean ${number(mean(place.row))}.`
        : `Without the residual sum only what was written is left: length ${long}, mean ${number(mean(place.row))}.`;
  }
}

/** What one column is made of, as a sum. @param {Place} place @param {number} c @param {readonly string[]} names */
export function composition(place, c, names) {
  const terms = place.parts.flatMap((part, i) => (Math.abs(part[c]) >= 0.005 ? [`${number(part[c])} from ${names[i]}`] : []));
  return terms.length ? terms.join(", ") : "nothing";
}

/**
 * Where the parts of one column stand, in shares of the reach on each side of 0.
 * @param {readonly number[]} values one a part
 * @param {number} reach
 */
export function segments(values, reach) {
  let [left, right] = [0, 0];
  return values.map((x) => {
    const wide = Math.abs(x) / reach;
    const from = x < 0 ? -(left += wide) : right;
    if (x > 0) right += wide;
    return { from, wide };
  });
}

/** @param {{ layer: Layer, first: number, onplace: (at: number) => void, online: (at: number) => void }} options */
export function stepperView({ layer, first, onplace, online }) {
  const nHeads = layer.W_Q.length;
  const group = uid();
  const rungs = Array.from({ length: nHeads + 9 }, (_, at) => {
    const input = h("input", { type: "radio", name: group, value: String(at) });
    const [name, middle, long] = [h("b"), h("i"), h("i")];
    input.addEventListener("change", () => input.checked && onplace(at));
    return { input, name, middle, long, el: h("label", {}, input, h("span", {}, name, middle, long)) };
  });
  const ladder = h(
    "fieldset",
    { class: "qkv-step-ladder" },
    h("legend", { class: "qkv-sr" }, "Places on the way: mean and length of the row"),
    h("p", { class: "qkv-step-heads", "aria-hidden": "true" }, h("b", {}, "place"), h("i", {}, "mean"), h("i", {}, "length")),
    ...rungs.map(({ el }) => el),
  );
  const most = Math.max(layer.columns.length, layer.units.length, layer.words.length);
  const lines = Array.from({ length: most }, (_, i) => {
    const parts = Array.from({ length: nHeads + 2 }, (_, part) => h("span", { class: `qkv-part qkv-part-${pattern(part, nHeads)}` }));
    const [name, value] = [h("th", { scope: "row" }), h("td", { tabindex: -1 })];
    const bar = h("td", { class: "qkv-step-bar", "aria-hidden": "true" }, h("div", {}, ...parts));
    value.addEventListener("focus", () => rove(i));
    return { name, value, parts, el: h("tr", { onclick: () => value.focus() }, name, bar, value) };
  });
  const table = h("table", { role: "grid", "aria-readonly": "true" }, h("tbody", {}, ...lines.map(({ el }) => el)));
  const title = h("p", { class: "qkv-step-title" });
  const said = h("p", { class: "qkv-step-said" });
  const made = h("p", { class: "qkv-step-made" });
  const legend = h("p", { class: "qkv-step-legend" });
  let count = most;
  let stop = first;

  /** @param {number} at */
  function rove(at) {
    stop = at;
    lines.forEach(({ value, el }, i) => {
      value.tabIndex = i === stop ? 0 : -1;
      el.classList.toggle("qkv-step-here", i === stop);
    });
    online(at);
  }
  table.addEventListener("keydown", (event) => {
    const move = { ArrowUp: stop - 1, ArrowDown: stop + 1, Home: 0, End: count - 1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    lines[Math.min(count - 1, Math.max(0, move))].value.focus();
  });

  return {
    ladder,
    panel: h("div", { class: "qkv-step-panel" }, title, said, table, made, legend),
    get line() {
      return Math.min(stop, count - 1);
    },
    /** @param {{ path: Path, token: number, at: number, residual: boolean }} picture */
    update({ path, token, at, residual }) {
      const { places } = path;
      const place = places[at];
      rungs.forEach(({ el, input, name, middle, long }, i) => {
        set(el, { hidden: i >= places.length });
        if (i >= places.length) return;
        input.checked = i === at;
        el.className = `qkv-step-${places[i].kind}`;
        const flat = places[i].kind === "hidden" || places[i].kind === "words";
        write(name, places[i].name);
        write(middle, flat ? "" : number(mean(places[i].row), 1));
        write(long, flat ? "" : number(size(places[i].row), 1));
      });
      const names = place.kind === "hidden" ? layer.units : place.kind === "words" ? layer.words : layer.columns;
      count = names.length;
      const rows = place.parts.length ? places.filter(({ parts }) => parts.length) : [place];
      const side = (/** @type {Place} */ { row, parts }, /** @type {number} */ sign) =>
        row.map((x, c) => (parts.length ? parts.map((part) => part[c]) : [x]).reduce((sum, y) => sum + Math.max(0, sign * y), 0));
      const reach = Math.max(1e-9, ...rows.flatMap((one) => [...side(one, 1), ...side(one, -1)]));
      lines.forEach(({ name, value, parts, el }, i) => {
        set(el, { hidden: i >= count });
        if (i >= count) return;
        write(name, names[i]);
        write(value, number(place.row[i]));
        value.dataset.value = String(place.row[i]);
        const own = place.parts.length ? place.parts.map((part) => part[i]) : parts.map((_, part) => (part ? 0 : place.row[i]));
        segments(own, reach).forEach(({ from, wide }, part) => {
          parts[part].style.left = `${(50 + 50 * from).toFixed(2)}%`;
          parts[part].style.width = `${(50 * wide).toFixed(2)}%`;
        });
      });
      set(table, { "aria-label": `The row of ${layer.tokens[token]}: ${place.name}`, "data-kind": place.kind });
      write(title, `${layer.tokens[token]} · ${place.name}`);
      write(said, sentence(layer, token, path, at, residual));
      const parts = partNames(nHeads, layer.tokens[token]);
      const line = Math.min(stop, count - 1);
      write(made, place.parts.length ? `${names[line]}: ${composition(place, line, parts)}` : "");
      set(legend, { hidden: !place.parts.length });
      legend.replaceChildren(
        ...parts.map((name, part) => h("span", {}, h("span", { class: `qkv-part qkv-part-${pattern(part, nHeads)}` }), name)),
      );
      lines.forEach(({ value, el }, i) => {
        value.tabIndex = i === line ? 0 : -1;
        el.classList.toggle("qkv-step-here", i === line && place.parts.length > 0);
      });
    },
  };
}
