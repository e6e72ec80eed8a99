// The learned weights of one head as a table, the margins of a pair, the eigenvalues, and what ten seeds came to.

import { asymmetry, eigenvalues, learnedWeights, margins, onDifferences, symmetricPart } from "../math/why-three.mjs";
import { h, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { liveRegion } from "./live-region.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/**
 * @typedef {object} Setting
 * @property {string} task
 * @property {string} title of the task
 * @property {string} scores
 * @property {string} ways what the scores come from
 * @property {string[]} names of the tokens
 * @property {number[]} answers for each token, the place of the one that holds its answer
 * @property {number[][]} table the learned scores
 * @property {number[]} accuracy one share a seed
 * @property {number} weights
 * @property {number} baseline
 * @property {number | null} foretold
 */

const MASKED = "tied, masked";

export function tiedHead() {
  /** @type {Setting} */
  let setting;
  /** @type {ReturnType<typeof matrixTable>} */
  let table;
  let place = [0, 0];
  const live = liveRegion();
  const holder = h("div", { class: "qkv-why-table" });
  const pair = h("div", { class: "qkv-why-pair" });
  const spectrum = h("div", {});
  const symmetry = h("p", { class: "qkv-why-say" });
  const outcome = h("p", { class: "qkv-why-say" });
  const strip = h("div", {});
  const el = h(
    "div",
    {},
    h(
      "div",
      { class: "qkv-why-body" },
      h("div", {}, holder, pair),
      h("div", {}, h("p", { class: "qkv-why-head" }, "Right answers of ten seeds"), strip, outcome, h("p", { class: "qkv-why-head" }, "Eigenvalues of the symmetric part"), spectrum, symmetry),
    ),
    live.el,
  );

  holder.addEventListener("keydown", (event) => {
    const td = /** @type {Element} */ (event.target).closest("td");
    const to = td && step(event, placeOf(/** @type {HTMLTableCellElement} */ (td)), [setting.names.length, setting.names.length]);
    if (!to) return;
    event.preventDefault();
    table.cells[to[0]][to[1]].focus();
  });
  const look = (/** @type {Event} */ event, /** @type {boolean} */ speak) => {
    const td = /** @type {HTMLTableCellElement | null} */ (/** @type {Element} */ (event.target).closest("tbody td"));
    if (!td) return;
    const next = placeOf(td);
    if (next[0] === place[0] && next[1] === place[1] && !speak) return;
    place = next;
    table.rove(td);
    show(speak);
  };
  holder.addEventListener("focusin", (event) => look(event, true));
  holder.addEventListener("click", (event) => look(event, false));
  holder.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") look(event, false);
  });

  /** @param {boolean} speak */
  const show = (speak) => {
    const [i, j] = place;
    const { names, table: s, scores } = setting;
    const weights = learnedWeights(s, scores === MASKED);
    table.cells.forEach((row, r) => row.forEach((td, c) => td.classList.toggle("qkv-here", r === i && c === j)));
    const [a, b] = [names[i], names[j]];
    const first = `${a} looks at ${b} with weight ${number(weights[i][j])}.`;
    const lines = i === j ? ["Move to a pair: its two margins stand here.", " ", " "] : pairLines(s, i, j, a, b);
    pair.replaceChildren(h("p", {}, h("b", {}, first)), ...lines.map((line) => h("p", {}, line)));
    if (speak) live.say(`${first} ${lines.join(" ").trim()}`);
  };

  return {
    el,
    /** @param {Setting} next @param {boolean} speak */
    update(next, speak) {
      const rebuilt = !setting || next.names.join() !== setting.names.join();
      setting = next;
      if (rebuilt) {
        table = matrixTable({ name: "weights", role: "w", label: "Learned weights in percent: each row a token that looks", rows: next.names, cols: next.names, heat: true });
        table.head.textContent = "learned weights, %";
        holder.replaceChildren(table.el);
      }
      const weights = learnedWeights(next.table, next.scores === MASKED);
      table.write(weights, (x) => String(Math.round(100 * x)), (x) => x);
      table.cells.forEach((row, i) =>
        row.forEach((td, j) => {
          td.classList.toggle("qkv-answer", next.answers[i] === j);
          td.classList.toggle("qkv-masked", next.scores === MASKED && i === j);
        }),
      );
      if (rebuilt) {
        place = [0, next.answers[0]];
        table.rove(table.cells[0][next.answers[0]]);
      }
      show(false);
      const shares = next.accuracy.map((x) => 100 * x);
      const mean = shares.reduce((sum, x) => sum + x, 0) / shares.length;
      const told = next.foretold === null ? "" : ` Foretold: ${next.foretold < 1 && next.foretold > 0.6 ? "at most " : ""}${number(100 * next.foretold, 1)} % (diamond).`;
      const said = `Mean ${number(mean, 1)} %, from ${number(Math.min(...shares), 1)} to ${number(Math.max(...shares), 1)}. Without attention ${number(100 * next.baseline, 1)} % (dashed).${told}`;
      write(outcome, `${said} Weights learned: ${next.weights.toLocaleString("en")}.`);
      strip.replaceChildren(drawStrip(shares, mean, next));
      const values = eigenvalues(onDifferences(symmetricPart(next.table)));
      const below = values.filter((x) => x < -0.05).length;
      spectrum.replaceChildren(drawSpectrum(values));
      write(
        symmetry,
        `${below} of ${values.length} below zero: ${below ? "two tokens can prefer each other to themselves." : "no two tokens can both prefer the other to themselves."} Antisymmetric share of the scores: ${number(100 * asymmetry(next.table), 1)} %.`,
      );
      if (speak) live.say(`${next.title}, ${next.ways}. ${said} ${symmetry.textContent}`);
    },
    destroy() {
      live.destroy();
    },
  };
}

