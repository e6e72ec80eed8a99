// Between a model (AFM: get, set, on, off, save_changes) and a view.

/**
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {(event: string, fn: () => void) => void} on
 * @property {(event: string, fn?: any) => void} off
 * @property {() => void} save_changes
 */

/**
 * Call `update` once per burst of changes to any of `names` (before the next paint);
 * returns what a widget's `render` must return: the function that undoes it all.
 * @param {Model} model
 * @param {readonly string[]} names
 * @param {() => void} update
 * @param {() => void} [destroy]
 * @returns {() => void}
 */
export function bind(model, names, update, destroy = () => {}) {
  let waiting = false;
  let alive = true;
  const changed = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      if (alive) update();
    });
  };
  for (const name of names) model.on(`change:${name}`, changed);
  return () => {
    alive = false;
    for (const name of names) model.off(`change:${name}`, changed);
    destroy();
  };
}

/**
 * Set several traits and send them together.
 * @param {Model} model
 * @param {Record<string, any>} values
 */
export function assign(model, values) {
  for (const [name, value] of Object.entries(values)) model.set(name, value);
  model.save_changes();
}

/**
 * Undo and reset over some traits of a model.
 * `mark()` goes before a change; marks with the same `gesture` within a second count as one.
 * @param {Model} model
 * @param {readonly string[]} names
 * @param {() => number} [now]
 */
export function history(model, names, now = () => performance.now()) {
  const read = () => Object.fromEntries(names.map((name) => [name, structuredClone(model.get(name))]));
  const same = (/** @type {any} */ a, /** @type {any} */ b) => JSON.stringify(a) === JSON.stringify(b);
  const first = read();
  /** @type {Record<string, any>[]} */
  const past = [];
  let last = { gesture: "", time: -Infinity };
  return {
    /** @param {string} [gesture] */
    mark(gesture = "") {
      const time = now();
      const joined = gesture !== "" && gesture === last.gesture && time - last.time < 1000;
      last = { gesture, time };
      if (joined) return;
      past.push(read());
      if (past.length > 200) past.shift();
    },
    /** Mark and change. @param {Record<string, any>} values @param {string} [gesture] */
    change(values, gesture) {
      this.mark(gesture);
      assign(model, values);
    },
    undo() {
      last = { gesture: "", time: -Infinity };
      const current = read();
      let state = past.pop();
      while (state && same(state, current)) state = past.pop();
      if (state) assign(model, state);
      return state !== undefined;
    },
    reset() {
      if (same(first, read())) return;
      this.mark();
      assign(model, structuredClone(first));
    },
    get canUndo() {
      const current = read();
      return past.some((state) => !same(state, current));
    },
    get isFirst() {
      return same(first, read());
    },
  };
}

/**
 * Nested lists from the wire as plain numbers, in this one place (Python's 1.0 may arrive as 1, a typed array as itself).
 * @param {any} value
 * @returns {number[]}
 */
export function vector(value) {
  return Array.from(value, Number);
}

/**
 * @param {any} value
 * @returns {number[][]}
 */
export function matrix(value) {
  return Array.from(value, vector);
}
