// The map's drawing: one SVG whose fields are focused with the arrow keys, a table of shares, two sentences.

import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { GROUPS, layout } from "../math/parameter-map.mjs";

/** @typedef {import("../math/parameter-map.mjs").Part} Part */
/** @typedef {ReturnType<typeof import("../math/parameter-map.mjs").count>} Count */

/** 63045632 as "63,045,632". @param {number} n */
export function whole(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A share as a reader would print it: 30 %, 2.5 %, 0.10 %. @param {number} part @param {number} total */
export function share(part, total) {
  const percent = total ? (100 * part) / total : 0;
  return `${number(percent, percent >= 9.95 ? 0 : percent >= 0.995 ? 1 : 2)} %`;
}

/** @param {Part} part @param {number} total */
export function aboutPart(part, total) {
  const place = part.side === "table" ? "table" : `${part.side}, ${part.group}`;
  const where = part.side === "table" ? "" : ` in each of ${part.layers} layer${part.layers === 1 ? "" : "s"}`;
  return `${place}: ${part.name}. ${part.shape}${where}; ${whole(part.count)} numbers, ${share(part.count, total)}.`;
}

/** @param {Count} made @param {number} tables */
export function aboutTotal({ total, printed, fits }, tables) {
  const sum = `${whole(total)} numbers: ${number(total / 1e6, 1)} million.`;
  if (printed === null || !fits) return `${sum} The paper's Table 3 prints no count for these sizes.`;
  const same = Math.round(total / 1e6) === printed;
  const rows = fits[1] < 1 ? "no number of rows" : `${whole(Math.max(1, fits[0]))} to ${whole(fits[1])} rows`;
  return `${sum} Table 3 prints ${printed} for these sizes${same ? ", and so does this count" : `; this count does not round to it`}. ${printed} needs ${rows}${tables > 1 ? " a table" : ""}.`;
}

/** @param {Part} part */
function kind(part) {
  const letter = { W_Q: "q", W_K: "k", W_V: "v", W_O: "o" }[part.name];
  return letter ?? { "feed-forward": "f", table: "e" }[part.group] ?? "n";
}

/**
 * Names over the columns (y below 0) and in the groups, where there is room for them.
 * @param {readonly Part[]} parts
 * @param {readonly import("../math/parameter-map.mjs").Box[]} boxes
 */
export function headings(parts, boxes) {
  /** @type {{ text: string, x: number, y: number, width: number }[]} */
  const found = [];
  parts.forEach((part, i) => {
    const column = parts.flatMap((other, n) => (other.side === part.side ? [boxes[n]] : []));
    const left = Math.min(...column.map((box) => box.x));
    const width = Math.max(...column.map((box) => box.x + box.width)) - left;
    const first = parts[i - 1];
    if (first?.side !== part.side && 7.5 * part.side.length < width) found.push({ text: part.side, x: left, y: -20, width });
    const fits = boxes[i].height > 40 && 6.6 * part.group.length + 8 < width;
    if (first?.group !== part.group && part.side !== "table" && fits) found.push({ text: part.group, x: left, y: boxes[i].y, width });
  });
  return found;
}

/**
 * @param {{ onselect: (id: string) => void }} options
 */
export function mapView({ onselect }) {
  const HEIGHT = 320;
  const TOP = 20; // for the names of the columns
  const list = svg("g", { role: "listbox", "aria-label": "Parts of the model; arrow keys move from field to field" });
  /** @type {{ id: string, g: SVGGElement, rect: SVGRectElement, text: SVGTextElement }[]} */
  let fields = [];
  /** @type {Count | null} */
  let made = null;
  let at = "";
  const titles = svg("g", { "aria-hidden": true, class: "qkv-map-names" });
  const picture = svg("svg", { class: "qkv-map-picture", role: "presentation", height: HEIGHT }, list, titles);

  const shown = () => fields.filter((_, i) => made && made.parts[i].count > 0);
  picture.addEventListener("keydown", (event) => {
    const all = shown();
    const here = all.findIndex((field) => field.id === at);
    const to = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = all[Math.min(all.length - 1, Math.max(0, to))];
    onselect(next.id);
    next.g.focus();
  });
  picture.addEventListener("click", (event) => {
    const g = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    const field = fields.find((one) => one.g === g);
    if (!field) return;
    onselect(field.id);
    field.g.focus();
  });

  function place() {
    if (!made) return;
    const width = picture.clientWidth || 700;
    set(picture, { viewBox: `0 0 ${width} ${HEIGHT}` });
    const boxes = layout(made.parts, width, HEIGHT - TOP);
    const words = headings(made.parts, boxes).map(({ text, x, y, width: room }) =>
      svg("text", { x: x + (y < 0 ? room / 2 : 5), y: TOP + y + (y < 0 ? 14 : 15), "text-anchor": y < 0 ? "middle" : "start" }, text),
    );
    titles.replaceChildren(...words);
    made.parts.forEach((part, i) => {
      const { x, y, width: wide, height: tall } = boxes[i];
      const { g, rect, text } = fields[i];
      set(g, { display: part.count === 0 ? "none" : null });
      set(rect, { x, y: TOP + y, width: wide, height: tall });
      const label = [part.name, part.name.split(",")[0], part.name.replace("W_", "")].find((name) => 8.5 * name.length + 6 < wide) ?? "";
      write(text, tall > 18 ? label : "");
      const low = part.side === "table" ? 5 : tall > 44 ? 10 : 6;
      set(text, { x: x + wide / 2, y: TOP + y + tall / 2 + low });
    });
  }
  const watch = typeof ResizeObserver === "function" ? new ResizeObserver(place) : null;
  watch?.observe(picture);

  const head = h("tr", {}, h("td"), h("th", { scope: "col" }, "numbers"), h("th", { scope: "col" }, "share"));
  const cells = GROUPS.map((group) => [h("td"), h("td")]);
  const names = GROUPS.map((group) => (group === "table" ? "embedding table" : group));
  const body = GROUPS.map((_, i) => h("tr", {}, h("th", { scope: "row" }, names[i]), ...cells[i]));
  const table = h("table", { class: "qkv-map-shares" }, h("caption", { class: "qkv-sr" }, "Shares of the model"), h("thead", {}, head), h("tbody", {}, ...body));
  const part = h("p", { class: "qkv-map-part" });
  const total = h("p", { class: "qkv-map-total" });

  return {
    picture,
    table,
    part,
    total,
    destroy() {
      watch?.disconnect();
    },
    /** @param {Count} now @param {string} id @param {number} tables */
    update(now, id, tables) {
      made = now;
      if (fields.length !== now.parts.length || fields.some((field, i) => field.id !== now.parts[i].id)) {
        fields = now.parts.map((one) => {
          const rect = svg("rect");
          const text = svg("text", { "text-anchor": "middle", "aria-hidden": true });
          return { id: one.id, rect, text, g: svg("g", { role: "option", class: `qkv-map-${kind(one)}` }, rect, text) };
        });
        list.replaceChildren(...fields.map((field) => field.g));
      }
      const there = now.parts.find((one) => one.id === id && one.count > 0) ?? now.parts.find((one) => one.count > 0) ?? now.parts[0];
      at = there.id;
      now.parts.forEach((one, i) => {
        const here = one.id === at;
        set(fields[i].g, { "aria-selected": String(here), tabindex: here ? 0 : -1, "aria-label": aboutPart(one, now.total) });
      });
      place();
      now.groups.forEach((count, i) => {
        write(cells[i][0], whole(count));
        write(cells[i][1], share(count, now.total));
      });
      write(part, aboutPart(there, now.total));
      write(total, aboutTotal(now, tables));
    },
  };
}
