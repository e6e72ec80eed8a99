// The picture of one attention head: every array a table, and each number shows where it came from.
// Knows nothing of traits: it is given numbers, and tells of edits.

import { INPUTS, NAMES, cellsOf, shares, sources, strongest, uses } from "../math/trace.mjs";
import { button, choiceRow, snap } from "./controls.mjs";
import { h, uid, write } from "./dom.mjs";
import { number, parse } from "./format.mjs";
import { keepKeys } from "./keys.mjs";
import { liveRegion } from "./live-region.mjs";
import { axes, bandName, cellName, equals, explain, formula, plainName, short, sizesOf } from "./matrix-text.mjs";
import { decimals, matrixTable, placeOf, step } from "./matrix.mjs";

/** @typedef {import("../math/trace.mjs").Cell} Cell */
/** @typedef {import("../math/trace.mjs").Name} Name */
/** @typedef {import("./matrix-text.mjs").Flow} Flow */
/**
 * @typedef {object} Wishes what the reader wants changed
 * @property {(gesture?: string) => void} begin comes before a change that can be undone
 * @property {(cell: Cell, value: number) => void} edit
 * @property {() => void} undo
 * @property {() => void} reset
 * @property {(mode: string) => void} mode
 * @property {(mask: string) => void} mask
 */

export const BOUND = 999;

/** @type {Record<Name, string>} */
const ROLES = { x_q: "x", x_kv: "x", w_q: "q", q: "q", w_k: "k", k: "k", w_v: "v", v: "v", scores: "w", weights: "w", output: "o" };

