// The stepper's drawing: the new word's query, the table of keys and values with what is made and what is kept, and the bill.

import { WAYS, WORDS } from "../math/cache-stepper.mjs";
import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {import("../math/cache-stepper.mjs").State} State */
/** @typedef {ReturnType<typeof import("../math/cache-stepper.mjs").cacheStep>} Made */

const COLUMNS = ["k", "k", "k", "k", "v", "v", "w"];

/** As short as it is exact: 2, 0.5, 0.33. @param {number} x */
export function short(x) {
  return Number.isInteger(x) ? number(x, 0) : number(x);
}

/** Whole numbers with commas. @param {number} x */
export function count(x) {
  return x.toLocaleString("en-US");
}

/**
 * What happens in this step, in a sentence.
 * @param {State} state
 * @param {Made} made
 */
export function sentence({ word, kept, head }, made) {
  const { weights } = made;
  const fresh = made.made.filter(Boolean).length;
  const largest = Math.max(...weights);
  const most = WORDS[weights.indexOf(largest)];
  const alike = word > 0 && largest - Math.min(...weights) < 1e-9;
  const [nothing, , both] = made.table.map((row) => row[0]);
  const after = { nothing: ", all anew", X: ", from the kept X", "K and V": `, kept: ${word}` }[kept];
  return (
    `“${WORDS[word]}” looks at ${word + 1} ${word ? "rows" : "row"}, head ${head + 1} ${alike ? "at all alike" : `most at “${most}”`}: weight ${number(largest)}. ` +
    `Rows of K and V made: ${fresh}${after}. ` +
    `With nothing kept this step costs ${number(nothing / both, 0)} times what it costs with K and V kept.`
  );
}

export function cacheView() {
  const q = Array.from({ length: 4 }, () => h("td", {}));
  const query = h("tr", { class: "qkv-cache-query" }, h("th", { scope: "row" }, "q"), ...q, h("td", { colspan: 3, class: "qkv-cache-note" }));
  const rows = WORDS.map((name) => {
    const mark = h("i", { "aria-hidden": "true" });
    const status = h("small", {});
    const cells = COLUMNS.map((role) => h("td", { class: `qkv-cache-${role}` }));
    return { cells, mark, status, row: h("tr", {}, h("th", { scope: "row" }, mark, name, status), ...cells) };
  });
  const rowHead = h("td", {});
  const table = h(
    "table",
    { class: "qkv-cache-table", "aria-label": "Query of the new word; keys, values and weights of all words" },
    h("thead", {}, h("tr", {}, rowHead, h("th", { scope: "colgroup", colspan: 4, class: "qkv-k" }, "K"), h("th", { scope: "colgroup", colspan: 2, class: "qkv-v" }, "V"), h("th", { scope: "col", class: "qkv-w" }, "weight"))),
    h("tbody", {}, query, ...rows.map((one) => one.row)),
  );
  const bill = WAYS.map((way) => {
    const cells = Array.from({ length: 3 }, () => h("td", {}));
    return { cells, row: h("tr", {}, h("th", { scope: "row" }, way), ...cells) };
  });
  const bills = h(
    "table",
    { class: "qkv-cache-bill" },
    h("caption", {}, "Multiplications of the attention, and numbers kept; all heads"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "kept"), ...["this step", "so far", "kept now"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...bill.map((one) => one.row)),
  );
  const output = h("p", { class: "qkv-cache-output" });
  const said = h("p", { class: "qkv-cache-said" });
  return {
    said,
    body: h("div", { class: "qkv-cache-body" }, h("div", {}, table, output), bills),
    /** @param {State} state @param {Made} made */
    update(state, made) {
      made.q.forEach((x, c) => write(q[c], short(x)));
      write(/** @type {Node} */ (query.lastChild), `of “${WORDS[state.word]}”`);
      rows.forEach(({ cells, mark, status, row }, t) => {
        const there = t <= state.word;
        const fresh = there && made.made[t] === 1;
        set(row, { class: there ? (fresh ? "qkv-cache-made" : "qkv-cache-kept") : "qkv-cache-later" });
        write(mark, there ? (fresh ? "■" : "□") : "");
        write(status, !there ? "" : t === state.word ? "new" : fresh ? "made" : "kept");
        const values = there ? [...made.k[t], ...made.v[t]].map(short).concat(number(made.weights[t])) : COLUMNS.map(() => "");
        cells.forEach((cell, c) => write(cell, values[c]));
        cells[6].style.setProperty("--shade", there ? `${Math.round(50 * made.weights[t])}%` : "0%");
      });
      write(output, `Output of head ${state.head + 1}: ${made.output.map((x) => number(x)).join(", ")}`);
      const most = Math.max(...made.table.map((row) => row[1]));
      bill.forEach(({ cells, row }, i) => {
        set(row, { class: WAYS[i] === state.kept ? "qkv-cache-chosen" : null });
        cells.forEach((cell, c) => write(cell, count(made.table[i][c])));
        cells[1].style.setProperty("--part", `${(100 * made.table[i][1]) / most}%`);
      });
      write(said, sentence(state, made));
    },
  };
}
