// The hand on a history: Ctrl+Z, and the buttons Undo and Reset.

import { button } from "./controls.mjs";

/** @typedef {ReturnType<typeof import("./bind.mjs").history>} History */

/**
 * The listener that makes Ctrl+Z (Cmd+Z) take the last change back.
 * @param {History} past
 * @param {{ fields?: boolean }} [options] fields: also inside an input; false where inputs have an undo of their own
 * @returns {(event: KeyboardEvent) => void}
 */
export function undoKey(past, { fields = true } = {}) {
  return (event) => {
    if (event.key !== "z" || !(event.ctrlKey || event.metaKey)) return;
    if (!fields && event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    event.stopPropagation();
    past.undo();
  };
}

/**
 * Both buttons, and what enables them: call `update` after every change.
 * @param {History} past
 */
export function undoButtons(past) {
  const undo = button("Undo", () => past.undo());
  const reset = button("Reset", () => past.reset());
  return {
    all: [undo, reset],
    update() {
      undo.disabled = !past.canUndo;
      reset.disabled = past.isFirst;
    },
  };
}
