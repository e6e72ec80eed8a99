// The page's side of a widget: no kernel, no network.
// Finds `figure[data-qkv-widget]`, makes a model from the JSON inside, mounts the widget that registered under that
// name (before or after this script ran), and leaves the poster where something fails.

/** @typedef {{ render: (context: any) => any, initialize?: (context: any) => any }} Widget */

/**
 * An anywidget (AFM) model without a kernel.
 * @param {Record<string, any>} state
 */
export function makeModel(state) {
  /** @type {Map<string, Set<(...args: any[]) => void>>} */
  const listeners = new Map();
  /**
   * @param {string} event
   * @param {...any} args
   */
  const emit = (event, ...args) => {
    for (const fn of [...(listeners.get(event) ?? [])]) fn(...args);
  };
  const model = {
    /** @param {string} name */
    get: (name) => state[name],
    /**
     * @param {string} name
     * @param {any} value
     */
    set(name, value) {
      if (same(state[name], value)) return;
      state[name] = value;
      emit(`change:${name}`, model, value);
      emit("change", model);
    },
    /**
     * @param {string} event
     * @param {(...args: any[]) => void} fn
     */
    on(event, fn) {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(fn));
    },
    /**
     * @param {string | null} [event]
     * @param {((...args: any[]) => void) | null} [fn]
     */
    off(event, fn) {
      if (!event) listeners.clear();
      else if (!fn) listeners.delete(event);
      else listeners.get(event)?.delete(fn);
    },
    save_changes() {},
    send() {},
    widget_manager: { get_model: () => Promise.reject(new Error("this page has no kernel")) },
  };
  return model;
}

/**
 * @param {any} a
 * @param {any} b
 */
function same(a, b) {
  return Object.is(a, b) || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}

/**
 * @param {HTMLElement} figure
 * @param {Widget} widget
 */
export async function mount(figure, widget) {
  figure.dataset.qkvState = "mounting";
  const el = document.createElement("div");
  el.className = "qkv-live";
  const poster = /** @type {HTMLElement | null} */ (figure.querySelector(".qkv-poster"));
  try {
    const state = JSON.parse(figure.querySelector(".qkv-state")?.textContent ?? "{}");
    const model = makeModel(state);
    const context = { model, el, experimental: {} };
    // The figure keeps its height while one picture replaces the other, so nothing below it jumps.
    if (poster) el.style.minHeight = `${poster.offsetHeight}px`;
    globalThis.addEventListener?.("resize", () => (el.style.minHeight = ""), { once: true });
    const started = widget.initialize?.(context);
    if (started instanceof Promise) await started;
    figure.insertBefore(el, poster);
    figure.classList.add("qkv-mounted");
    const rendered = widget.render(context);
    if (rendered instanceof Promise) await rendered;
    Object.assign(figure, { qkvModel: model });
    figure.dataset.qkvState = "live";
  } catch (error) {
    el.remove();
    figure.classList.remove("qkv-mounted");
    figure.dataset.qkvState = "failed";
    const note = document.createElement("p");
    note.className = "qkv-note";
    note.textContent = "This figure could not start, so you see its still picture and its table of numbers.";
    figure.insertBefore(note, figure.querySelector("figcaption"));
    console.error(`widget ${figure.dataset.qkvWidget}:`, error);
  }
}

/** Mount every figure whose widget is there and that has not been mounted yet. */
function mountAll() {
  const { widgets } = /** @type {any} */ (globalThis).qkvBook;
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("figure[data-qkv-widget]"))) {
    const widget = widgets[figure.dataset.qkvWidget ?? ""];
    if (widget && !figure.dataset.qkvState) mount(figure, widget);
  }
}

if (typeof document !== "undefined") {
  const book = (/** @type {any} */ (globalThis).qkvBook ??= {});
  book.widgets ??= {};
  // Beside this script stand the files that a widget loads later.
  book.folder = /** @type {HTMLScriptElement | null} */ (document.currentScript)?.src.replace(/[^/]*$/, "") ?? "";
  book.mount = mountAll; // a widget's script calls it when it registers after this one
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mountAll);
  else mountAll();
}
