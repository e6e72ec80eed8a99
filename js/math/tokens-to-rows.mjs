// From a text to rows: words, word pieces, ids, rows of a table. The same rules as qkv.data.word_pieces.

/** @typedef {{ columns: readonly string[], size: number, width: number, id: (token: string) => number | undefined, token: (id: number) => string, row: (id: number) => readonly number[] }} Vocabulary */
/** @typedef {{ tokens: readonly string[], ids?: readonly number[], size?: number, width?: number, columns: readonly string[], numbers: readonly (readonly number[])[] }} Listed */
/** @typedef {{ columns: number, tokens: string, numbers: string }} Packed what static/word-pieces.js holds */
/** @typedef {{ tokens: string[], ids: number[], rows: (readonly number[])[], used: number[], place: number[] }} LookedUp */

export const UNKNOWN = "[UNK]";
const LONGEST_WORD = 100;
const BASE = 57;
const FIRST = 35;
const SHIFT = 1624;
const IDEOGRAPHS = [
  [0x4e00, 0x9fff], [0x3400, 0x4dbf], [0x20000, 0x2a6df], [0x2a700, 0x2b73f],
  [0x2b740, 0x2b81f], [0x2b920, 0x2ceaf], [0xf900, 0xfaff], [0x2f800, 0x2fa1f],
]; // prettier-ignore

/** A character, a space for white space, nothing for what cannot be seen. @param {string} c */
function spaced(c) {
  if (/[\t\n\r\p{Z}]/u.test(c)) return " ";
  if (/[\p{Cc}\p{Cf}\p{Co}\ufffd]/u.test(c)) return "";
  const code = /** @type {number} */ (c.codePointAt(0));
  return IDEOGRAPHS.some(([first, last]) => first <= code && code <= last) ? ` ${c} ` : c;
}

/** Lower case, without accents, punctuation apart. @param {string} text */
export function splitWords(text) {
  const seen = [...text].map(spaced).join("").normalize("NFD");
  const plain = [...seen].filter((c) => !/\p{Mn}/u.test(c));
  const apart = (/** @type {string} */ c) => (/[\p{P}!-/:-@[-`{-~]/u.test(c) ? ` ${c} ` : c.toLowerCase());
  return plain.map(apart).join("").split(" ").filter(Boolean);
}

/**
 * At each place the longest piece that fits; `[UNK]` if none does.
 * @param {string} word
 * @param {(piece: string) => boolean} has
 */
export function cutWord(word, has) {
  const letters = [...word];
  if (letters.length > LONGEST_WORD) return [UNKNOWN];
  const found = [];
  for (let start = 0; start < letters.length; ) {
    const piece = (/** @type {number} */ end) => (start ? "##" : "") + letters.slice(start, end).join("");
    let end = letters.length;
    while (end > start && !has(piece(end))) end -= 1;
    if (end === start) return [UNKNOWN];
    found.push(piece(end));
    start = end;
  }
  return found;
}

/** A vocabulary that stands in a list; without ids the place is the id. @param {Listed} list @returns {Vocabulary} */
export function listed({ tokens, ids = tokens.map((_, i) => i), columns, numbers, size = tokens.length, width = columns.length }) {
  const place = new Map(ids.map((id, i) => [id, i]));
  const known = new Map(tokens.map((token, i) => [token, ids[i]]));
  const at = (/** @type {number} */ id) => /** @type {number} */ (place.get(id));
  return { columns, size, width, id: (token) => known.get(token), token: (id) => tokens[at(id)], row: (id) => numbers[at(id)] };
}

/** The vocabulary of static/word-pieces.js. @param {Packed} packed @param {number} width @returns {Vocabulary} */
export function unpacked({ columns, tokens, numbers }, width) {
  const list = tokens.split(" ");
  const known = new Map(list.map((token, i) => [token, i]));
  const digit = (/** @type {number} */ i) => numbers.charCodeAt(i) - FIRST;
  const entry = (/** @type {number} */ i) => (digit(2 * i) * BASE + digit(2 * i + 1) - SHIFT) / 1000;
  const names = Array.from({ length: columns }, (_, c) => String(c));
  return {
    columns: names,
    size: list.length,
    width,
    id: (token) => known.get(token),
    token: (id) => list[id],
    row: (id) => names.map((_, c) => entry(id * columns + c)),
  };
}

/** Words between spaces; one that the list has not is its first, the unknown. @param {string} text @param {Vocabulary} words */
export function byWhitespace(text, words) {
  return text.split(/\s+/).filter(Boolean).map((word) => [word, words.id(word) ?? 0]);
}

/**
 * @param {{ text: string, mode: string, special: boolean }} state
 * @param {Vocabulary} words
 * @returns {LookedUp}
 */
export function lookUp({ text, mode, special }, words) {
  /** @type {any[][]} */
  let pairs = [];
  if (mode === "whitespace") pairs = byWhitespace(text, words);
  else {
    const pieces = splitWords(text).flatMap((word) => cutWord(word, (piece) => words.id(piece) !== undefined));
    pairs = (special ? ["[CLS]", ...pieces, "[SEP]"] : pieces).map((piece) => [piece, words.id(piece)]);
  }
  const ids = pairs.map(([, id]) => id);
  const used = [...new Set(ids)].sort((a, b) => a - b);
  return { tokens: pairs.map(([token]) => token), ids, rows: ids.map(words.row), used, place: ids.map((id) => used.indexOf(id)) };
}
