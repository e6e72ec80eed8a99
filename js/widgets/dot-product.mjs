// DotProduct: two vectors moved by hand, and the arithmetic that follows (chapter 2).
// Traits: x, y (two numbers each), labels, pairs [{ name, labels, x, y }], onto ("x" | "y" | "none").

import { cosineSimilarity, degrees, dotProduct, projection, vectorLength, zone } from "../math/vectors.mjs";
import { bind, history, vector } from "../ui/bind.mjs";
import { choiceRow, numberRow, selectRow } from "../ui/controls.mjs";
import { h, set, uid, write } from "../ui/dom.mjs";
import { dotPlane, planeLimit, planeStep } from "../ui/dot-plane.mjs";
import { factor, number } from "../ui/format.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

/** @typedef {{ name: string, labels: string[], x: number[], y: number[] }} Pair */
/** @typedef {"x" | "y"} Which */

const TRAITS = ["x", "y", "labels", "pairs", "onto"];
const BOUND = 100;
const KINDS = {
  none: "A vector without length points nowhere: no angle, no cosine.",
  same: "one direction: the dot product is the product of the lengths.",
  acute: "acute: they lean the same way, and the dot product is positive.",
  right: "a right angle: neither has a part along the other.",
  obtuse: "obtuse: they lean against each other, and the dot product is negative.",
  opposite: "opposed: the dot product is minus the product of the lengths.",
};

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, ["x", "y", "labels", "onto"]);
  /** @returns {Pair[]} */
  const pairs = () => model.get("pairs");
  let limit = 0;

  /** @param {Which} which @param {number[]} to @param {string} gesture */
  const move = (which, to, gesture) => {
    const { index } = current();
    // A vector moved by hand is no longer the word's.
    past.change({ [which]: to, ...(index >= 0 ? { labels: ["x", "y"] } : {}) }, gesture);
  };

  /** The pair of the list that is on the plane now, or -1. */
  const current = () => {
    const [x, y] = [vector(model.get("x")), vector(model.get("y"))];
    const equal = (/** @type {number[]} */ a, /** @type {number[]} */ b) => a[0] === b[0] && a[1] === b[1];
    return { x, y, index: pairs().findIndex((pair) => equal(x, pair.x) && equal(y, pair.y)) };
  };

  const hint = uid();
  const plane = dotPlane({ onmove: move, describedby: hint });
  const live = liveRegion();

  /** @type {import("../ui/controls.mjs").Row<string, HTMLSelectElement> | undefined} */
  let select;
  if (pairs().length) {
    select = selectRow({
      label: "Pair",
      options: [...pairs().map((pair, i) => /** @type {const} */ ([String(i), pair.name])), ["-1", "moved by hand"]],
      onchange(value) {
        const pair = pairs()[Number(value)];
        if (!pair) return;
        past.change({ x: pair.x, y: pair.y, labels: pair.labels });
      },
    });
    set(select.input.options[pairs().length], { hidden: true });
  }
  const buttons = undoButtons(past);

  const fields = /** @type {const} */ (["x", "y"]).map((which) => {
    const rows = [0, 1].map((i) =>
      numberRow({
        label: `entry ${i + 1}`,
        hideLabel: true,
        min: -BOUND,
        max: BOUND,
        step: () => planeStep(limit),
        oninput(value) {
          const to = vector(model.get(which));
          to[i] = value;
          move(which, to, `type ${which} ${i}`);
        },
      }),
    );
    const name = h("span", { class: `qkv-name-${which}` });
    return { name, rows, el: h("div", { class: "qkv-entries" }, name, "= (", rows[0].el, ",", rows[1].el, ")") };
  });
  const shadow = choiceRow({
    label: "Shadow of",
    options: [["x", ""], ["y", ""], ["none", "neither"]],
    onchange(value) {
      past.change({ onto: value });
    },
  });
  const shadowTexts = [...shadow.el.querySelectorAll("span")];

  const title = h("p", { class: "qkv-dot-title" });
  const products = h("p", { class: "qkv-dot-work", "data-part": "dot" });
  const sums = h("p", { class: "qkv-dot-work", "data-part": "dot" });
  const kind = h("p", { class: "qkv-dot-kind" });
  const lines = {
    x: line("x"),
    y: line("y"),
    cosine: line("cosine"),
    shadow: line("shadow"),
  };

  const ui = h(
    "div",
    { class: "qkv-ui qkv-dot", onkeydown: undoKey(past, { fields: false }) },
    h("div", { class: "qkv-bar" }, select?.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    h(
      "div",
      { class: "qkv-dot-body" },
      h(
        "div",
        { class: "qkv-dot-left" },
        plane.el,
        h("p", { class: "qkv-hint", id: hint }, "Drag a tip, or focus it and use the arrow keys."),
      ),
      h(
        "div",
        { class: "qkv-dot-right" },
        h("div", { class: "qkv-dot-sum" }, title, products, sums, kind),
        h("dl", { class: "qkv-dot-lines" }, ...Object.values(lines).flatMap(({ term, work }) => [term, work])),
        shadow.el,
      ),
      h("div", { class: "qkv-dot-inputs" }, ...fields.map((field) => field.el)),
    ),
    live.el,
  );

  function update() {
    const { x, y, index } = current();
    const [a, b] = /** @type {string[]} */ (model.get("labels"));
    const onto = /** @type {Which | "none"} */ (model.get("onto"));
    // The plane keeps its scale under the hand; it grows only for a vector that lies outside.
    const all = [x, y, ...pairs().flatMap((pair) => [pair.x, pair.y])];
    if (all.flat().some((entry) => Math.abs(entry) > limit)) limit = planeLimit(all);
    const dot = dotProduct(x, y);
    const cosine = cosineSimilarity(x, y);
    const lengths = { x: vectorLength(x), y: vectorLength(y) };
    const falls = onto === "y" ? projection(x, y) : projection(y, x);
    plane.update({ x, y, labels: [a, b], onto, limit, cosine, shadow: falls });

    title.replaceChildren(name("x", a), " · ", name("y", b), " = ", h("b", { class: "qkv-w" }, number(dot)));
    write(products, `= ${number(x[0])} × ${factor(y[0])} + ${factor(x[1])} × ${factor(y[1])}`);
    write(sums, `= ${number(x[0] * y[0])} ${plus(x[1] * y[1])}`);
    const round = zone(cosine) === "none" ? "" : `${number(degrees(cosine), 1)}°, `;
    write(kind, round + KINDS[zone(cosine)]);
    fill(lines.x, `length of ${a}`, `√(${square(x[0])} + ${square(x[1])}) =`, lengths.x);
    fill(lines.y, `length of ${b}`, `√(${square(y[0])} + ${square(y[1])}) =`, lengths.y);
    fill(lines.cosine, "cosine", `${number(dot)} ÷ (${number(lengths.x)} × ${number(lengths.y)}) =`, cosine);
    const [onName, ofName, under] = onto === "y" ? [b, a, lengths.y] : [a, b, lengths.x];
    fill(lines.shadow, `shadow of ${ofName} on ${onName}`, `${number(dot)} ÷ ${number(under)} =`, falls.length);

    select?.set(String(index));
    shadow.set(onto);
    write(shadowTexts[0], `${b} on ${a}`);
    write(shadowTexts[1], `${a} on ${b}`);
    fields.forEach(({ name: title, rows }, i) => {
      const label = [a, b][i];
      write(title, label);
      rows.forEach((row, entry) => {
        write(/** @type {HTMLLabelElement} */ (row.input.labels?.[0] ?? row.el.firstChild), `${label}, entry ${entry + 1}`);
        row.set([x, y][i][entry]);
      });
    });
    buttons.update();
    // Silent at first: a page with five figures should not speak five times when it opens.
    if (ui.isConnected) live.say(`${a} · ${b} = ${number(dot)}, cosine ${number(cosine)}`);
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, TRAITS, update, () => {
    plane.destroy();
    live.destroy();
    ui.remove();
  });
}

/** @param {string} part */
function line(part) {
  const result = h("b", {});
  const work = h("span", {});
  const term = h("dt", { "data-part": part });
  return { term, work: h("dd", { "data-part": part }, work, " ", result), text: work, result };
}

/** @param {ReturnType<typeof line>} parts @param {string} term @param {string} work @param {number} result */
function fill(parts, term, work, result) {
  write(parts.term, term);
  write(parts.text, work);
  write(parts.result, number(result));
}

/** @param {Which} which @param {string} label */
function name(which, label) {
  return h("span", { class: `qkv-name-${which}` }, label);
}

/** A term of a sum with its sign in front. @param {number} x */
function plus(x) {
  const text = number(x);
  return text.startsWith("−") ? `− ${text.slice(1)}` : `+ ${text}`;
}

/** @param {number} x */
function square(x) {
  return `${factor(x)}²`;
}

export default { render };
