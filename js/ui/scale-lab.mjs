// The lab's drawing: the scores as a histogram under the bell that was foretold, and the weights of a query, largest first.
// Knows numbers and names only; what a move means is the caller's affair.

import { BARS, BINS, QUERIES } from "../math/scale-lab.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {ReturnType<typeof import("../math/scale-lab.mjs").lab>} Lab */

const WIDE = 440;
const TALL = 150;

/** Three digits that count. @param {number} x */
export function short(x) {
  return number(x, x === 0 || x >= 100 ? 0 : x >= 10 ? 1 : x >= 1 ? 2 : x >= 0.1 ? 3 : x >= 0.001 ? 4 : 6);
}

/**
 * How high the bell stands over the middle of each bin, in scores per bin.
 * @param {{ predicted: number, edge: number }} made
 * @param {number} total
 */
export function bell({ predicted, edge }, total) {
  const step = (2 * edge) / BINS;
  return Array.from({ length: BINS }, (_, bin) => {
    const at = (-edge + step * (bin + 0.5)) / predicted;
    return ((total * step) / predicted / Math.sqrt(2 * Math.PI)) * Math.exp(-(at ** 2) / 2);
  });
}

/** @param {string} title @param {string} label */
function panel(title, label) {
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL + 24}`, role: "img", "aria-label": label });
  return { picture, el: h("div", { class: "qkv-scale-panel" }, h("p", { class: "qkv-scale-title" }, title), picture) };
}

/** @param {number} count @param {number} gap */
function bars(count, gap) {
  const wide = WIDE / count;
  return Array.from({ length: count }, (_, i) => svg("rect", { x: i * wide + gap / 2, width: wide - gap, class: "qkv-scale-bar" }));
}

/** @param {SVGElement} rect @param {number} height a share of the picture */
function stand(rect, height) {
  const tall = TALL * Math.max(0, Math.min(1, height));
  set(rect, { y: TALL - tall, height: tall });
}

/** @param {string} term @param {string} role */
function line(term, role = "") {
  const value = h("b", { class: role });
  return { value, el: h("div", {}, h("dt", {}, term), h("dd", {}, value)) };
}

export function scaleView() {
  const scores = panel(`Scores of ${QUERIES} queries`, "Histogram of the scores and the foretold bell");
  const counts = bars(BINS, 1);
  const curve = svg("polyline", { class: "qkv-scale-bell" });
  const marks = ["start", "middle", "end"].map((anchor, i) => svg("text", { x: (WIDE * i) / 2, y: TALL + 18, "text-anchor": anchor }));
  scores.picture.append(...counts, curve, svg("path", { class: "qkv-scale-axis", d: `M0 ${TALL}H${WIDE}` }), ...marks);

  const weights = panel("Weights of a query, largest first", "Mean weights by rank and the equal share");
  const ranks = bars(BARS, 6);
  const equal = svg("path", { class: "qkv-scale-equal" });
  const places = Array.from({ length: BARS }, (_, i) => svg("text", { x: (WIDE / BARS) * (i + 0.5), y: TALL + 18, "text-anchor": "middle" }, i + 1));
  weights.picture.append(...ranks, equal, svg("path", { class: "qkv-scale-axis", d: `M0 ${TALL}H${WIDE}` }), ...places);

  const lines = {
    predicted: line("spread, foretold"),
    spread: line("spread, measured"),
    largest: line("largest weight", "qkv-w"),
    uniform: line("equal share 1/n_k"),
    slope: line("mean slope w(1 − w)"),
  };
  return {
    el: h("div", { class: "qkv-scale-body" }, scores.el, weights.el),
    numbers: h("dl", { class: "qkv-scale-numbers" }, ...Object.values(lines).map((one) => one.el)),
    /** @param {Lab} made @param {number} nK */
    update(made, nK) {
      const foretold = bell(made, QUERIES * nK);
      const top = Math.max(...made.counts, ...foretold);
      counts.forEach((rect, bin) => stand(rect, made.counts[bin] / top));
      const wide = WIDE / BINS;
      set(curve, { points: foretold.map((y, bin) => `${((bin + 0.5) * wide).toFixed(1)},${(TALL * (1 - y / top)).toFixed(1)}`).join(" ") });
      marks.forEach((text, i) => write(text, number((i - 1) * made.edge, 0)));
      ranks.forEach((rect, rank) => stand(rect, made.ranked[rank] ?? 0));
      places.forEach((text, rank) => set(text, { visibility: rank < made.ranked.length ? null : "hidden" }));
      const y = (TALL * (1 - made.uniform)).toFixed(1);
      set(equal, { d: `M0 ${y}H${WIDE}` });
      for (const [name, { value }] of Object.entries(lines)) write(value, short(made[/** @type {keyof typeof lines} */ (name)]));
    },
  };
}
