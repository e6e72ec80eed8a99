// The lab's drawing: the words as a row that can be moved, the clocks of each place, the weights, and likeness by offset.

import { N_TABLE, WORDS } from "../math/position-lab.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {import("../math/position-lab.mjs").State} State */
/** @typedef {ReturnType<typeof import("../math/position-lab.mjs").lab>} Lab */

const N = WORDS.length;
const BELOW = 1e-9; // what rounding leaves
const CLOCKS = 4;
const TITLES = {
  none: "No code: every place is like every other",
  sinusoids: "Dot product of two codes, by offset",
  learned: "Dot product of row 12 with each row, by offset",
  rotary: "Dot product of two equal rows, turned, by offset",
};

/**
 * What happened, in a sentence.
 * @param {State} state
 * @param {Lab} made
 */
export function sentence({ order, code, start }, made) {
  if (!made.moved) {
    const missing = Math.max(N_TABLE, start);
    return `The learned table has ${N_TABLE} rows: there is none for place ${missing}. Nothing can be computed.`;
  }
  const largest = Math.max(...made.moved);
  const inOrder = order.every((word, t) => word === t);
  if (inOrder && start === 0) return "The words stand in order at place 0: this is what all else is compared with.";
  if (largest < BELOW)
    return `Largest change of a word's output: 0. ${inOrder ? "The start is not seen" : "The order is not seen"}${!inOrder && code === "rotary" ? " by these words" : ""}.`;
  const word = WORDS[order[made.moved.indexOf(largest)]];
  const seen = inOrder ? "The start is seen" : "The order is seen";
  return `Largest change of a word's output: ${number(largest)}, at “${word}”. ${seen}.`;
}

/** @param {{ onswap: (place: number, to: number) => void }} options */
export function positionView({ onswap }) {
  const buttons = WORDS.map((_, t) =>
    h("button", {
      type: "button",
      class: "qkv-button qkv-order-word",
      onclick: () => onswap(t, t < N - 1 ? t + 1 : t - 1),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        const to = t + ({ ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0);
        if (to === t || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        if (to < 0 || to >= N) return;
        onswap(t, to);
        buttons[to].focus();
      },
    }),
  );
  const places = WORDS.map(() => h("span", { class: "qkv-order-place" }));
  const lines = WORDS.map(() => Array.from({ length: CLOCKS }, () => svg("line")));
  const rims = WORDS.map(() => Array.from({ length: CLOCKS }, (_, i) => svg("circle", { cx: 16, cy: 16 + 32 * i, r: 13 })));
  const clocks = WORDS.map((_, t) => svg("svg", { viewBox: "0 0 32 128", class: "qkv-order-clocks", role: "img" }, ...rims[t], ...lines[t]));
  const words = h(
    "div",
    { class: "qkv-order-words", role: "group", "aria-label": "Words; arrow keys move the focused word" },
    ...WORDS.map((_, t) => h("div", { class: "qkv-order-column" }, places[t], buttons[t], clocks[t])),
  );

  const table = matrixTable({
    name: "weights",
    role: "w",
    label: "weights of each query, and how far its output moved",
    rows: WORDS,
    cols: [...WORDS, "moved"],
    heat: true,
  });
  write(table.head, "weights");
  table.table.addEventListener("keydown", (event) => {
    const from = placeOf(/** @type {HTMLTableCellElement} */ (event.target));
    const next = step(event, from, [N, N + 1]);
    if (!next) return;
    event.preventDefault();
    table.cells[next[0]][next[1]].focus();
  });
  table.table.addEventListener("focusin", (event) => table.rove(/** @type {HTMLTableCellElement} */ (event.target)));
  for (const row of table.cells) row[N].classList.add("qkv-order-moved");

  const bars = Array.from({ length: 25 }, (_, i) => svg("rect", { x: 14 * i + 2, width: 10, class: "qkv-order-stick" }));
  const picture = svg(
    "svg",
    { viewBox: "0 0 350 146", role: "img" },
    ...bars,
    svg("path", { class: "qkv-order-axis", d: "M0 66H350" }),
    ...[-12, 0, 12].map((offset, i) => svg("text", { x: [9, 175, 341][i], y: 142, "text-anchor": ["start", "middle", "end"][i] }, number(offset, 0))),
  );
  const title = h("p", { class: "qkv-order-title" });
  const said = h("p", { class: "qkv-order-said" });
  return {
    words,
    said,
    body: h(
      "div",
      { class: "qkv-order-body" },
      table.el,
      h("div", { class: "qkv-order-offsets" }, title, picture),
    ),
    buttons,
    /** @param {State} state @param {Lab} made */
    update(state, made) {
      const names = state.order.map((word) => WORDS[word]);
      names.forEach((name, t) => {
        write(places[t], String(state.start + t));
        write(buttons[t], name);
        set(buttons[t], { "aria-label": `${name}, place ${state.start + t}; arrow keys move it` });
        const pairs = made.hands[t];
        lines[t].forEach((line, i) => {
          const [right, up] = pairs[i] ?? [0, 0];
          set(line, { x1: 16, y1: 16 + 32 * i, x2: (16 + 12 * right).toFixed(2), y2: (16 + 32 * i - 12 * up).toFixed(2) });
          set(line, { class: right || up ? "qkv-order-hand" : "qkv-order-gone" });
        set(rims[t][i], { class: i < pairs.length ? "qkv-order-rim" : "qkv-order-gone" });
        });
        const text = pairs.map((pair) => `(${pair.map((x) => number(x)).join(", ")})`).join(" ");
        set(clocks[t], { "aria-label": state.code === "none" || made.ends ? `place ${state.start + t}: no code` : `place ${state.start + t}: ${text}` });
        write(table.rowHeads[t], name);
        write(table.colHeads[t], name);
      });
      const { weights, moved } = made;
      const values = weights && moved ? weights.map((row, t) => [...row, moved[t]]) : WORDS.map(() => Array(N + 1).fill(0));
      const masked = values.map((row, t) => row.map((_, j) => (state.causal && j > t && j < N ? -Infinity : 0)));
      table.write(values, (x) => (weights ? number(x) : "–"), (x) => Math.min(1, x), masked);
      for (const row of table.cells) row[N].style.setProperty("--shade", "0%");
      table.cells.forEach((row, t) => row[N].classList.toggle("qkv-order-sees", Boolean(moved && moved[t] >= BELOW)));
      write(said, sentence(state, made));
      write(title, TITLES[state.code]);
      const top = Math.max(1, ...made.offsets.map(Math.abs));
      bars.forEach((bar, i) => {
        const tall = (60 * made.offsets[i]) / top;
        set(bar, { y: Math.min(66, 66 - tall), height: Math.abs(tall) });
      });
      set(picture, { "aria-label": `${TITLES[state.code]}, from minus 12 to 12: ${made.offsets.map((x) => number(x, 1)).join(", ")}` });
    },
  };
}
