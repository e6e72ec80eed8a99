// Controls that need a hand: steps that move up and down, and arrow keys that walk a table of radio buttons.

/**
 * Let the buttons of each step move it. The focus stays on the button, at the ends too, so that Enter can be pressed
 * again; where the step has got to is said aloud.
 * @param {HTMLElement} list @param {() => void} changed
 */
export function moveSteps(list, changed) {
  const voice = /** @type {HTMLElement} */ (list.nextElementSibling);
  const ends = () => {
    for (const button of list.querySelectorAll("button")) {
      const step = /** @type {HTMLElement} */ (button.parentElement);
      const last = button.dataset.move === "up" ? !step.previousElementSibling : !step.nextElementSibling;
      button.setAttribute("aria-disabled", String(last));
    }
  };
  list.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest("button");
    const step = button?.closest("li");
    if (!button || !step) return;
    const up = button.dataset.move === "up";
    const other = up ? step.previousElementSibling : step.nextElementSibling;
    if (!other) return;
    if (up) other.before(step);
    else other.after(step);
    button.focus();
    ends();
    const place = [...list.children].indexOf(step) + 1;
    voice.textContent = `Now step ${place} of ${list.children.length}.`;
    changed();
  });
  ends();
}

/** Arrow keys go to the neighbouring cell instead of the next button in the page. @param {HTMLElement} grid */
export function walkCells(grid) {
  const rows = [...grid.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("input")]);
  grid.addEventListener("keydown", (event) => {
    const step = /** @type {Record<string, number[]>} */ ({
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    })[event.key];
    const r = rows.findIndex((row) => row.includes(/** @type {HTMLInputElement} */ (event.target)));
    if (!step || r < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const c = rows[r].indexOf(/** @type {HTMLInputElement} */ (event.target));
    const next = rows[r + step[0]]?.[c + step[1]];
    if (!next) return;
    next.focus();
    next.checked = true;
    next.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
