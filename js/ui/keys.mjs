// Keys belong to the widget that has the focus.

/**
 * Keep a notebook from taking keys that were meant for a widget: in JupyterLab's command mode "d d" deletes a cell and an
 * arrow leaves it. Keys with Ctrl, Alt or Meta, Escape, and Shift+Enter still reach the notebook and the browser.
 * (Its `data-lm-suppress-shortcuts` does not help: the shortcuts match the focused element before its parents are asked.)
 * @param {HTMLElement} root
 */
export function keepKeys(root) {
  root.addEventListener("keydown", (event) => {
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
    if (ctrlKey || altKey || metaKey || key === "Escape" || (key === "Enter" && shiftKey)) return;
    event.stopPropagation();
  });
}
