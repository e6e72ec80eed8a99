// PatchAttention's drawing: a picture to paint, the patches with what one row looks at, and the scores of the classes.

import { ACROSS, FULL, known, pixelsOfPatches, probabilities, SIDE } from "../math/patch-attention.mjs";
import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { matrixTable, placeOf, step } from "./matrix.mjs";

/**
 * @typedef {object} Look
 * @property {number[]} ink
 * @property {number} layer
 * @property {string} view
 * @property {number} query 0 is the class token
 * @property {number[][]} weights 17 by 17
 * @property {number[]} scores one a class
 */

const PIXELS = pixelsOfPatches();
const percent = (/** @type {number} */ x) => number(100 * x, 1);
/** @param {number} i */
export const nameOf = (i) => (i ? `patch ${i}` : "class token");

/** What is looked at, in a sentence. @param {Look} look */
export function sentence({ layer, view, query, weights }) {
  const row = weights[query];
  const top = row.indexOf(Math.max(...row));
  const who = query ? `Patch ${query}` : "The class token";
  const most = `${top === query ? "itself" : `${top ? "" : "the "}${nameOf(top)}`}, ${percent(row[top])} %`;
  if (view === "rollout") return `${who}, rollout up to layer ${layer + 1}: the largest share is ${most}.`;
  return `${who} asks in layer ${layer + 1}, ${view === "mean" ? "mean of the heads" : `head ${Number(view) + 1}`}: it looks most at ${most}.`;
}

/** What the model says, in a sentence. @param {Look} look */
export function verdict({ ink, scores }) {
  const p = probabilities(scores);
  const said = p.indexOf(Math.max(...p));
  const digit = known(ink);
  const right = digit ? (digit[1] === said ? " Right." : ` Wrong: it is a ${digit[1]}.`) : "";
  return `The model says ${said}, ${percent(p[said])} % sure.${right}`;
}

/** Where a key leads from a patch: the class token stands above them all. @param {number} from @param {KeyboardEvent} event */
function walk(from, event) {
  if (from === 0) return { ArrowDown: 1, ArrowRight: 1, Home: 0, End: ACROSS * ACROSS }[event.key];
  if (from <= ACROSS && event.key === "ArrowUp") return 0;
  const next = step(event, [Math.floor((from - 1) / ACROSS), (from - 1) % ACROSS], [ACROSS, ACROSS]);
  return next ? 1 + ACROSS * next[0] + next[1] : undefined;
}

