// The drawing of a look-up on a line: pairs as dots, the query as a line that can be pushed, weights as bars below, and the
// sum that makes the answer. Knows numbers and names only; what a move means is the caller's affair.

import { extent, niceStep, ticks } from "../math/soft-lookup.mjs";
import { clamp, snap } from "./controls.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { drag, svgPoint } from "./pointer.mjs";

/** @typedef {import("../math/soft-lookup.mjs").State} State */
/** @typedef {ReturnType<typeof import("../math/soft-lookup.mjs").lookUp>} Found */

const WIDE = 420;
const LEFT = 44;
const RIGHT = WIDE - 8;
const TOP = 12;
const BOTTOM = 214; // of the values
const BAR_TOP = 236;
const AXIS = 300; // of the weights
const TALL = 336;
const ROWS = 4;

/** The places at which the curve is computed. @param {readonly number[]} keys */
export function placesOf(keys) {
  const [low, high] = extent(keys);
  return Array.from({ length: 181 }, (_, i) => low + ((high - low) * i) / 180);
}

/** A number of the axis or of a key, as short as its step. @param {number} x @param {number} step */
export function short(x, step) {
  return number(x, Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9))));
}

/**
 * The pairs with the largest weights, and what is left of the sum.
 * @param {Found} found
 */
export function largest({ weights, parts }) {
  const order = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a] || a - b);
  const rest = order.slice(ROWS);
  const add = (/** @type {readonly number[]} */ list) => rest.reduce((sum, j) => sum + list[j], 0);
  return { top: order.slice(0, ROWS), others: rest.length, restWeight: add(weights), restPart: add(parts) };
}

/**
 * What the weights say about the score, in one sentence.
 * @param {State} state
 * @param {Found} found
 * @param {string} unit
 */
export function verdict({ pairs, query, score, hard }, found, unit) {
  const keys = pairs.map(([key]) => key);
  const away = keys.map((key) => Math.abs(key - query));
  const nearest = away.indexOf(Math.min(...away));
  const best = found.weights.indexOf(Math.max(...found.weights));
  const name = (/** @type {number} */ j) => `${number(keys[j], 1)}${unit && ` ${unit}`}`;
  const all = found.weights.every((weight) => Math.abs(weight - 1 / keys.length) < 0.1 / keys.length);
  if (all && !hard) return "All weights are nearly equal: the answer is close to the mean of all values.";
  if (Math.abs(away[best] - away[nearest]) > 1e-12)
    return score === "dot"
      ? `The key at ${name(best)} wins, not the nearest one at ${name(nearest)}: a dot product favours long keys.`
      : `The key at ${name(best)} wins.`;
  if (hard) return `The nearest key, at ${name(best)}, takes all.`;
  return found.weights[best] > 0.995
    ? `The nearest key, at ${name(best)}, takes nearly all: this is the hard look-up.`
    : `The nearest key, at ${name(best)}, has the largest weight, ${number(found.weights[best])}.`;
}

/**
 * @param {{ pairs: State["pairs"], labels: readonly string[], onquery: (query: number, gesture: string) => void }} options
 */
