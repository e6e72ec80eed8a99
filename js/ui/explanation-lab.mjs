// The table: one line a token, one column a method, and how well each column agrees with the truth.

import { ANSWERS, BODY, METHODS, SCORED, separation, START } from "../math/explanation-lab.mjs";
import { h, set, write } from "./dom.mjs";
import { number } from "./format.mjs";

/** @typedef {import("../math/explanation-lab.mjs").Lab} Lab */
/** @typedef {import("../math/explanation-lab.mjs").State} State */

const NAMES = { weights: "weights", norms: "× norms", rollout: "rollout", gradient: "gradient", erased: "erased" };

/** Names in a row, as one says them. @param {readonly string[]} names */
function list(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/**
 * What the model says, what matters, and where the weights point.
 * @param {State} state @param {Lab} made
 */
export function sentence({ text, model, layer, slide }, made) {
  const tokens = [START, ...text.slice(0, -1)];
  const matters = tokens.filter((_, j) => made.truth[j]);
  const top = made.weights.indexOf(Math.max(...made.weights));
  const said = `The model says ${ANSWERS[made.said]}, ${made.said === made.right ? "as the rule does" : `the rule ${ANSWERS[made.right]}`}.`;
  const truth = matters.length ? `${list(matters)} ${matters.length > 1 ? "matter" : "matters"}.` : "No token matters.";
  const shown = model === "one" ? 1 : layer;
  const place = `${tokens[top]}${tokens.indexOf(tokens[top]) === tokens.lastIndexOf(tokens[top]) ? "" : ` (place ${top})`}`;
  const points = `The largest weight of layer ${shown}, ${number(made.weights[top])}, is on ${place}, which ${made.truth[top] ? "matters" : "does not matter"}.`;
  const moved = slide > 0 ? ` These are other weights: ${number(100 * made.moved, 0)} % of the weight has moved, the output by ${number(made.output_moved)}.` : "";
  return `${said} ${truth} ${points}${moved}`;
}

/** @param {{ onput: (place: number, token: string) => void }} options */
export function explanationView({ onput }) {
  const places = Array.from({ length: SCORED }, (_, j) => j);
  const pickers = places.slice(1).map((place) => {
    const input = h("select", { "aria-label": `Token ${place}` }, ...BODY.map((token) => h("option", { value: token }, token)));
    input.addEventListener("change", () => onput(place - 1, input.value));
    return input;
  });
  const matters = places.map(() => h("td", { class: "qkv-explain-truth" }));
  const cells = places.map(() => METHODS.map(() => h("td")));
  const rows = places.map((j) => h("tr", {}, h("th", { scope: "row" }, j ? pickers[j - 1] : START), matters[j], ...cells[j]));
  const agree = METHODS.map(() => h("td"));
  const caption = h("caption");
  const table = h(
    "table",
    { class: "qkv-explain-table" },
    caption,
    h("thead", {}, h("tr", {}, ...["token", "matters", ...METHODS.map((name) => NAMES[name])].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row", colspan: 2 }, "agreement"), ...agree)),
  );
  const said = h("p", { class: "qkv-explain-said" });
  return {
    said,
    table,
    /** The tokens, also before the numbers are there. @param {State} state */
    tokens({ text, model, layer }) {
      pickers.forEach((input, j) => {
        if (input.value !== text[j]) input.value = text[j];
      });
      write(caption, `Question ${text[text.length - 1]}; weights of layer ${model === "one" ? 1 : layer}, mean of both heads`);
    },
    /** @param {State} state @param {Lab} made */
    update(state, made) {
      this.tokens(state);
      places.forEach((j) => {
        write(matters[j], made.truth[j] ? "yes" : "–");
        rows[j].className = made.truth[j] ? "qkv-explain-yes" : "";
      });
      METHODS.forEach((name, c) => {
        const top = Math.max(1e-12, ...made[name]);
        places.forEach((j) => {
          const x = made[name][j];
          write(cells[j][c], number(x));
          cells[j][c].style.setProperty("--bar", `${Math.round((100 * Math.max(0, x)) / top)}%`);
        });
        const share = separation(made[name], made.truth);
        write(agree[c], Number.isNaN(share) ? "–" : number(share));
        set(agree[c], { class: share < 0.995 ? (share <= 0.75 ? "qkv-explain-poor" : null) : "qkv-explain-good" });
      });
      write(said, sentence(state, made));
    },
  };
}
