// The plane of the DotProduct widget: two arrows, the shadow of one on the other, and the side where the product is negative.
// Knows numbers and names only; what a move means is the caller's affair.

import { cosineSimilarity, degrees, projection } from "../math/vectors.mjs";
import { clamp, snap } from "./controls.mjs";
import { set, svg, uid, write } from "./dom.mjs";
import { number } from "./format.mjs";
import { drag, svgPoint } from "./pointer.mjs";

/** @typedef {import("../math/vectors.mjs").Vector} Vector */
/** @typedef {"x" | "y"} Which */
/**
 * @typedef {object} Picture what to draw
 * @property {Vector} x
 * @property {Vector} y
 * @property {readonly string[]} labels
 * @property {Which | "none"} onto the vector that the shadow falls on
 * @property {number} limit the plane reaches from -limit to limit
 * @property {number} cosine
 * @property {{ point: number[], length: number }} shadow
 */

const SIZE = 400;
const MIDDLE = SIZE / 2;
const REACH = 186;
const LIMITS = [1, 1.5, 2, 3, 4, 5, 8, 10];

/**
 * How far the plane reaches: a round number that holds every vector.
 * @param {readonly Vector[]} vectors
 */
export function planeLimit(vectors) {
  const reach = 1.1 * Math.max(...vectors.flat().map(Math.abs));
  return LIMITS.find((limit) => reach <= limit) ?? Math.ceil(reach);
}

/** One press of an arrow key: a round number, some five pixels. @param {number} limit */
export function planeStep(limit) {
  return limit <= 2 ? 0.05 : limit <= 5 ? 0.1 : limit <= 10 ? 0.2 : limit / 40;
}

/**
 * @param {{ onmove: (which: Which, to: [number, number], gesture: string) => void, describedby: string }} options
 */