/** @param {Wishes} on */
export function matrixFlow(on) {
  /** @type {Flow} */
  let flow;
  let shape = "";
  /** @type {Partial<Record<Name, ReturnType<typeof matrixTable>>>} */
  let tables = {};
  /** The cell last looked at, by hand or by focus. @type {Cell | undefined} */
  let looked;
  /** Cells that are held, each a source of the one before. @type {Cell[]} */
  let trail = [];
  /** @type {{ cell: Cell, input: HTMLInputElement, before: number, changed: boolean } | undefined} */
  let editing;
  let wasFocused = false;

  const live = liveRegion();
  const mode = choiceRow({ label: "Attention", options: [["self", "self"], ["cross", "cross"]], onchange: on.mode });
  const mask = choiceRow({ label: "Mask", options: [["none", "none"], ["causal", "causal"]], onchange: on.mask });
  const why = h("p", { class: "qkv-flow-why", id: uid() });
  for (const input of mask.input) input.setAttribute("aria-describedby", why.id);
  const undo = button("Undo", on.undo);
  const reset = button("Reset", on.reset);
  const hint = h(
    "p",
    { class: "qkv-flow-hint" },
    "Point at a number: the row and the column it came from light up. Click to hold it, then click a lit number to go one step back. ",
    "To change a number of X or W, click it twice or type.",
    h("span", { class: "qkv-flow-keys" }, " Keys: arrows move; Enter holds, then goes back; Esc lets go."),
  );
  const panel = h("div", { class: "qkv-flow-panel" }, mode.el, mask.el, why, h("div", { class: "qkv-buttons" }, undo, reset), hint);
  const top = h("div", { class: "qkv-flow-top" }, panel);
  const bottom = h("div", { class: "qkv-flow-bottom" });
  const title = h("p", { class: "qkv-readout-title" });
  const about = h("p", { class: "qkv-readout-note" });
  const work = h("p", { class: "qkv-readout-work" });
  const foot = h("div", { class: "qkv-readout-foot" });
  const path = h("ol", { class: "qkv-path", "aria-label": "Path walked back" });
  const readout = h("div", { class: "qkv-readout", role: "group", "aria-label": "Where this number comes from" }, path, title, about, work, foot);
  const root = h("div", { class: "qkv-ui qkv-flow" }, top, bottom, readout, live.el);
  keepKeys(root);

  const same = (/** @type {Cell | undefined} */ a, /** @type {Cell | undefined} */ b) =>
    a?.name === b?.name && a?.row === b?.row && a?.col === b?.col;
  const held = () => trail.at(-1);
  const active = () => /** @type {Cell} */ (held() ?? looked);
  const elementOf = (/** @type {Cell} */ { name, row, col }) => tables[name]?.cells[row]?.[col];
  const labelOf = (/** @type {Cell} */ cell) => {
    const { name, row, col } = cellName(cell, flow);
    return `${name}[${row}, ${col}]`;
  };
  const isInput = (/** @type {Cell} */ cell) => INPUTS.includes(cell.name);
  const litCells = (/** @type {Cell} */ cell) => sources(cell, flow.self).flatMap((band) => cellsOf(band, flow.values));
  const isLit = (/** @type {Cell} */ cell) => trail.length > 0 && litCells(active()).some((source) => same(source, cell));

  /** @param {EventTarget | null} target @returns {Cell | undefined} */
  const cellAt = (target) => {
    const td = target instanceof Element ? /** @type {HTMLTableCellElement | null} */ (target.closest("tbody td")) : null;
    const name = /** @type {Name | undefined} */ (/** @type {HTMLElement | null} */ (td?.closest("[data-matrix]"))?.dataset.matrix);
    if (!td || !name) return undefined;
    const [row, col] = placeOf(td);
    return { name, row, col };
  };

  /** @param {Cell} cell */
  const rove = (cell) => {
    const td = elementOf(cell);
    if (td) tables[cell.name]?.rove(td);
  };

  /** @param {Cell} cell */
  const focus = (cell) => elementOf(cell)?.focus();

  /** Hold a cell; with `back`, as a source of the one held until now. @param {Cell} cell @param {boolean} [back] */
  const hold = (cell, back = false) => {
    trail = back ? [...trail, cell] : [cell];
    looked = cell;
    for (const band of sources(cell, flow.self)) {
      rove(strongest(cell, band, flow.self, flow.values)); // Tab leads to the sources
    }
    focus(cell);
    show(true);
  };

  const letGo = () => {
    const [first] = trail;
    trail = [];
    if (first && root.contains(document.activeElement)) focus(first);
    looked = first ?? looked;
    show(true);
  };

  /** Keep so many steps of the path. @param {number} count */
  const backTo = (count) => {
    trail.length = count;
    focus(active());
    show(true);
  };

  /** Go from the cell that is shown to the place of one of its bands that matters most. @param {number} which */
  const goBack = (which) => {
    const cell = active();
    const band = sources(cell, flow.self)[which];
    if (!trail.length) trail = [cell];
    hold(strongest(cell, band, flow.self, flow.values), true);
  };

  // Editing ------------------------------------------------------------------------------------

  /** @param {Cell} cell @param {string} [typed] */
  const edit = (cell, typed) => {
    const td = elementOf(cell);
    if (!td) return;
    finish(true);
    const before = flow.values[cell.name][cell.row][cell.col];
    const input = h("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      value: typed ?? short(before).replace("−", "-"),
      "aria-label": labelOf(cell),
    });
    editing = { cell, input, before, changed: false };
    td.append(input);
    input.focus();
    if (typed === undefined) input.select();
    else tryTyped();
  };

  const tryTyped = () => {
    if (!editing) return;
    const x = parse(editing.input.value);
    const fits = Math.abs(x) <= BOUND;
    if (fits) editing.input.removeAttribute("aria-invalid");
    else editing.input.setAttribute("aria-invalid", "true");
    if (fits) change(x);
  };

  /** @param {number} x */
  const change = (x) => {
    if (!editing) return;
    if (!editing.changed) on.begin();
    editing.changed = true;
    on.edit(editing.cell, x);
  };

  /** @param {boolean} keep */
  const finish = (keep) => {
    if (!editing) return;
    const { input, cell, before, changed } = editing;
    const refused = keep && !(Math.abs(parse(input.value)) <= BOUND);
    if (changed && (!keep || refused)) on.edit(cell, before);
    const hadFocus = input.matches(":focus");
    editing = undefined;
    input.remove();
    if (hadFocus) focus(cell);
    if (refused) live.say(`not a number between −${BOUND} and ${BOUND}: ${short(before)} stays`);
  };

  /** @param {Cell} cell @param {number} by */
  const nudge = (cell, by) => {
    const x = snap(flow.values[cell.name][cell.row][cell.col] + by, 0.1);
    if (Math.abs(x) > BOUND) return;
    on.begin(`step ${JSON.stringify(cell)}`);
    on.edit(cell, x);
  };

  // Hands ----------------------------------------------------------------------------------------

  root.addEventListener("pointerover", (event) => {
    const cell = event.pointerType === "touch" || editing ? undefined : cellAt(event.target);
    if (!cell || same(cell, looked)) return;
    looked = cell;
    show(false);
  });
  root.addEventListener("pointerdown", (event) => {
    const cell = cellAt(event.target);
    wasFocused = Boolean(cell && elementOf(cell)?.matches(":focus"));
  });
  root.addEventListener("click", (event) => {
    const cell = cellAt(event.target);
    if (!cell || event.target instanceof HTMLInputElement) return;
    const touch = /** @type {PointerEvent} */ (event).pointerType === "touch";
    if (isLit(cell)) hold(cell, true);
    else if (isInput(cell)) {
      if (wasFocused) edit(cell);
    } else if (same(cell, held())) letGo();
    else if (!touch || wasFocused) hold(cell);
    else if (trail.length) {
      trail = [];
      show(true);
    }
  });
  root.addEventListener("focusin", (event) => {
    const target = event.target;
    const cell = target instanceof HTMLTableCellElement ? cellAt(target) : undefined;
    if (!cell) return;
    rove(cell);
    looked = cell;
    show(true);
  });
  root.addEventListener("focusout", (event) => {
    if (editing && event.target === editing.input) finish(true);
  });
  root.addEventListener("input", (event) => {
    if (editing && event.target === editing.input) tryTyped();
  });
  root.addEventListener("keydown", (event) => {
    if (!(editing && event.target === editing.input ? keyInField(event) : keyOnCell(event))) return;
    event.preventDefault();
    event.stopPropagation();
  });

  /** @param {KeyboardEvent} event */
  const keyInField = (event) => {
    if (!editing) return false;
    const { input } = editing;
    if (event.key === "Enter" || event.key === "Escape") {
      finish(event.key === "Enter");
      return true;
    }
    const sign = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    const from = parse(input.value);
    if (!sign || !Number.isFinite(from)) return false;
    const x = snap(from + sign * (event.shiftKey ? 0.1 : 1), 0.1);
    if (Math.abs(x) <= BOUND) {
      input.value = String(x);
      tryTyped();
    }
    return true;
  };

  /** @param {KeyboardEvent} event */
  const keyOnCell = (event) => {
    const { key } = event;
    const other = event.ctrlKey || event.metaKey || event.altKey;
    if (key === "z" && other && !event.altKey) {
      on.undo();
      return true;
    }
    if (key === "Escape" && trail.length) {
      letGo();
      return true;
    }
    const cell = cellAt(event.target);
    const table = cell && tables[cell.name];
    if (!cell || !table) return false;
    const to = step(event, [cell.row, cell.col], [table.cells.length, table.cells[0].length]);
    if (to) {
      table.cells[to[0]][to[1]].focus();
      return true;
    }
    if (other) return false;
    if (key === "Enter" || (key === " " && !isInput(cell))) {
      if (isLit(cell)) hold(cell, true);
      else if (isInput(cell)) edit(cell);
      else if (same(cell, held())) focus(strongest(cell, sources(cell, flow.self)[0], flow.self, flow.values));
      else hold(cell);
      return true;
    }
    if (key === "Backspace" && trail.length > 1) {
      backTo(trail.length - 1);
      return true;
    }
    if (!isInput(cell)) return false;
    if (key === "F2") edit(cell);
    else if (key === "Delete" || key === "Backspace") {
      on.begin();
      on.edit(cell, 0);
    } else if (/^[0-9.,+−-]$/.test(key)) edit(cell, key);
    else return false;
    return true;
  };

  // What is seen ---------------------------------------------------------------------------------

  /** @type {[Element, string[]][]} */
  let marks = [];
  const mark = (/** @type {Element | undefined} */ element, /** @type {string[]} */ ...names) => {
    if (!element) return;
    element.classList.add(...names);
    marks.push([element, names]);
  };

  const light = () => {
    for (const [element, names] of marks) {
      element.classList.remove(...names);
      element.removeAttribute("aria-selected");
    }
    marks = [];
    const cell = active();
    const here = elementOf(cell);
    mark(here, "qkv-here", ...(trail.length ? ["qkv-held"] : []));
    if (trail.length) here?.setAttribute("aria-selected", "true");
    const counts = shares(cell, flow.self, flow.values);
    for (const band of sources(cell, flow.self)) {
      cellsOf(band, flow.values).forEach((source, i) => mark(elementOf(source), "qkv-lit", `qkv-lit-${band.axis}`, ...(counts[i] ? ["qkv-hot"] : [])));
      markHead(band, "qkv-lit-head");
    }
    for (const band of uses(cell, flow.self)) {
      for (const use of cellsOf(band, flow.values)) mark(elementOf(use), "qkv-use");
      markHead(band, "qkv-lit-head");
    }
    markHead({ name: cell.name, axis: "row", index: cell.row }, "qkv-here-head");
    markHead({ name: cell.name, axis: "col", index: cell.col }, "qkv-here-head");
  };

  /** @param {import("../math/trace.mjs").Band} band @param {string} className */
  const markHead = ({ name, axis, index }, className) => {
    const table = tables[name];
    mark((axis === "row" ? table?.rowHeads : table?.colHeads)?.[index], className);
  };

  let footKey = "";
  /** @param {boolean} speak */
  const show = (speak) => {
    const cell = active();
    light();
    const { note, work: parts, spoken } = explain(cell, flow);
    const at = cellName(cell, flow);
    const value = flow.values[cell.name][cell.row][cell.col];
    readout.dataset.role = ROLES[cell.name];
    title.replaceChildren(
      h("b", { class: `qkv-as-${ROLES[cell.name]} qkv-readout-name` }, ...maths(at.name), `[${at.row}, ${at.col}]`),
      ` ${equals(value)} `,
      h("b", {}, short(value)),
    );
    write(about, note);
    work.replaceChildren(...parts.map(drawPart));
    const key = JSON.stringify([cell, trail, shape]);
    if (key !== footKey) {
      footKey = key;
      drawFoot(cell);
    }
    const peek = trail.length && looked && !same(looked, cell) ? looked : undefined;
    if (speak) live.say(peek ? explain(peek, flow).spoken + (isLit(peek) ? ". Enter goes on from here" : "") : spoken);
  };

  /** @param {Cell} cell */
  const drawFoot = (cell) => {
    /** @type {Node[]} */
    const parts = [];
    if (isInput(cell)) {
      const label = labelOf(cell);
      parts.push(
        h("span", {}, "Change it:"),
        button("− 1", () => nudge(cell, -1), { "aria-label": `− 1: ${label}` }),
        button("+ 1", () => nudge(cell, 1), { "aria-label": `+ 1: ${label}` }),
      );
    } else {
      parts.push(h("span", {}, "Came from:"));
      sources(cell, flow.self).forEach((band, i) => parts.push(button(bandName(band, flow), () => goBack(i), { class: `qkv-button qkv-as-${ROLES[band.name]}` })));
    }
    if (trail.length) parts.push(button("Let go", letGo, { class: "qkv-button qkv-let-go" }));
    path.replaceChildren(...trail.slice(0, -1).map((step, i) => h("li", {}, button(labelOf(step), () => backTo(i + 1), { class: "qkv-crumb" }))));
    foot.replaceChildren(...parts);
  };

  const rebuild = () => {
    finish(false);
    tables = {};
    const { dK, dV } = sizesOf(flow);
    for (const name of NAMES) {
      if (flow.self && name === "x_q") continue;
      const { rows, cols } = axes(name, flow, { dK, dV });
      const input = INPUTS.includes(name);
      const words = name.startsWith("x") ? "input" : name.startsWith("w_") ? "learned" : "computed";
      const table = matrixTable({
        name,
        role: ROLES[name],
        label: `${plainName(name, flow.self)}, ${words}, ${rows.length} rows, ${cols.length} columns`,
        rows,
        cols,
        editable: input,
        upright: cols.some((text) => text.length > 6) || name.startsWith("x"),
        heat: name === "scores" || name === "weights",
      });
      const size = `${rows.length} × ${cols.length}`;
      table.head.append(h("span", { class: "qkv-formula" }, ...maths(formula(name, flow.self))), h("small", {}, input ? `${size}, ${words}` : size));
      tables[name] = table;
    }
    const draw = (/** @type {readonly Name[]} */ names) => names.flatMap((name) => tables[name]?.el ?? []);
    top.replaceChildren(panel, ...draw(NAMES.slice(0, -3)));
    bottom.replaceChildren(...draw(NAMES.slice(-3)));
    root.dataset.mode = flow.self ? "self" : "cross";
  };

  const write_ = () => {
    const finite = flow.values.scores.flat().filter(Number.isFinite);
    const least = Math.min(...finite);
    const range = Math.max(...finite) - least || 1;
    for (const name of NAMES) {
      const values = flow.values[name];
      const digits = name === "weights" || name === "output" ? 2 : decimals(values);
      const share =
        name === "weights" ? (/** @type {number} */ x) => x : name === "scores" ? (/** @type {number} */ x) => (x === -Infinity ? 0 : 0.6 * ((x - least) / range)) : undefined;
      tables[name]?.write(values, INPUTS.includes(name) ? short : (x) => number(x, digits), share, share && flow.values.scores);
    }
  };

  return {
    el: root,
    /**
     * @param {Flow} next
     * @param {{ canUndo: boolean, isFirst: boolean, canSelf: boolean }} can
     */
    update(next, can) {
      flow = next;
      const { dK, dV } = sizesOf(flow);
      const now = JSON.stringify([flow.self, flow.tokensQ, flow.tokensKv, flow.columnsQ, flow.columnsKv, dK, dV]);
      if (now !== shape) {
        shape = now;
        trail = [];
        rebuild();
        looked = mostTelling(flow);
        rove(looked);
      }
      write_();
      mode.set(flow.self ? "self" : "cross");
      mode.input[0].disabled = !can.canSelf;
      mask.set(flow.causal ? "causal" : "none");
      mask.input[1].disabled = !flow.self;
      write(why, flow.self ? (flow.causal ? "A token looks at itself and at what came before." : "Every token may look at every token.") : "No causal mask here: the keys are another sentence, with no later words to hide.");
      undo.disabled = !can.canUndo;
      reset.disabled = can.isFirst;
      show(root.isConnected && root.contains(document.activeElement));
    },
    destroy() {
      live.destroy();
      root.remove();
    },
  };
}

/** The largest weight (the middle one of equals), to have something worth seeing from the start. @param {Flow} flow @returns {Cell} */
function mostTelling({ values: { weights } }) {
  const flat = weights.flat();
  const largest = Math.max(...flat) - 1e-9;
  const ties = flat.flatMap((weight, i) => (weight > largest ? i : []));
  const at = ties[ties.length >> 1];
  return { name: "weights", row: Math.floor(at / weights[0].length), col: at % weights[0].length };
}

/** Text with its letters set as mathematics: `W_Q` as an italic W and a low Q. @param {string} text */
function maths(text) {
  return text.split(/\b([A-Zd](?:_\w+)?)\b/).flatMap((part, i) => {
    const [letter, sub] = part.split("_");
    return i % 2 ? [h("i", {}, letter), sub ? h("sub", {}, sub) : ""] : part;
  });
}

/** @param {import("./matrix-text.mjs").Part} part */
function drawPart({ text, sup, label, weak }) {
  const top = h("span", {}, text, sup !== undefined && h("sup", {}, sup));
  return h("span", { class: `qkv-part${weak ? " qkv-weak" : ""}` }, top, label !== undefined && h("small", {}, label));
}
