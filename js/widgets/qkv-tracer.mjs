// QKVTracer: one attention head from X to its output, every number of it (chapter 5).
// Traits: inputs { tokens_q, X_q, tokens_kv, X_kv, columns, columns_kv }, w_q, w_k, w_v, mode ("self" | "cross"), mask ("none" | "causal").

import { attentionSteps, causalMask, projectQkv } from "../math/attention.mjs";
import { assign, bind, history, matrix } from "../ui/bind.mjs";
import { matrixFlow } from "../ui/matrix-flow.mjs";

const TRAITS = ["inputs", "w_q", "w_k", "w_v", "mode", "mask"];

/** @param {import("../ui/bind.mjs").Model} model @returns {import("../ui/matrix-text.mjs").Flow} */
function readFlow(model) {
  const inputs = model.get("inputs");
  const self = model.get("mode") === "self";
  const causal = self && model.get("mask") === "causal";
  const x_kv = matrix(inputs.X_kv);
  const x_q = self ? x_kv : matrix(inputs.X_q);
  const [w_q, w_k, w_v] = ["w_q", "w_k", "w_v"].map((name) => matrix(model.get(name)));
  const { q, k, v } = projectQkv(x_q, x_kv, w_q, w_k, w_v);
  const { dotProducts, scaled, scores, weights, output } = attentionSteps(q, k, v, causal ? causalMask(x_q.length) : null);
  return {
    self,
    causal,
    tokensQ: inputs.tokens_q,
    tokensKv: inputs.tokens_kv,
    columnsQ: inputs.columns,
    columnsKv: inputs.columns_kv,
    values: { x_q, x_kv, w_q, w_k, w_v, q, k, v, scores, weights, output },
    dotProducts,
    scaled,
  };
}

/** @param {{ model: import("../ui/bind.mjs").Model, el: HTMLElement }} context */
function render({ model, el }) {
  const past = history(model, TRAITS);
  const view = matrixFlow({
    begin: (gesture) => past.mark(gesture),
    edit({ name, row, col }, value) {
      const key = name === "x_q" ? "X_q" : "X_kv";
      const inInputs = name === "x_q" || name === "x_kv";
      const changed = matrix(inInputs ? model.get("inputs")[key] : model.get(name));
      changed[row][col] = value;
      assign(model, inInputs ? { inputs: { ...model.get("inputs"), [key]: changed } } : { [name]: changed });
    },
    undo: () => past.undo(),
    reset: () => past.reset(),
    mode: (value) => past.change({ mode: value }),
    mask: (value) => past.change({ mask: value }),
  });
  const update = () => {
    const inputs = model.get("inputs");
    const canSelf = inputs.X_q[0].length === inputs.X_kv[0].length;
    view.update(readFlow(model), { canUndo: past.canUndo, isFirst: past.isFirst, canSelf });
  };
  update();
  el.append(view.el);
  // The poster's tables would stand on the page twice now; its picture stays for print.
  el.parentElement?.querySelector(".qkv-poster details")?.remove();
  return bind(model, TRAITS, update, view.destroy);
}

export default { render };