/** @param {number[][]} s @param {number} i @param {number} j @param {string} a @param {string} b */
function pairLines(s, i, j, a, b) {
  const [one, other] = margins(s, i, j);
  return [
    `Margin of ${a}: ${number(s[i][j])} − ${bracket(s[i][i])} = ${number(one)}`,
    `Margin of ${b}: ${number(s[j][i])} − ${bracket(s[j][j])} = ${number(other)}`,
    `Sum: ${number(one + other)}${one > 0 && other > 0 ? ", and each prefers the other." : "."}`,
  ];
}

/** @param {number} x */
function bracket(x) {
  return x < 0 ? `(${number(x)})` : number(x);
}

/** @param {number[]} shares @param {number} mean @param {Setting} setting */
function drawStrip(shares, mean, { baseline, foretold }) {
  const x = (/** @type {number} */ share) => 10 + 2.8 * share;
  const dots = shares.map((share, i) => svg("circle", { class: "qkv-why-dot", cx: x(share), cy: 12 + 1.8 * i, r: 2.6 }));
  const at = 20;
  return svg(
    "svg",
    { viewBox: "0 0 300 52", class: "qkv-why-strip", "aria-hidden": "true" },
    svg("path", { class: "qkv-why-axis", d: `M10 38H290M10 35v6M150 35v6M290 35v6` }),
    ...[0, 50, 100].map((tick) => svg("text", { x: x(tick), y: 51, "text-anchor": tick === 0 ? "start" : tick === 50 ? "middle" : "end" }, `${tick} %`)),
    svg("path", { class: "qkv-why-base", d: `M${x(100 * baseline)} 3V38` }),
    ...dots,
    svg("path", { class: "qkv-why-mean", d: `M${x(mean)} 4V36` }),
    foretold === null ? null : svg("path", { class: "qkv-why-told", d: `M${x(100 * foretold)} ${at - 8}l6 8l-6 8l-6 -8z` }),
  );
}

/** @param {number[]} values */
function drawSpectrum(values) {
  const top = Math.max(...values.map(Math.abs), 1e-9);
  const wide = 280 / values.length;
  const bars = values.map((value, i) => {
    const tall = (34 * Math.abs(value)) / top;
    return svg("rect", {
      class: value < -0.05 ? "qkv-why-below" : "qkv-why-above",
      x: 10 + i * wide + 2,
      y: value < 0 ? 40 : 40 - tall,
      width: wide - 4,
      height: Math.max(tall, 0.75),
    });
  });
  const text = `Eigenvalues: ${values.map((value) => number(value, 1)).join(", ")}`;
  return svg(
    "svg",
    { viewBox: "0 0 300 92", class: "qkv-why-strip", role: "img", "aria-label": text },
    ...bars,
    svg("path", { class: "qkv-why-axis", d: "M10 40H290" }),
    svg("text", { x: 10, y: 90 }, number(values[0], 1)),
    svg("text", { x: 290, y: 90, "text-anchor": "end" }, number(values[values.length - 1], 1)),
  );
}
