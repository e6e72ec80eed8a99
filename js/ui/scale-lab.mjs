// The lab's drawing: the histogram of scores with the bell that theory predicts, one query's weights, three lines of numbers.

import { BIN, EDGE, QUERIES, bell } from "../math/scale-lab.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {ReturnType<typeof import("../math/scale-lab.mjs").lab>} Lab */

const WIDE = 360;
const TALL = 150;
const HEAD = 16; // room for words above a picture
const FOOT = 22;

/** A share in percent, short. @param {number} share */
export function percent(share) {
  return share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(100 * share)} %`;
}

/**
 * One path of bars that stand on the ground.
 * @param {readonly number[]} heights between 0 and 1
 * @param {number} gap
 */
export function bars(heights, gap) {
  const wide = WIDE / heights.length;
  return heights
    .map((height, i) => (height > 0 ? `M${round(i * wide + gap / 2)} ${HEAD + TALL}v${round(-height * TALL)}h${round(wide - gap)}V${HEAD + TALL}` : ""))
    .join("");
}

/** @param {readonly number[]} heights */
function line(heights) {
  const wide = WIDE / heights.length;
  return `M${heights.map((height, i) => `${round((i + 0.5) * wide)} ${round(HEAD + TALL - height * TALL)}`).join("L")}`;
}

/** @param {number} x */
function round(x) {
  return Number(x.toFixed(2));
}

export function labView() {
  const text = (/** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ anchor, words = "") => svg("text", { x, y, "text-anchor": anchor }, words);
  const picture = (/** @type {Element[]} */ ...parts) =>
    svg("svg", { viewBox: `0 0 ${WIDE} ${HEAD + TALL + FOOT}`, role: "img", class: "qkv-scale-picture" }, ...parts, svg("path", { class: "qkv-scale-ground", d: `M0 ${HEAD + TALL}H${WIDE}` }));
  const ticks = [-EDGE, -EDGE / 2, 0, EDGE / 2, EDGE].map((x) => text(WIDE / 2 + (x / (2 * EDGE + BIN)) * WIDE, HEAD + TALL + 16, x === -EDGE ? "start" : x === EDGE ? "end" : "middle", number(x, 0)));

  const scores = svg("path", { class: "qkv-scale-bars" });
  const predicted = svg("path", { class: "qkv-scale-bell" });
  const below = text(0, 11, "start");
  const above = text(WIDE, 11, "end");
  const histogram = picture(scores, predicted, below, above, ...ticks);

  const weights = svg("path", { class: "qkv-scale-bars" });
  const equal = svg("path", { class: "qkv-scale-bell" });
  const one = text(0, 11, "start", "1");
  const equalName = text(WIDE, 0, "end");
  const keys = text(WIDE / 2, HEAD + TALL + 16, "middle");
  const row = picture(weights, svg("path", { class: "qkv-scale-ground", d: `M0 ${HEAD}H${WIDE}` }), equal, one, equalName, keys);

  const lines = ["Spread of the scores", `Largest weight, mean of ${QUERIES} queries`, "Slope of a weight by its own score, mean"].map((name) => {
    const value = h("b", {});
    const beside = h("span", { class: "qkv-scale-beside" });
    return { value, beside, el: h("div", {}, h("dt", {}, name), h("dd", {}, value, " ", beside)) };
  });
  return {
    pictures: h(
      "div",
      { class: "qkv-scale-body" },
      h("div", {}, h("p", { class: "qkv-scale-title" }, "Scores of all pairs, and the predicted bell"), histogram),
      h("div", {}, h("p", { class: "qkv-scale-title" }, "Weights of the first query"), row),
    ),
    numbers: h("dl", { class: "qkv-scale-numbers" }, ...lines.map(({ el }) => el)),
    /** @param {{ n: number, made: Lab }} picture */
    update({ n, made }) {
      const pairs = QUERIES * n;
      const expected = bell(made.predicted);
      const shares = made.bins.map((count) => count / pairs);
      const top = Math.max(...shares, ...expected);
      set(scores, { d: bars(shares.map((share) => share / top), 1) });
      set(predicted, { d: line(expected.map((share) => share / top)) });
      write(below, made.below ? `${percent(made.below / pairs)} below` : "");
      write(above, made.above ? `${percent(made.above / pairs)} above` : "");
      set(histogram, { "aria-label": `Histogram of ${pairs} scores: standard deviation ${number(made.spread)}, predicted ${number(made.predicted)}` });
      set(weights, { d: bars(made.first, n > 32 ? 1 : 2) });
      const level = round(HEAD + TALL * (1 - 1 / n));
      set(equal, { d: `M0 ${level}H${WIDE}` });
      set(equalName, { y: level - 4 });
      write(equalName, `equal: ${number(1 / n, 3)}`);
      write(keys, `${n} keys`);
      set(row, { "aria-label": `Weights of the first query: the largest is ${number(Math.max(...made.first), 3)}` });
      /** @type {[string, string][]} */
      const said = [
        [number(made.spread, 3), `predicted ${number(made.predicted, 3)}`],
        [number(made.largest, 3), `equal weights: ${number(1 / n, 3)}`],
        [number(made.slope, 4), `at equal weights: ${number((1 / n) * (1 - 1 / n), 4)}`],
      ];
      said.forEach(([value, beside], i) => {
        write(lines[i].value, value);
        write(lines[i].beside, beside);
      });
    },
  };
}
