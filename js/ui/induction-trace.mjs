// The drawing: the letters with the looks of both layers, the scores by place, and what is said.

import { firstOf, letter, LONGEST } from "../math/induction-trace.mjs";
import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {import("../math/induction-trace.mjs").Trace} Trace */
/** @typedef {import("../math/induction-trace.mjs").State & { step: number }} Shown */

const WIDTH = 360;
const LINE = 96; // where the letters stand
const FAINT = 0.04; // a look below this weight is not drawn
const COLUMNS = ["letter", "head 1.1", "head 1.2", "score", "weight"];

/** @param {string} text @param {number} place */
const at = (text, place) => `place ${place} (${text[place]})`;

/**
 * What the rule asks of the row, and whether the model says it.
 * @param {Shown} state @param {Trace} made
 */
export function verdict({ text }, { row, said }) {
  const first = firstOf(text, row);
  if (first < 0) return `${text[row]} is new here, so nobody asks.`;
  const answer = text[first + 1];
  const right = letter(said[row]) === answer;
  return `${text[row]} stood at place ${first}, and ${answer} came after it: ${right ? "right" : "wrong"}.`;
}

/**
 * The step that is told now.
 * @param {Shown} state @param {Trace} made
 */
export function sentence(state, made) {
  const { text, head, step, closed } = state;
  const { row, middle, looks, parts, scores, weights, said, top, chances } = made;
  const own = `head 2.${head + 1}`;
  if (step === 1) {
    const seen = looks.map((look, i) => {
      const place = look.indexOf(Math.max(...look));
      const name = `1.${i + 1}`;
      return `head ${name} looks at ${at(text, place)}, weight ${number(look[place])}${closed.includes(name) ? ", and writes nothing" : ""}`;
    });
    return `Layer 1, row ${middle} (${text[middle]}): ${seen.join("; ")}.`;
  }
  if (step === 2) {
    const [own_letter, ...notes] = parts.map((part) => number(part[middle], 1));
    return `${own}: the key of ${at(text, middle)} meets the query of ${at(text, row)}: ${own_letter} from the letter, ${notes[0]} from head 1.1, ${notes[1]} from head 1.2. Score ${number(scores[middle], 1)}.`;
  }
  if (step === 3) return `${own}: ${at(text, row)} looks at ${at(text, middle)}, weight ${number(weights[middle])}.${closed.includes(`2.${head + 1}`) ? " But it is taken out, and writes nothing." : ""}`;
  return `Place ${row} says ${letter(said[row])}, probability ${number(chances[top.indexOf(said[row])])}. ${verdict(state, made)}`;
}

/** An arc between two places, above (side −1) or below the letters. @param {number} x @param {number} z @param {number} side */
function arc(x, z, side) {
  const y = LINE + 5 + side * 17;
  const peak = y + side * Math.min(62, 22 + 0.3 * Math.abs(x - z));
  if (x === z) return `M${x - 3} ${y}C${x - 16} ${peak} ${x + 16} ${peak} ${x + 3} ${y}`;
  return `M${x.toFixed(1)} ${y}C${x.toFixed(1)} ${peak} ${z.toFixed(1)} ${peak} ${z.toFixed(1)} ${y}`;
}

