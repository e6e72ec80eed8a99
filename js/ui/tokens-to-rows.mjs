// The drawing: tokens as a row of buttons, the table E with the rows in use, the array X, and lines from row to row.

import { h, set, svg, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {import("../math/tokens-to-rows.mjs").Vocabulary} Vocabulary */
/** @typedef {import("../math/tokens-to-rows.mjs").LookedUp} LookedUp */

export const SHOWN = 14; // tokens; what goes beyond is counted, not drawn
const TALL = 27;
const WIDE = 56;

/** @param {number} n */
const counted = (n) => n.toLocaleString("en");

/**
 * One sentence on the token in focus.
 * @param {LookedUp} found
 * @param {number} at
 */
export function sentence({ tokens, ids }, at) {
  if (!(at in tokens)) return `${tokens.length} tokens, ${new Set(ids).size} different ids.`;
  const same = ids.flatMap((id, t) => (id === ids[at] && t !== at ? [t] : []));
  const also = same.length ? ` Token ${same.join(" and ")} points there too.` : "";
  return `Token ${at}, “${tokens[at]}”, has id ${counted(ids[at])}: row ${counted(ids[at])} of E becomes row ${at} of X.${also}`;
}

/** @param {{ onchoose: (token: number) => void }} options */
export function rowsView({ onchoose }) {
  const list = h("div", { class: "qkv-rows-tokens", role: "group", "aria-label": "Tokens; arrow keys walk along them" });
  const more = h("p", { class: "qkv-rows-more" });
  const headE = h("p", { class: "qkv-rows-head" });
  const headX = h("p", { class: "qkv-rows-head" });
  const tableE = h("table");
  const tableX = h("table");
  const links = svg("svg", { class: "qkv-rows-links", "aria-hidden": "true", width: WIDE });
  const el = h(
    "div",
    { class: "qkv-rows-body" },
    h("div", { class: "qkv-rows-side qkv-rows-E" }, headE, tableE),
    links,
    h("div", { class: "qkv-rows-side qkv-rows-X" }, headX, tableX),
  );
  /** @type {HTMLButtonElement[]} */
  let buttons = [];

  list.addEventListener("keydown", (event) => {
    const from = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target));
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || from < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    buttons[to]?.focus();
  });
  list.addEventListener("focusin", (event) => onchoose(buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target))));
  for (const table of [tableE, tableX])
    table.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest("tr[data-token]")) : null;
      if (row) buttons[Number(row.dataset.token)]?.focus();
    });

  /**
   * @param {string} caption
   * @param {readonly string[]} columns
   * @param {HTMLTableRowElement[]} rows
   */
  const content = (caption, columns, rows) => [
    h("caption", { class: "qkv-sr" }, caption),
    h("thead", {}, h("tr", {}, h("td"), ...columns.map((name) => h("th", { scope: "col" }, h("span", {}, name))))),
    h("tbody", {}, ...rows),
  ];

  return {
    list,
    more,
    el,
    /** The first state of a text: everything is built anew. @param {{ words: Vocabulary, found: LookedUp, mode: string }} picture */
    draw({ words, found, mode }) {
      const focus = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
      const n = Math.min(found.tokens.length, SHOWN);
      const { columns } = words;
      const small = mode === "whitespace";
      const used = small ? Array.from({ length: words.size }, (_, id) => id) : [...new Set(found.ids.slice(0, n))].sort((a, b) => a - b);
      const cells = (/** @type {readonly number[]} */ row) => row.map((x) => h("td", {}, small ? String(x) : number(x, 3)));
      const name = (/** @type {number} */ key, /** @type {string} */ text) =>
        h("th", { scope: "row", title: text }, h("span", {}, String(key)), h("b", {}, text));
      el.classList.toggle("qkv-rows-named", small);
      buttons = found.tokens.slice(0, n).map((token, t) => {
        const unknown = token === "[UNK]" || words.token(found.ids[t]) !== token;
        return h(
          "button",
          { type: "button", class: unknown && "qkv-rows-unknown", tabindex: -1 },
          h("b", {}, token),
          unknown && h("span", { class: "qkv-sr" }, " unknown "),
          h("small", {}, ` ${found.ids[t]}`),
        );
      });
      list.replaceChildren(...buttons);
      if (focus >= 0) buttons[Math.min(focus, n - 1)]?.focus();
      const rest = found.tokens.length - n;
      write(more, rest ? `${rest} more token${rest === 1 ? " is" : "s are"} cut and looked up, but not drawn.` : n ? "" : "No token yet: type a word.");
      write(headE, `E: ${counted(words.size)} rows, ${counted(words.width)} columns${small ? "" : `; the rows in use, columns 0 to ${columns.length - 1}`}`);
      write(headX, `X: ${counted(found.tokens.length)} rows, ${counted(words.width)} columns${small ? "" : `; columns 0 to ${columns.length - 1}`}`);
      const first = (/** @type {number} */ id) => found.ids.indexOf(id);
      tableE.replaceChildren(
        ...content(
          "The rows of the table E, by id",
          columns,
          used.map((id, i) => {
            const gap = !small && id !== (used[i - 1] ?? -1) + 1;
            const t = first(id);
            return h(
              "tr",
              { class: [gap && "qkv-rows-gap", t >= 0 && t < n && "qkv-rows-used"].filter(Boolean).join(" "), "data-id": id, "data-token": t >= 0 && t < n ? t : null },
              name(id, words.token(id)),
              ...cells(words.row(id)),
            );
          }),
        ),
      );
      tableX.replaceChildren(
        ...content(
          "The rows of X, by place in the text",
          columns,
          found.tokens.slice(0, n).map((token, t) => h("tr", { "data-token": t, "data-id": found.ids[t] }, name(t, token), ...cells(found.rows[t]))),
        ),
      );
      const top = (small ? 72 : TALL) + TALL / 2;
      const tall = top + TALL * Math.max(used.length, n);
      set(links, { viewBox: `0 0 ${WIDE} ${tall}`, height: tall });
      links.replaceChildren(
        ...found.ids.slice(0, n).map((id, t) => {
          const [y, z] = [top + TALL * used.indexOf(id), top + TALL * t];
          return svg("path", { d: `M2 ${y}C${WIDE / 2} ${y} ${WIDE / 2} ${z} ${WIDE - 2} ${z}`, "data-token": t, "data-id": id });
        }),
      );
    },
    /** Light one token up. @param {number} at @param {LookedUp} found */
    light(at, found) {
      const id = String(found.ids[at] ?? "");
      buttons.forEach((item, t) => {
        set(item, { "aria-pressed": String(t === at), "data-same": found.ids[t] === found.ids[at] && t !== at });
        item.tabIndex = t === (at in buttons ? at : 0) ? 0 : -1;
      });
      for (const row of /** @type {NodeListOf<HTMLElement>} */ (el.querySelectorAll("[data-id]"))) {
        const isX = row.closest(".qkv-rows-X, svg") !== null;
        row.classList.toggle("qkv-rows-here", row.dataset.id === id && (!isX || row.dataset.token === String(at)));
        row.classList.toggle("qkv-rows-same", row.dataset.id === id && isX && row.dataset.token !== String(at));
      }
    },
  };
}
