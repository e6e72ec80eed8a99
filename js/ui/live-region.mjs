// What a screen reader hears after a change: one sentence, once the hand rests.

import { h } from "./dom.mjs";

/**
 * A polite live region, hidden from sight. `say` waits until nothing new was said for `delay` ms.
 * @param {number} [delay]
 */
export function liveRegion(delay = 350) {
  const el = h("p", { class: "qkv-sr", role: "status", "aria-live": "polite" });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return {
    el,
    /** @param {string} text */
    say(text) {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (el.textContent !== text) el.textContent = text;
      }, delay);
    },
    destroy() {
      clearTimeout(timer);
    },
  };
}
