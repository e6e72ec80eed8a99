// The decoder's drawing: a diagram, a formula and code whose symbols are twins, and what stands behind the chosen one.

import { CODE, FORMULAS, IDS, NAMES, NOTATIONS, ROLES, written } from "../math/notation-decoder.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {import("../math/notation-decoder.mjs").Id} Id */
/** @typedef {import("../math/notation-decoder.mjs").Notation} Notation */
/** @typedef {import("../math/notation-decoder.mjs").Use} Use */
/** @typedef {import("../math/attention.mjs").Matrix} Matrix */

/** Where each box stands: its middle, and its width. @type {Record<Id, [x: number, y: number, width: number]>} */
const PLACES = {
  output: [170, 20, 150], w_o: [170, 72, 96], concat: [170, 124, 150], head: [170, 176, 96],
  weights: [105, 232, 130], scores: [105, 288, 130],
  q: [55, 348, 92], k: [157, 348, 92], v: [279, 348, 92],
  w_q: [55, 402, 92], w_k: [157, 402, 92], w_v: [279, 402, 92],
  x_q: [55, 458, 92], x_kv: [218, 458, 214],
};
const TALL = 36;

/** @type {[Id, Id][]} */
const LINES = [
  ["x_q", "w_q"], ["x_kv", "w_k"], ["x_kv", "w_v"], ["w_q", "q"], ["w_k", "k"], ["w_v", "v"], ["q", "scores"], ["k", "scores"],
  ["scores", "weights"], ["weights", "head"], ["v", "head"], ["head", "concat"], ["concat", "w_o"], ["w_o", "output"],
];

/** @type {Record<Id, string>} */
export const WHAT = {
  x_q: "the input that asks; the paper's Q in MultiHead",
  x_kv: "the input that is asked; the paper's K and V in MultiHead, one array",
  w_q: "this head's matrix for queries; a “Linear” box",
  w_k: "this head's matrix for keys; a “Linear” box",
  w_v: "this head's matrix for values; a “Linear” box",
  q: "the queries of this head; the paper's Q in Attention",
  k: "the keys of this head; the paper's K in Attention",
  v: "the values of this head; the paper's V in Attention",
  scores: "one number for each query and key, after the scale",
  weights: "the scores after the softmax over the keys",
  head: "what this head returns: a mean of values for each query",
  concat: "all heads side by side",
  w_o: "the matrix that reads all heads; the last “Linear” box",
  output: "what the layer returns",
};
const LEARNED = ["w_q", "w_k", "w_v", "w_o"];

/** `X_{q}` as [["", "X"], ["_", "q"]]. @param {string} text @returns {[kind: string, text: string][]} */
export function pieces(text) {
  return text.split(/([_^]\{[^}]*\})/).filter(Boolean).map((part) => (/^[_^]\{/.test(part) ? [part[0], part.slice(2, -1)] : ["", part]));
}

/** @param {string} text */
const spoken = (text) => pieces(text).map(([, part]) => part).join(" ");

/** @param {string} text */
function inHtml(text) {
  return pieces(text).map(([kind, part]) => (kind === "_" ? h("sub", {}, part) : kind === "^" ? h("sup", {}, part) : part));
}

/** @param {string} text */
function inSvg(text) {
  let off = 0;
  return pieces(text).map(([kind, part]) => {
    const to = kind === "_" ? 4 : kind === "^" ? -5 : 0;
    const span = svg("tspan", { dy: to - off, "font-size": kind ? 11 : 15 }, part);
    off = to;
    return span;
  });
}

/** Where an array comes from. @param {Id} id @param {Use} use */
export function origin(id, use) {
  if (LEARNED.includes(id)) return "learned; the same for every input";
  if (id === "x_q") {
    return {
      cross: "computed: the masked self-attention of the same decoder layer, after add and norm",
      encoder: "computed: the encoder layer before, or the embeddings with positions",
      decoder: "computed: the decoder layer before, or the embeddings with positions",
    }[use];
  }
  if (id === "x_kv") return use === "cross" ? "computed: the last encoder layer, the same for all decoder layers" : "computed: the very array that asks";
  return "computed here, new for every input";
}