/** @param {{ onask: (query: number) => void, onpaint: (pixel: number, ink: number, gesture: string) => void }} options */
export function patchView({ onask, onpaint }) {
  /** @type {Look | undefined} */
  let now;

  // The picture: 64 pixels in a grid with one tab stop.
  const pixels = Array.from({ length: SIDE * SIDE }, () => h("td", { tabindex: -1 }));
  const picture = h(
    "table",
    { role: "grid", "aria-label": "picture: space turns a pixel's ink on and off, plus and minus change it", class: "qkv-patch-picture" },
    h("tbody", {}, ...Array.from({ length: SIDE }, (_, r) => h("tr", {}, ...pixels.slice(SIDE * r, SIDE * r + SIDE)))),
  );
  let stop = 0;
  const ink = () => /** @type {Look} */ (now).ink;
  /** @param {number} i @param {boolean} [focus] */
  function stand(i, focus = false) {
    pixels[stop].tabIndex = -1;
    pixels[(stop = i)].tabIndex = 0;
    if (focus) pixels[i].focus();
  }
  stand(0);
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const i = pixels.indexOf(/** @type {HTMLTableCellElement} */ (event.target));
    const next = step(event, [Math.floor(i / SIDE), i % SIDE], [SIDE, SIDE]);
    const by = { "+": 4, "=": 4, "-": -4 }[event.key];
    if (next) stand(SIDE * next[0] + next[1], true);
    else if (event.key === " " || event.key === "Enter") onpaint(i, ink()[i] ? 0 : FULL, "");
    else if (by) onpaint(i, Math.min(FULL, Math.max(0, ink()[i] + by)), "");
    else return;
    event.preventDefault();
  });
  let brush = -1;
  const paint = (/** @type {PointerEvent} */ event, /** @type {string} */ gesture) => {
    const i = pixels.indexOf(/** @type {any} */ (document.elementFromPoint(event.clientX, event.clientY)));
    if (i < 0) return;
    if (brush < 0) brush = ink()[i] ? 0 : FULL;
    if (ink()[i] !== brush) onpaint(i, brush, gesture);
    stand(i);
  };
  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    picture.setPointerCapture(event.pointerId);
    paint(event, "");
    pixels[stop].focus({ preventScroll: true });
  });
  picture.addEventListener("pointermove", (event) => brush >= 0 && paint(event, "paint"));
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, () => (brush = -1));

  // The patches, the class token above them.
  const marks = Array.from({ length: 1 + PIXELS.length }, () => h("span", { class: "qkv-patch-mark" }));
  const texts = marks.map(() => h("span", { class: "qkv-patch-text" }));
  const inks = PIXELS.map((four) => four.map(() => h("span", { class: "qkv-patch-ink" })));
  const cells = marks.map((mark, i) =>
    h("td", { tabindex: -1, colspan: i ? null : ACROSS, class: i ? "" : "qkv-patch-class" }, ...(i ? inks[i - 1] : [h("span", { class: "qkv-patch-name" }, "class token"), " "]), mark, texts[i]),
  );
  const table = h(
    "table",
    { role: "grid", "aria-label": "patches: the one you stand on asks", class: "qkv-patch-table" },
    h("tbody", {}, h("tr", {}, cells[0]), ...Array.from({ length: ACROSS }, (_, r) => h("tr", {}, ...cells.slice(1 + ACROSS * r, 1 + ACROSS * r + ACROSS)))),
  );
  table.addEventListener("keydown", (event) => {
    const next = walk(cells.indexOf(/** @type {HTMLTableCellElement} */ (event.target)), event);
    if (next === undefined) return;
    event.preventDefault();
    cells[next].focus();
  });
  table.addEventListener("focusin", (event) => onask(cells.indexOf(/** @type {HTMLTableCellElement} */ (event.target))));
  table.addEventListener("click", (event) => {
    const td = /** @type {Element} */ (event.target).closest("td");
    if (td instanceof HTMLTableCellElement) td.focus();
  });

  const classes = matrixTable({ name: "classes", role: "x", label: "scores of the classes", rows: ["score", "%"], cols: Array.from({ length: 10 }, (_, c) => String(c)), heat: true });
  classes.table.addEventListener("keydown", (event) => {
    const next = step(event, placeOf(/** @type {HTMLTableCellElement} */ (event.target)), [2, 10]);
    if (!next) return;
    event.preventDefault();
    classes.cells[next[0]][next[1]].focus();
  });
  classes.table.addEventListener("focusin", (event) => classes.rove(/** @type {HTMLTableCellElement} */ (event.target)));
  const said = h("p", { class: "qkv-patch-said" });
  const says = h("p", { class: "qkv-patch-says" });

  return {
    body: h(
      "div",
      { class: "qkv-patch-body" },
      h("div", { class: "qkv-patch-side" }, h("p", { class: "qkv-patch-head" }, "Picture: paint"), picture),
      h("div", { class: "qkv-patch-side" }, h("p", { class: "qkv-patch-head" }, "Patches: who looks where, in %"), table),
      h("div", { class: "qkv-patch-words" }, said, says, classes.el),
    ),
    /** @param {Look} look */
    update(look) {
      const before = now;
      now = look;
      look.ink.forEach((x, i) => {
        if (before?.ink[i] === x) return;
        pixels[i].style.setProperty("--ink", `${(100 * x) / FULL}%`);
        set(pixels[i], { "aria-label": `row ${Math.floor(i / SIDE) + 1}, column ${(i % SIDE) + 1}, ink ${x} of ${FULL}` });
      });
      PIXELS.forEach((four, p) => four.forEach((pixel, i) => inks[p][i].style.setProperty("--ink", `${(100 * look.ink[pixel]) / FULL}%`)));
      const row = look.weights[look.query];
      const top = Math.max(...row);
      cells.forEach((td, i) => {
        marks[i].style.setProperty("--side", `${Math.round(100 * Math.sqrt(row[i] / top))}%`);
        write(texts[i], percent(row[i]));
        set(td, { "aria-label": `${nameOf(i)} ${percent(row[i])} percent`, "aria-selected": i === look.query ? "true" : "false", tabindex: i === look.query ? 0 : -1 });
        td.classList.toggle("qkv-patch-asks", i === look.query);
      });
      write(said, sentence(look));
      write(says, verdict(look));
      const p = probabilities(look.scores);
      const best = p.indexOf(Math.max(...p));
      classes.write([look.scores, p.map((x) => 100 * x)], (x) => number(x, 1), (x) => 0 * x);
      classes.cells[1].forEach((td, c) => td.style.setProperty("--shade", `${Math.round(35 * p[c])}%`));
      classes.colHeads.forEach((th, c) => th.classList.toggle("qkv-here-head", c === best));
    },
  };
}