export function lookUpView({ pairs, labels, onquery }) {
  const keys = pairs.map(([key]) => key);
  const values = pairs.map(([, value]) => value);
  const [low, high] = extent(keys);
  const step = niceStep(high - low, 400);
  const margin = 0.08 * (Math.max(...values) - Math.min(...values) || 1);
  const floor = Math.min(...values) - margin;
  const roof = Math.max(...values) + margin;
  const px = (/** @type {number} */ x) => LEFT + ((x - low) / (high - low)) * (RIGHT - LEFT);
  const py = (/** @type {number} */ y) => BOTTOM - ((y - floor) / (roof - floor)) * (BOTTOM - TOP);
  const [keyUnit, valueUnit] = labels;
  const unit = (/** @type {string} */ name) => name && ` ${name}`;
  let now = 0;

  const valueTicks = ticks(floor, roof, 5);
  const keyTicks = ticks(low, high, 7);
  const grid = svg("path", { class: "qkv-grid", d: valueTicks.map((y) => `M${LEFT} ${py(y)}H${RIGHT}`).join("") });
  const axis = svg("path", { class: "qkv-lookup-axis", d: `M${LEFT} ${AXIS}H${RIGHT}M${LEFT} ${BOTTOM + 6}H${RIGHT}` });
  const names = svg(
    "g",
    { class: "qkv-ticks" },
    ...valueTicks.map((y) => svg("text", { x: LEFT - 6, y: py(y) + 4, "text-anchor": "end" }, short(y, niceStep(roof - floor, 5)))),
    ...keyTicks.map((x) => svg("text", { x: px(x), y: AXIS + 19, "text-anchor": "middle" }, short(x, niceStep(high - low, 7)))),
    svg("text", { x: RIGHT, y: AXIS + 34, "text-anchor": "end" }, `key${keyUnit && `, ${keyUnit}`}`),
    svg("text", { x: LEFT + 4, y: TOP + 2 }, `value${valueUnit && `, ${valueUnit}`}`),
    svg("text", { x: LEFT + 4, y: BAR_TOP + 3 }, "weight"),
  );
  const line = svg("path", { class: "qkv-lookup-curve" });
  const gaps = [...keys].sort((a, b) => a - b).map((key, i, all) => (i ? px(key) - px(all[i - 1]) : Infinity));
  const thick = clamp(0.6 * Math.min(...gaps.filter((gap) => gap > 0.5)), 2, 26);
  const bars = keys.map((key) => svg("rect", { class: "qkv-lookup-bar", x: px(key) - thick / 2, width: thick }));
  const marks = svg("path", { class: "qkv-lookup-keys", d: keys.map((key) => `M${px(key)} ${AXIS - 5}v10`).join("") });
  const dots = keys.map((key, j) => svg("circle", { class: "qkv-lookup-dot", cx: px(key), cy: py(values[j]) }));
  const level = svg("path", { class: "qkv-lookup-level" });
  const answer = svg("path", { class: "qkv-lookup-answer" });
  const ray = svg("path", { class: "qkv-lookup-ray", d: `M0 ${TOP}V${AXIS}` });
  const handle = svg(
    "g",
    { class: "qkv-lookup-handle", role: "slider", tabindex: 0, "aria-valuemin": Number(low.toFixed(4)), "aria-valuemax": Number(high.toFixed(4)), "aria-label": "query" },
    ray,
    svg("circle", { class: "qkv-hit", r: 22, cy: BOTTOM + 6 }),
    svg("circle", { class: "qkv-ring", r: 10, cy: BOTTOM + 6 }),
    svg("path", { class: "qkv-lookup-arrows", d: `M-3 ${BOTTOM + 2}l-4 4 4 4M3 ${BOTTOM + 2}l4 4-4 4` }),
  );
  const root = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL}`, role: "group", class: "qkv-lookup-plot", "aria-label": "Pairs of key and value, the query, and the weights" },
    svg("rect", { class: "qkv-lookup-ground", width: WIDE, height: TALL }),
    svg("g", { "aria-hidden": "true" }, grid, axis, ...bars, marks, line, ...dots, level, answer, names),
    handle,
  );

  /** @param {number} to @param {string} gesture */
  function move(to, gesture) {
    const next = snap(clamp(to, low, high), step);
    const inside = next < low ? next + step : next > high ? next - step : next;
    if (inside !== now) onquery(snap(inside, step), gesture);
  }
  const toQuery = (/** @type {PointerEvent} */ event) => low + ((svgPoint(root, event)[0] - LEFT) / (RIGHT - LEFT)) * (high - low);
  const stop = drag(root, {
    start(event) {
      /** @type {SVGElement} */ (handle).focus({ preventScroll: true });
      move(toQuery(event), "drag");
    },
    move(event) {
      move(toQuery(event), "drag");
    },
  });
  handle.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const far = event.shiftKey ? 10 : 1;
    const ways = /** @type {Record<string, number>} */ ({ ArrowLeft: -far, ArrowDown: -far, ArrowRight: far, ArrowUp: far });
    const to =
      event.key in ways
        ? now + ways[event.key] * step
        : event.key === "Home"
          ? low
          : event.key === "End"
            ? high
            : event.key === "PageUp"
              ? Math.min(high, ...keys.filter((key) => key > now + step / 2))
              : event.key === "PageDown"
                ? Math.max(low, ...keys.filter((key) => key < now - step / 2))
                : null;
    if (to === null) return;
    event.preventDefault();
    move(to, "keys");
  });

  const cells = Array.from({ length: ROWS + 1 }, () => Array.from({ length: 4 }, (_, c) => h(c ? "td" : "th", c ? {} : { scope: "row" })));
  const sum = [h("th", { scope: "row" }, "output"), h("td", {}, "1.00"), h("td"), h("td", { class: "qkv-v" })];
  const table = h(
    "table",
    { class: "qkv-lookup-sum" },
    h("caption", { class: "qkv-sr" }, "The sum that makes the output"),
    h("thead", {}, h("tr", {}, ...["key", "weight", "value", "product"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...cells.map((row) => h("tr", {}, ...row)), h("tr", { class: "qkv-lookup-total" }, ...sum)),
  );
  const title = h("p", { class: "qkv-lookup-title" });
  const said = h("p", { class: "qkv-lookup-said" });

  return {
    el: root,
    text: h("div", { class: "qkv-lookup-text" }, title, table, said),
    /** @param {{ state: State, found: Found, outputs: readonly number[], places: readonly number[] }} picture */
    update({ state, found, outputs, places }) {
      now = state.query;
      const tallest = Math.max(...found.weights);
      line.setAttribute("d", outputs.map((y, i) => `${i ? "L" : "M"}${px(places[i]).toFixed(1)} ${py(y).toFixed(1)}`).join(""));
      found.weights.forEach((weight, j) => {
        const tall = weight * (AXIS - BAR_TOP);
        set(bars[j], { y: AXIS - tall, height: tall });
        set(dots[j], { r: 4 + 4 * Math.sqrt(weight), "data-heavy": weight > 0.2 ? "yes" : null });
      });
      const x = px(now);
      const y = py(found.output);
      set(handle, { transform: `translate(${x})`, "aria-valuenow": Number(now.toFixed(4)), "aria-valuetext": `${short(now, step)}${unit(keyUnit)}, output ${number(found.output, 1)}${unit(valueUnit)}` });
      set(answer, { d: `M${x} ${y - 7}l7 7-7 7-7-7Z` });
      set(level, { d: `M${LEFT} ${y}H${x - 7}` });

      const { top, others, restWeight, restPart } = largest(found);
      cells.forEach((row, i) => {
        const j = top[i];
        const texts =
          i === ROWS || j === undefined
            ? i === ROWS && others
              ? [`${others} others`, number(restWeight), "", number(restPart, 1)]
              : ["", "", "", ""]
            : [number(keys[j], 1), number(found.weights[j]), number(values[j], 0), number(found.parts[j], 1)];
        row.forEach((cell, c) => write(cell, texts[c]));
        row[1].style.setProperty("--share", `${100 * (i === ROWS ? restWeight : (found.weights[j] ?? 0))}%`);
      });
      write(sum[3], number(found.output, 1));
      write(title, `Query ${short(now, step)}${unit(keyUnit)}: output ${number(found.output, 1)}${unit(valueUnit)}`);
      write(said, verdict(state, found, keyUnit));
      set(root, { "data-hard": tallest === 1 ? "yes" : null });
    },
    destroy: stop,
  };
}