/** @param {Matrix} array */
const size = (array) => `${array.length} × ${array[0].length}`;

/**
 * @param {{ onfocus: (id: Id) => void }} options
 */
export function decoderView({ onfocus }) {
  /** @type {Notation} */
  let drawn = "paper";
  /** @type {Element[][]} the symbols of diagram, formula, code: one tab stop each */
  const groups = [[], [], []];
  const idOf = (/** @type {Element} */ element) => /** @type {Id} */ (/** @type {HTMLElement} */ (element).dataset.id);

  // The diagram, from the bottom up as in the paper.
  const boxes = IDS.map((id) => {
    const [x, y, width] = PLACES[id];
    const label = svg("text", { x, y: y - 1, "text-anchor": "middle" });
    const shape = svg("text", { x, y: y + 14, "text-anchor": "middle", class: "qkv-decoder-size" });
    const box = svg("rect", { x: x - width / 2, y: y - TALL / 2, width, height: TALL, rx: 6 });
    const el = svg("g", { role: "button", tabindex: -1, class: `qkv-decoder-box qkv-as-${ROLES[id]}`, "data-id": id }, box, label, shape);
    groups[0].push(el);
    return { id, el, label, shape };
  });
  const lines = LINES.map(([from, to]) => {
    const [x, y] = PLACES[from];
    const [toX, toY] = PLACES[to];
    const start = from === "x_kv" ? toX : x;
    return svg("path", { d: `M${start} ${y - TALL / 2}L${toX} ${toY + TALL / 2}` });
  });
  const frame = svg("rect", { class: "qkv-decoder-frame", x: 3, y: 152, width: 333, height: 163, rx: 6 });
  const frameText = svg("text", { x: 330, y: 245, "text-anchor": "end", class: "qkv-decoder-size" });
  const diagram = svg(
    "svg",
    { viewBox: "0 0 340 480", role: "group", "aria-label": "Diagram of one layer, from its inputs below to its output above" },
    frame,
    frameText,
    svg("g", { class: "qkv-decoder-lines" }, ...lines),
    ...boxes.map(({ el }) => el),
  );

  const formula = h("div", { class: "qkv-decoder-formula", role: "group", "aria-label": "Formula" });
  const code = h("div", { class: "qkv-decoder-code", role: "group", "aria-label": "Code" });

  /** @param {HTMLElement} block @param {import("../math/notation-decoder.mjs").Part[][]} rows @param {number} which @param {number} at */
  const fill = (block, rows, which, at) => {
    groups[which] = [];
    block.replaceChildren(
      ...rows.map((row) =>
        h(
          "p",
          {},
          ...row.flatMap((part) => {
            if (typeof part === "string") return [h("span", { class: "qkv-decoder-text" }, ...inHtml(part))];
            const [id, text = NAMES[id][at]] = part;
            const el = h("button", { type: "button", tabindex: -1, class: `qkv-decoder-sym qkv-as-${ROLES[id]}`, "data-id": id }, ...inHtml(text));
            groups[which].push(el);
            return [el];
          }),
        ),
      ),
    );
  };
  fill(code, CODE, 2, 2);

  // What stands behind the chosen symbol.
  const title = h("p", { class: "qkv-decoder-title" });
  const names = NOTATIONS.map(() => h("dd"));
  const labels = ["the paper", "this book", "code", "tokens as columns"];
  const shape = h("dd");
  const from = h("dd");
  const facts = h(
    "dl",
    {},
    ...names.flatMap((dd, n) => [h("dt", {}, labels[n]), dd]),
    h("dt", {}, "shape"),
    shape,
    h("dt", {}, "origin"),
    from,
  );
  const table = h("tbody");
  const numbers = h("div", { class: "qkv-decoder-numbers" }, h("table", { "aria-label": "numbers of the chosen array" }, table));

  const el = h(
    "div",
    { class: "qkv-decoder-body" },
    h("div", { class: "qkv-decoder-diagram" }, diagram),
    h("div", { class: "qkv-decoder-texts" }, formula, code),
    h("div", { class: "qkv-decoder-readout" }, h("div", {}, title, facts), numbers),
  );

  /** @param {EventTarget | null} target @returns {Element | null} */
  const symbolAt = (target) => (target instanceof Element ? target.closest("[data-id]") : null);
  for (const type of ["pointerover", "click", "focusin"]) {
    el.addEventListener(type, (event) => {
      const symbol = symbolAt(event.target);
      if (!symbol || (type === "pointerover" && /** @type {PointerEvent} */ (event).pointerType === "touch")) return;
      onfocus(idOf(symbol));
    });
  }
  el.addEventListener("keydown", (event) => {
    const symbol = symbolAt(event.target);
    const group = groups.find((list) => symbol && list.includes(symbol));
    if (!symbol || !group) return;
    const at = group.indexOf(symbol);
    // The diagram is read from the bottom up; its list goes the same way.
    const steps = { ArrowRight: 1, ArrowUp: group === groups[0] ? 1 : -1, ArrowLeft: -1, ArrowDown: group === groups[0] ? -1 : 1, Home: -at, End: group.length - 1 - at };
    const by = /** @type {Record<string, number>} */ (steps)[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = group[Math.max(0, Math.min(group.length - 1, at + by))];
    /** @type {HTMLElement} */ (next).focus();
  });

  fill(formula, FORMULAS.paper, 1, 0);
  return {
    el,
    /**
     * @param {{ notation: Notation, use: Use, head: number, focus: Id, arrays: Record<Id, Matrix> }} state
     * @returns {string} what a screen reader hears
     */
    update({ notation, use, head, focus, arrays }) {
      const at = NOTATIONS.indexOf(notation);
      write(frameText, notation === "paper" ? "Attention(Q, K, V)" : "one head");
      if (notation !== drawn) {
        drawn = notation;
        fill(formula, FORMULAS[notation === "code" ? "plain" : notation], 1, notation === "code" ? 1 : at);
      }
      for (const { id, label, shape: text } of boxes) {
        if (label.dataset.name !== NAMES[id][at]) label.replaceChildren(...inSvg(NAMES[id][at]));
        label.dataset.name = NAMES[id][at];
        write(text, size(written(arrays[id], notation)));
      }
      for (const group of groups) {
        const twins = group.filter((symbol) => idOf(symbol) === focus);
        const active = group.find((symbol) => symbol === document.activeElement);
        const stop = active ?? twins[0] ?? group[0];
        for (const symbol of group) {
          const twin = idOf(symbol) === focus;
          symbol.classList.toggle("qkv-twin", twin);
          set(symbol, { "aria-pressed": String(twin), tabindex: symbol === stop ? 0 : -1 });
        }
      }
      const array = written(arrays[focus], notation);
      title.className = `qkv-decoder-title qkv-as-${ROLES[focus]}`;
      title.replaceChildren(h("b", {}, ...inHtml(NAMES[focus][at])), `  ${WHAT[focus]}`);
      names.forEach((dd, n) => dd.replaceChildren(...inHtml(NAMES[focus][n])));
      write(shape, size(array));
      write(from, origin(focus, use));
      const whole = array.flat().every((x) => x === -Infinity || x === Math.round(x));
      table.replaceChildren(
        ...array.map((row) => h("tr", {}, ...row.map((x) => h("td", { class: x === 0 && "qkv-zero" }, x === -Infinity ? "−∞" : number(x, whole ? 0 : 2))))),
      );
      numbers.className = `qkv-decoder-numbers qkv-as-${ROLES[focus]}`;
      return `${spoken(NAMES[focus][at])}, head ${head + 1}: ${WHAT[focus]}. ${size(array)}. ${origin(focus, use)}.`;
    },
  };
}
