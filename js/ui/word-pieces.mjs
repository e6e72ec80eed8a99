// Where the 30,522 pieces come from.

import { late } from "./late.mjs";

/** @typedef {import("../math/tokens-to-rows.mjs").Packed} Packed */
/** @typedef {import("./late.mjs").Sender} Sender */

/** @param {Sender} model @returns {Promise<Packed>} */
export function wordPieces(model) {
  return late(model, { want: "word-pieces", field: "wordPieces" });
}
