// Element builders: the whole "framework" of the widgets.

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Record<string, any>} Props attributes; `on…` functions become listeners, `value` and `checked` properties */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element: `h("p", { class: "qkv-note" }, "text")`.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/**
 * Make an SVG element: `svg("circle", { r: 4 })`.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

/**
 * Set attributes; false, null and undefined remove one.
 * @param {Element} element
 * @param {Props} props
 */
export function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") /** @type {any} */ (element)[name] = value;
    else if (value === false || value == null) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * Write text only where it changed, so that nothing is laid out twice.
 * @param {Node} node
 * @param {string} text
 */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

let count = 0;

/** An id that no other widget on the page has. */
export function uid() {
  return `qkv-${(count += 1)}`;
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Props} props
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, props, children) {
  set(element, props);
  for (const child of children)
    if (child !== false && child != null) element.append(child instanceof Node ? child : String(child));
  return element;
}
