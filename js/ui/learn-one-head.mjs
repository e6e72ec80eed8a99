// The drawing of LearnOneHead: the loss as a curve, scores and weights of one table, two maps, four matrices, one readout.

import { forward, maps, NAMES, SHOWN } from "../math/learn-one-head.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

const COLUMNS = [...NAMES, "coin"];
const SLOTS = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => String(i));
const WIDE = 520;
const TALL = 120;

/** @typedef {{ run: ReturnType<typeof import("../math/learn-one-head.mjs").training>, steps: number, rate: number, changes: boolean }} Picture */

/** A change in thousandths, with its sign. @param {number} x */
export function changeText(x) {
  const size = 1000 * x;
  const text = number(size, Math.abs(size) < 99.5 ? 1 : 0);
  return x > 0 && Number(text) !== 0 ? `+${text}` : text;
}

/** @param {number[]} losses @param {number} near the mean weight on the right neighbour */
export function sentence(losses, near) {
  const n = losses.length - 1;
  const before = n ? `, before this step ${number(losses[n - 1], 3)}` : "";
  const end = Number.isFinite(losses[n]) && losses[n] < 1e6 ? "" : " The steps are too long: the training has blown up.";
  return `After ${n} step${n === 1 ? "" : "s"}: loss ${number(losses[n], 3)}${before}. The right neighbour gets a weight of ${number(near)} on average (evenly: 0.20).${end}`;
}

