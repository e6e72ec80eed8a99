// Mouse, pen and touch through pointer events.

/**
 * Drag with any pointer. The page still scrolls elsewhere: only `target` gets `touch-action: none` (in the CSS).
 * @param {Element} target
 * @param {{ start?: (event: PointerEvent) => void, move: (event: PointerEvent) => void, end?: (event: PointerEvent) => void }} on
 * @returns {() => void} teardown
 */
export function drag(target, { start, move, end }) {
  const stop = new AbortController();
  const { signal } = stop;
  let pointer = -1;
  /** @param {(event: PointerEvent) => void} fn */
  const listen = (/** @type {string} */ type, fn) =>
    target.addEventListener(type, /** @type {EventListener} */ (fn), { signal });
  listen("pointerdown", (event) => {
    if (event.button !== 0 || pointer !== -1) return;
    pointer = event.pointerId;
    target.setPointerCapture(pointer);
    event.preventDefault();
    start?.(event);
  });
  listen("pointermove", (event) => {
    if (event.pointerId === pointer) move(event);
  });
  const finish = (/** @type {PointerEvent} */ event) => {
    if (event.pointerId !== pointer) return;
    pointer = -1;
    end?.(event);
  };
  listen("pointerup", finish);
  listen("pointercancel", finish);
  return () => stop.abort();
}

/**
 * Where a pointer is in an SVG's own units.
 * @param {SVGSVGElement} root
 * @param {{ clientX: number, clientY: number }} event
 * @returns {[number, number]}
 */
export function svgPoint(root, event) {
  const box = root.getScreenCTM()?.inverse();
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(box);
  return [point.x, point.y];
}

/** The reader asked the system for less movement. */
export function reducedMotion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