export function dotPlane({ onmove, describedby }) {
  let unit = 1;
  let limit = 1;
  /** @type {Record<Which, Vector>} */
  let now = { x: [0, 0], y: [0, 0] };
  const clip = uid();

  const grid = svg("path", { class: "qkv-grid" });
  const ticks = svg("g", { class: "qkv-ticks" });
  const negative = svg("rect", { class: "qkv-negative", x: -2 * SIZE, y: -2 * SIZE, width: 2 * SIZE, height: 4 * SIZE });
  const border = svg("line", { class: "qkv-border", y1: -2 * SIZE, y2: 2 * SIZE });
  const ray = svg("line", { class: "qkv-ray", x1: -2 * SIZE, x2: 2 * SIZE });
  const turned = svg("g", {}, negative, border, ray);
  const negativeText = svg("text", { class: "qkv-side qkv-side-negative" });
  const positiveText = svg("text", { class: "qkv-side" });
  const band = svg("line", { class: "qkv-shadow", x1: MIDDLE, y1: MIDDLE });
  const drop = svg("path", { class: "qkv-drop" });
  const arc = svg("path", { class: "qkv-arc" });
  const angle = svg("text", { class: "qkv-angle" });
  const x = arrow("x");
  const y = arrow("y");
  const root = svg(
    "svg",
    { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", class: "qkv-plane" },
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", { width: SIZE, height: SIZE, rx: 10 }))),
    svg(
      "g",
      { "clip-path": `url(#${clip})`, "aria-hidden": "true" },
      svg("g", { transform: `translate(${MIDDLE} ${MIDDLE})` }, turned),
      grid,
      svg("path", { class: "qkv-axes", d: `M0 ${MIDDLE}H${SIZE}M${MIDDLE} 0V${SIZE}` }),
      ticks,
      negativeText,
      positiveText,
    ),
    svg("rect", { class: "qkv-frame", x: 0.5, y: 0.5, width: SIZE - 1, height: SIZE - 1, rx: 10 }),
    svg("g", { "aria-hidden": "true" }, arc, band, drop, x.drawing, y.drawing, angle),
    x.handle,
    y.handle,
  );

  /** @param {Which} which */
  function arrow(which) {
    const line = svg("line", { x1: MIDDLE, y1: MIDDLE });
    const head = svg("path");
    const label = svg("text", { class: "qkv-name" });
    const drawing = svg("g", { class: `qkv-arrow qkv-arrow-${which}` }, line, head, label);
    const handle = svg(
      "g",
      { class: `qkv-handle qkv-arrow-${which}`, role: "slider", tabindex: 0, "aria-describedby": describedby },
      svg("circle", { class: "qkv-hit", r: 24 }),
      svg("circle", { class: "qkv-ring", r: 11 }),
    );
    /** @type {[number, number]} */
    let grip = [0, 0];
    const stop = drag(handle, {
      start(event) {
        /** @type {SVGElement} */ (handle).focus({ preventScroll: true });
        root.classList.add("qkv-dragging");
        const [px, py] = toVector(event);
        grip = [now[which][0] - px, now[which][1] - py]; // no jump to the pointer
      },
      move(event) {
        const [px, py] = toVector(event);
        move(which, [px + grip[0], py + grip[1]], `drag ${which}`);
      },
      end() {
        root.classList.remove("qkv-dragging");
      },
    });
    handle.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const step = planeStep(limit) * (event.shiftKey ? 5 : 1);
      move(which, [now[which][0] + way[0] * step, now[which][1] + way[1] * step], `keys ${which}`);
    });
    return { line, head, label, drawing, handle, stop };
  }

  /** @param {PointerEvent} event @returns {[number, number]} */
  function toVector(event) {
    const [px, py] = svgPoint(root, event);
    return [(px - MIDDLE) / unit, (MIDDLE - py) / unit];
  }

  /** @param {Which} which @param {[number, number]} to @param {string} gesture */
  function move(which, to, gesture) {
    const [a, b] = now[which];
    const step = planeStep(limit);
    // An entry that does not move keeps its last digit; one that moves lands on the grid.
    const next =
      (gesture.startsWith("drag") && squared(to, now[which === "x" ? "y" : "x"], limit)) ||
      to.map((value, i) => (Math.abs(value - now[which][i]) < step / 2 ? now[which][i] : snap(clamp(value, -limit, limit), step)));
    if (next[0] !== a || next[1] !== b) onmove(which, [next[0], next[1]], gesture);
  }

  /** @param {number} size */
  function rescale(size) {
    limit = size;
    unit = REACH / size;
    const gap = size <= 2 ? 0.5 : size <= 5 ? 1 : size <= 10 ? 2 : size / 4;
    let path = "";
    ticks.replaceChildren();
    for (let value = gap; value * unit < MIDDLE; value += gap) {
      for (const sign of [-1, 1]) {
        const at = MIDDLE + sign * value * unit;
        path += `M${at} 0V${SIZE}M0 ${at}H${SIZE}`;
        if (value > 0.9 * size) continue; // a number at the very edge crowds the frame
        ticks.append(
          svg("text", { x: at, y: MIDDLE + 15, "text-anchor": "middle" }, plain(sign * value)),
          svg("text", { x: MIDDLE - 6, y: at + 4, "text-anchor": "end" }, plain(-sign * value)),
        );
      }
    }
    set(grid, { d: path });
  }

  /** @param {ReturnType<typeof arrow>} parts @param {Vector} vector @param {string} name @param {Vector} other */
  function drawArrow(parts, vector, name, other) {
    const px = MIDDLE + unit * vector[0];
    const py = MIDDLE - unit * vector[1];
    const length = Math.hypot(px - MIDDLE, py - MIDDLE);
    const ux = length ? (px - MIDDLE) / length : 1;
    const uy = length ? (py - MIDDLE) / length : 0;
    const head = Math.min(13, length);
    set(parts.line, { x2: px - ux * head * 0.8, y2: py - uy * head * 0.8 });
    const bx = px - ux * head;
    const by = py - uy * head;
    const w = head * 0.42;
    set(parts.head, { d: `M${px} ${py}L${bx - uy * w} ${by + ux * w}L${bx + uy * w} ${by - ux * w}Z` });
    // The name stands beyond the tip, on the side away from the other arrow.
    const side = vector[0] * other[1] - vector[1] * other[0] > 0 ? 1 : -1;
    const lx = clamp(px + ux * 17 - uy * side * 9, 8, SIZE - 8);
    const ly = clamp(py + uy * 17 + ux * side * 9 + 5, 16, SIZE - 6);
    const anchor = lx - px > 6 ? "start" : lx - px < -6 ? "end" : "middle";
    const width = name.length * 8.5;
    const fits = anchor === "start" ? lx + width < SIZE - 2 : anchor === "end" ? lx - width > 2 : true;
    set(parts.label, { x: fits ? lx : px, y: fits ? ly : clamp(py - 18, 16, SIZE), "text-anchor": fits ? anchor : px > MIDDLE ? "end" : "start" });
    write(parts.label, name);
    set(parts.handle, {
      transform: `translate(${px} ${py})`,
      "aria-label": `tip of ${name}`,
      "aria-valuemin": -limit,
      "aria-valuemax": limit,
      "aria-valuenow": Number(vector[0].toFixed(4)),
      "aria-valuetext": `${number(vector[0])} across, ${number(vector[1])} up`,
    });
  }

  return {
    el: root,
    /** @param {Picture} picture */
    update(picture) {
      const { labels, onto, cosine, shadow } = picture;
      if (picture.limit !== limit || unit === 1) rescale(picture.limit);
      now = { x: picture.x, y: picture.y };
      set(root, { "aria-label": `The plane of ${labels[0]} and ${labels[1]}` });
      const base = onto === "y" ? now.y : now.x;
      const other = onto === "y" ? now.x : now.y;
      const flat = base[0] === 0 && base[1] === 0;
      const turn = Math.atan2(base[1], base[0]);
      set(turned, { transform: `rotate(${(-turn * 180) / Math.PI})`, display: flat ? "none" : null });
      for (const [text, sign, word] of /** @type {const} */ ([[negativeText, -1, "negative side"], [positiveText, 1, "positive side"]])) {
        // Beside the line through the base, where arrows seldom lie.
        const across = cross(base, other) > 0 ? 1 : -1;
        const reach = 118;
        const tx = MIDDLE + sign * reach * Math.cos(turn) + across * 92 * Math.sin(turn);
        const ty = MIDDLE - sign * reach * Math.sin(turn) + across * 92 * Math.cos(turn);
        set(text, { x: clamp(tx, 52, SIZE - 52), y: clamp(ty, 18, SIZE - 12), display: flat ? "none" : null });
        write(text, word);
      }

      drawArrow(x, now.x, labels[0], now.y);
      drawArrow(y, now.y, labels[1], now.x);

      const hidden = onto === "none" || flat || Number.isNaN(shadow.length);
      set(band, { display: hidden ? "none" : null });
      set(drop, { display: hidden ? "none" : null });
      if (!hidden) {
        const fx = MIDDLE + unit * shadow.point[0];
        const fy = MIDDLE - unit * shadow.point[1];
        const ox = MIDDLE + unit * other[0];
        const oy = MIDDLE - unit * other[1];
        set(band, { x2: fx, y2: fy });
        const height = Math.hypot(ox - fx, oy - fy);
        const m = Math.min(9, height / 2);
        const vx = height ? (ox - fx) / height : 0;
        const vy = height ? (oy - fy) / height : 0;
        // The small square stands on the side of the origin, inside the triangle.
        const toward = (MIDDLE - fx) * Math.cos(turn) - (MIDDLE - fy) * Math.sin(turn) >= 0 ? 1 : -1;
        const hx = toward * Math.cos(turn) * m;
        const hy = -toward * Math.sin(turn) * m;
        set(drop, { d: `M${ox} ${oy}L${fx} ${fy}M${fx + hx} ${fy + hy}l${vx * m} ${vy * m}l${-hx} ${-hy}` });
      }

      const known = !Number.isNaN(cosine);
      set(arc, { display: known ? null : "none" });
      set(angle, { display: known ? null : "none" });
      if (known) {
        const from = Math.atan2(now.x[1], now.x[0]);
        const way = cross(now.x, now.y) >= 0 ? 1 : -1;
        const wide = (degrees(cosine) * Math.PI) / 180;
        const r = 30;
        const to = from + way * wide;
        const start = `${MIDDLE + r * Math.cos(from)} ${MIDDLE - r * Math.sin(from)}`;
        const end = `${MIDDLE + r * Math.cos(to)} ${MIDDLE - r * Math.sin(to)}`;
        set(arc, { d: `M${start}A${r} ${r} 0 0 ${way > 0 ? 0 : 1} ${end}` });
        // A narrow angle writes its size outside the arrows.
        const middle = wide < 0.55 ? from - way * 0.5 : from + (way * wide) / 2;
        set(angle, { x: MIDDLE + 52 * Math.cos(middle), y: MIDDLE - 52 * Math.sin(middle) + 4 });
        write(angle, `${number(degrees(cosine), 0)}°`);
      }
    },
    destroy() {
      x.stop();
      y.stop();
    },
  };
}

/**
 * A dragged arrow that is nearly at a right angle to the other is put at one exactly: no hand could.
 * @param {Vector} vector
 * @param {Vector} other
 * @param {number} limit no entry beyond it
 */
function squared(vector, other, limit) {
  if (!(Math.abs(cosineSimilarity(vector, other)) < 0.03)) return undefined; // also where one has no length
  const { point } = projection(vector, other);
  const turned = vector.map((value, i) => value - point[i]);
  const shrink = Math.min(1, limit / Math.max(...turned.map(Math.abs)));
  return turned.map((value) => value * shrink);
}

/** A tick's number, as short as it goes. @param {number} x */
function plain(x) {
  return number(x, Number.isInteger(x) ? 0 : 1);
}

/** @param {Vector} a @param {Vector} b */
function cross(a, b) {
  return a[0] * b[1] - a[1] * b[0];
}