/** @param {(text: string) => void} say */
export function learnView(say) {
  const specs = /** @type {const} */ ([
    ["scores", "w", "scores", NAMES, NAMES],
    ["weights", "w", "weights", NAMES, NAMES],
    ["answers", "x", "answers", NAMES, ["says", "should"]],
    ["where", "w", "where to look", COLUMNS, COLUMNS],
    ["what", "v", "what to move", COLUMNS, ["→"]],
    ["W_Q", "q", "W_Q", COLUMNS, SLOTS(4)],
    ["W_K", "k", "W_K", COLUMNS, SLOTS(4)],
    ["W_V", "v", "W_V", COLUMNS, SLOTS(2)],
    ["W_O", "o", "W_O", SLOTS(2), ["→"]],
  ]);
  const notes = /** @type {Record<string, string>} */ ({ where: " = W_Q W_Kᵀ", what: " = W_V W_O" });
  /** @type {{ table: string, row: number, col: number } | null} */
  let place = null;
  /** @type {Record<string, { now: number[][], before: number[][] | null }>} */
  let values = {};
  let rate = 0;

  const tables = Object.fromEntries(
    specs.map(([name, role, title, rows, cols]) => {
      const made = matrixTable({ name, role, label: title, rows, cols, heat: true });
      write(made.head, title + (notes[name] ?? ""));
      made.el.style.setProperty("--columns", String(cols.length));
      const look = (/** @type {Event} */ event, /** @type {boolean} */ speak) => {
        const td = event.target instanceof Element ? /** @type {HTMLTableCellElement | null} */ (event.target.closest("tbody td")) : null;
        if (!td) return;
        const [row, col] = placeOf(td);
        place = { table: name, row, col };
        made.rove(td);
        read();
        if (speak) say(readout.textContent ?? "");
      };
      made.table.addEventListener("focusin", (event) => look(event, true));
      made.table.addEventListener("click", (event) => look(event, false));
      made.table.addEventListener("pointerover", (event) => event.pointerType !== "touch" && look(event, false));
      made.table.addEventListener("keydown", (event) => {
        const next = step(event, placeOf(/** @type {HTMLTableCellElement} */ (event.target)), [rows.length, cols.length]);
        if (!next) return;
        event.preventDefault();
        made.cells[next[0]][next[1]].focus();
      });
      return [name, made];
    }),
  );

  const line = svg("path", { class: "qkv-learn-line" });
  const dot = svg("circle", { class: "qkv-learn-dot", r: 3.5 });
  const end = svg("text", { x: WIDE - 4, y: TALL + 16, "text-anchor": "end" });
  const y = (/** @type {number} */ loss) => TALL * (1 - Math.min(1.1, loss) / 1.1);
  const level = (/** @type {number} */ at, /** @type {string} */ text) => [
    svg("path", { class: "qkv-learn-level", d: `M30 ${y(at)}H${WIDE - 4}` }),
    svg("text", { x: WIDE - 4, y: y(at) - 3, "text-anchor": "end" }, text),
    svg("text", { x: 26, y: y(at) + 4, "text-anchor": "end" }, number(at, 1)),
  ];
  const curve = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL + 20}`, class: "qkv-learn-curve", role: "img", "aria-label": "Loss, step by step" },
    ...level(1, "says nothing"),
    ...level(0.8, "looks at all alike"),
    svg("path", { class: "qkv-learn-axis", d: `M30 0V${TALL}H${WIDE - 4}` }),
    svg("text", { x: 30, y: TALL + 16 }, "0 steps"),
    end,
    line,
    dot,
  );
  const words = h("p", { class: "qkv-learn-words" });
  const readout = h("p", { class: "qkv-learn-readout" });

  /** What one number is, and what the last step did to it. */
  function read() {
    if (!place) return write(readout, "Point at a number, or go there with the arrow keys: it stands here before and after the last step.");
    const { table, row, col } = place;
    const spec = specs.find(([name]) => name === table);
    if (!spec) return;
    const [, , , rows, cols] = spec;
    const { now, before } = values[table];
    const x = now[row][col];
    const was = before ? before[row][col] : x;
    const moved = before ? ` Before the last step: ${number(was, 3)}.` : "";
    const text = {
      scores: `The score of ${rows[row]} for ${cols[col]}: ${number(x, 3)}.${moved}`,
      weights: `${rows[row]} looks at ${cols[col]} with weight ${number(x, 3)}.${moved}`,
      answers: col ? `${rows[row]} should say ${number(x, 0)}, the coin of ${NAMES[(row + 1) % 5]}.` : `${rows[row]} says ${number(x, 3)}.${moved}`,
      where: `Who has “${rows[row]}” asks for “${cols[col]}” with ${number(x, 3)}.${moved}`,
      what: `From “${rows[row]}” the output gets ${number(x, 3)}.${moved}`,
    }[table];
    const gradient = (was - x) / rate;
    write(readout, text ?? `${table}, row ${rows[row]}, column ${cols[col]}: ${number(x, 3)}.${before ? ` It was ${number(was, 3)}; its gradient there was ${number(gradient, 3)}, and the step took ${rate} times that off.` : ""}`);
  }

  const part = (/** @type {string} */ name, /** @type {string[]} */ ...keys) => h("div", { class: `qkv-learn-${name}` }, ...keys.map((key) => tables[key].el));
  const caption = h("p", { class: "qkv-learn-coins" }, `One of the 32 tables: ${NAMES.map((name, i) => `${name} ${SHOWN.coins[i] > 0 ? "+1" : "−1"}`).join(", ")}`);
  return {
    top: h("div", { class: "qkv-learn-top" }, curve, words),
    now: h("div", {}, caption, part("row", "scores", "weights", "answers"), part("row", "where", "what")),
    four: part("row", "W_Q", "W_K", "W_V", "W_O"),
    readout,
    /** @param {Picture} picture @returns {string} what has changed, in one sentence */
    update({ run, steps, rate: pace, changes }) {
      rate = pace;
      const collect = (/** @type {number} */ n) => {
        const { four } = run.at(n);
        const { scores, weights, says } = forward(four, SHOWN);
        const answers = says.map(([x], i) => [x, SHOWN.wanted[i]]);
        const [W_Q, W_K, W_V, W_O] = four.map((w) => w.map((row) => [...row]));
        return /** @type {Record<string, number[][]>} */ ({ scores, weights, answers, ...maps(four), W_Q, W_K, W_V, W_O });
      };
      const now = collect(steps);
      const before = steps ? collect(steps - 1) : null;
      values = Object.fromEntries(Object.keys(now).map((name) => [name, { now: now[name], before: before && before[name] }]));
      for (const [name] of specs) {
        const delta = changes && name.startsWith("W_");
        const shown = delta ? now[name].map((row, i) => row.map((x, j) => (before ? x - before[name][i][j] : 0))) : now[name];
        const top = name === "weights" ? 1 : Math.max(1e-9, ...shown.flat().map(Math.abs));
        tables[name].write(shown, delta ? changeText : name === "answers" ? (x) => number(x, 2) : (x) => number(x), (x) => (x > 0 && name !== "answers" ? 0.7 * Math.min(1, x / top) : 0));
      }
      const losses = run.losses(steps);
      const last = Math.max(50, steps);
      const at = (/** @type {number} */ i) => `${(30 + ((WIDE - 34) * i) / last).toFixed(1)} ${y(Number.isFinite(losses[i]) ? losses[i] : 9).toFixed(1)}`;
      set(line, { d: losses.map((_, i) => `${i ? "L" : "M"}${at(i)}`).join("") });
      const [cx, cy] = at(steps).split(" ");
      set(dot, { cx, cy });
      write(end, String(last));
      const near = now.weights.reduce((sum, row, i) => sum + row[(i + 1) % 5], 0) / 5;
      const said = sentence(losses, near);
      write(words, said);
      read();
      return said;
    },
  };
}
