// CrossAttention: two sentences, one layer of several heads; any number of the output traced back to both (chapter 12).
// Traits: inputs { tokens_q, X, tokens_kv, memory, columns, columns_kv, heads }, parameters { W_Q, W_K, W_V, W_O },
// order (places of the source words), hidden (1 = may not be looked at, by source word),
// chosen [target word, column of the output, head, source word].

import { crossAttention, meetings, moved, parts } from "../math/cross-attention.mjs";
import { assign, bind, history, matrix, vector } from "../ui/bind.mjs";
import { choiceRow } from "../ui/controls.mjs";
import { crossView, scoreText } from "../ui/cross-attention.mjs";
import { h } from "../ui/dom.mjs";
import { factor, number } from "../ui/format.mjs";
import { keepKeys } from "../ui/keys.mjs";
import { liveRegion } from "../ui/live-region.mjs";
import { undoButtons, undoKey } from "../ui/undo.mjs";

const TRAITS = ["inputs", "parameters", "order", "hidden", "chosen"];

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, ["order", "hidden"]);
  const live = liveRegion();
  const { tokens_q: tokensQ, tokens_kv: tokensKv, columns, columns_kv: columnsKv, heads } = model.get("inputs");
  /** @param {Partial<Record<"t" | "c" | "head" | "word", number>>} what */
  const choose = (what) => {
    const [t, c, head, word] = vector(model.get("chosen"));
    const next = { t, c, head, word, ...what };
    assign(model, { chosen: [next.t, next.c, next.head, next.word] });
  };

  const view = crossView({
    tokensQ,
    tokensKv,
    columns,
    heads,
    onrow: (t) => choose({ t }),
    onoutput: (t, c) => choose({ t, c }),
    onpart: (head, place) => choose({ head, word: vector(model.get("order"))[place] }),
    onhide(place) {
      const hidden = vector(model.get("hidden"));
      const word = vector(model.get("order"))[place];
      hidden[word] = 1 - hidden[word];
      past.change({ hidden });
    },
    onmove(place, by) {
      past.change({ order: moved(vector(model.get("order")), place, by) });
    },
  });
  const head = choiceRow({
    label: "Head",
    options: heads.map((/** @type {string} */ name, /** @type {number} */ i) => [String(i), `${i + 1} ${name}`]),
    onchange: (value) => choose({ head: Number(value) }),
  });
  const buttons = undoButtons(past);
  const ui = h(
    "div",
    { class: "qkv-ui qkv-cross", onkeydown: undoKey(past) },
    h("div", { class: "qkv-cross-bar" }, head.el, h("div", { class: "qkv-buttons" }, ...buttons.all)),
    view.picture,
    h("div", { class: "qkv-cross-body" }, view.output, view.parts),
    live.el,
  );

  function update() {
    const inputs = model.get("inputs");
    const given = model.get("parameters");
    const [W_Q, W_K, W_V] = ["W_Q", "W_K", "W_V"].map((name) => given[name].map(matrix));
    const order = vector(model.get("order"));
    const hidden = vector(model.get("hidden"));
    const [t, c, i, word] = vector(model.get("chosen"));
    const place = order.indexOf(word);
    const X = matrix(inputs.X);
    const memory = matrix(inputs.memory);
    const seen = order.map((w) => hidden[w] < 0.5);
    const made = crossAttention(X, order.map((w) => memory[w]), { W_Q, W_K, W_V, W_O: matrix(given.W_O) }, seen);
    const shares = parts(made, t, c);
    const { weights, cargo, scores } = made.heads[i];
    const [query, key] = [tokensQ[t], tokensKv[word]];
    const because = scoreText({
      query,
      key,
      columns,
      columnsKv,
      meetings: meetings(X[t], memory[word], W_Q[i], W_K[i]),
      root: Math.sqrt(W_Q[i][0].length),
      score: scores[t][place],
      hidden: !seen[place],
    });
    const part = `Head ${i + 1} from ${key}: weight ${number(weights[t][place])} × ${factor(cargo[place][c])} = ${number(shares[i][place])}.`;
    view.update({
      words: order.map((w) => tokensKv[w]),
      seen,
      weights,
      numbers: made.output,
      shares,
      chosen: { t, c, head: i, place },
      texts: [part, because],
    });
    head.set(String(i));
    buttons.update();
    if (!ui.isConnected) return;
    live.say(`output '${query}', ${columns[c]}: ${number(made.output[t][c])}. query '${query}' looks at key '${key}', weight ${number(weights[t][place])}. ${part} ${because}`);
  }

  keepKeys(ui);
  update();
  el.append(ui);
  return bind(model, TRAITS, update, () => {
    live.destroy();
    ui.remove();
  });
}

export default { render };