/** @param {{ onrow: (row: number) => void }} options */
export function traceView({ onrow }) {
  const all = Array.from({ length: LONGEST }, (_, place) => place);
  const letters = all.map((place) => svg("text", { y: LINE + 10, "text-anchor": "middle", onclick: () => onrow(place) }));
  const places = all.map(() => svg("text", { y: 24, "text-anchor": "middle", class: "qkv-trace-faint" }));
  const says = all.map(() => svg("text", { y: 186, "text-anchor": "middle", class: "qkv-trace-says" }));
  const upper = all.map(() => svg("path", { class: "qkv-trace-q" }));
  const lower = [0, 1].map((head) => all.map(() => svg("path", { class: head ? "qkv-trace-k" : "qkv-trace-k qkv-trace-dashed" })));
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} 192`, class: "qkv-trace-picture", role: "img" }, ...upper, ...lower.flat(), ...letters, ...places, ...says);
  const legend = h(
    "p",
    { class: "qkv-trace-legend" },
    h("span", { class: "qkv-trace-up" }, "above: layer 2"),
    h("span", { class: "qkv-trace-down" }, "below: layer 1, 1.1 dashed"),
    h("span", { class: "qkv-trace-out" }, "bottom: what is said"),
  );

  const head = h("tr", {}, h("th", { scope: "col" }, "place"), ...COLUMNS.map((name) => h("th", { scope: "col" }, name)));
  const cells = all.map(() => COLUMNS.map(() => h("td")));
  const names = all.map(() => h("th", { scope: "row" }));
  const rows = all.map((place) => h("tr", {}, names[place], ...cells[place]));
  const caption = h("caption");
  const table = h("table", { class: "qkv-trace-table" }, caption, h("thead", {}, head), h("tbody", {}, ...rows));
  const bars = [0, 1, 2, 3].map(() => ({ name: h("dt"), bar: h("span", { class: "qkv-trace-bar" }), value: h("span", { class: "qkv-trace-value" }) }));
  const chances = h("dl", { class: "qkv-trace-chances" }, ...bars.map(({ name, bar, value }) => h("div", {}, name, h("dd", {}, bar, value))));
  const said = h("p", { class: "qkv-trace-said" });

  return {
    said,
    body: h("div", { class: "qkv-trace-body" }, h("div", {}, legend, picture, chances), table),
    /** @param {Shown} state @param {Trace} made */
    update(state, made) {
      const { text, step, head: own, closed } = state;
      const { row, middle, looks, parts, scores, weights } = made;
      const gap = Math.min(28, (WIDTH - 12) / text.length);
      const x = all.map((place) => 6 + gap * (place + 0.5));
      all.forEach((place) => {
        const there = place < text.length;
        const chosen = place === row ? "qkv-trace-row" : place === middle ? "qkv-trace-middle" : "";
        for (const mark of [letters[place], places[place], says[place]]) set(mark, { x: x[place].toFixed(1), hidden: !there, display: there ? null : "none" });
        set(letters[place], { class: `qkv-trace-letter ${chosen}` });
        write(letters[place], there ? text[place] : "");
        write(places[place], there ? String(place) : "");
        const asked = there && firstOf(text, place) >= 0;
        write(says[place], there && (step === 4 || place !== row) ? (asked || place === row ? letter(made.said[place]) : "·") : "");
        set(says[place], { class: place === row ? "qkv-trace-says qkv-trace-row" : "qkv-trace-says" });
        const weight = weights[place] ?? 0;
        const seen = step >= 3 && weight >= FAINT;
        set(upper[place], { d: seen ? arc(x[row], x[place], -1) : "M0 0", "stroke-width": (1 + 2.5 * weight).toFixed(2), opacity: seen ? (0.25 + 0.75 * weight).toFixed(2) : 0 });
        lower.forEach((arcs, head) => {
          const look = looks[head][place] ?? 0;
          const shown = look >= FAINT && !closed.includes(`1.${head + 1}`);
          set(arcs[place], { d: shown ? arc(x[middle], x[place], 1) : "M0 0", "stroke-width": (1 + 2.5 * look).toFixed(2), opacity: shown ? (0.25 + 0.75 * look).toFixed(2) : 0 });
        });
        rows[place].hidden = !there;
        rows[place].className = place === middle ? "qkv-trace-middle" : place > row ? "qkv-trace-later" : "";
        write(names[place], there ? `${place} ${text[place]}` : "");
        const values = [...parts.map((part) => part[place]), scores[place], weights[place]];
        cells[place].forEach((cell, c) => {
          const told = place <= row && (c < 4 ? step >= 2 : step >= 3);
          write(cell, told ? number(values[c], c < 4 ? 1 : 2) : "");
          cell.style.setProperty("--shade", c === 4 && told ? `${Math.round(45 * values[c])}%` : "0%");
        });
      });
      write(caption, `Head 2.${own + 1}, place ${row} (${text[row]}): its score with each`);
      bars.forEach(({ name, bar, value }, i) => {
        const told = step === 4;
        write(name, told ? letter(made.top[i]) : "");
        write(value, told ? number(made.chances[i]) : "");
        bar.style.width = told ? `${(100 * made.chances[i]).toFixed(1)}%` : "0";
      });
      const line = sentence(state, made);
      write(said, line);
      set(picture, { "aria-label": `${text}. Layer 2, place ${row} looks most at place ${middle}. ${line}` });
    },
  };
}
