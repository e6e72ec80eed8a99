// Numbers and dates in English, German and French, with the places that the words come from: qkv/data/translations.py in JS.

/** @typedef {[word: string, sure?: string[], maybe?: string[]]} Word */
/** @typedef {"de" | "fr"} Language */
/** @typedef {{ source: string[], target: string[], sure: [number, number][], possible: [number, number][] }} Translation */

const words = (/** @type {string} */ text) => text.split(" ");
const EN = words("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen");
const EN_TENS = words("twenty thirty forty fifty sixty seventy eighty ninety");
const DE = words("null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn");
const DE_TENS = words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig");
const FR = words("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize");
const FR_TENS = words("vingt trente quarante cinquante soixante");
const DAYS = {
  en: words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
  de: words("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
  fr: words("lundi mardi mercredi jeudi vendredi samedi dimanche"),
};
const MONTHS = {
  en: words("January February March April May June July August September October November December"),
  de: words("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
  fr: words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
};
export const LARGEST = 999999;
const pair = (/** @type {number} */ n) => String(n).padStart(2, "0");
const range = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i);

/** All tokens, in the order of their ids. */
export const VOCABULARY = [
  ...new Set([
    ...words("<pad> <s> </s> <de> <fr> , ."),
    ...EN, ...EN_TENS, ...words("hundred thousand and"),
    ...DE, "eins", ...DE_TENS, ...words("hundert tausend und"),
    ...FR, ...FR_TENS, ...words("vingts cent cents mille et"),
    ...(/** @type {const} */ (["en", "de", "fr"])).flatMap((l) => [...DAYS[l], ...MONTHS[l]]),
    ...range(31).map((d) => String(d + 1)),
    ...range(100).map(pair),
  ]),
];
const PLACE = new Map(VOCABULARY.map((word, i) => [word, i]));

/** @param {string[]} tokens */
export function idsOf(tokens) {
  return tokens.map((word) => PLACE.get(word) ?? 0);
}

/** @param {"en" | Language} l @param {number} n @param {string} at @param {boolean} thousands @returns {Word[]} */
function group(l, n, at, thousands) {
  const hundreds = Math.floor(n / 100);
  const rest = n % 100;
  const H = [`${at}hundreds`];
  const C = [`${at}hundred`];
  const U = [`${at}unit`];
  const T = [`${at}tens`];
  /** @type {Word[]} */
  const out = [];
  if (l === "fr") {
    if (hundreds > 1) out.push([FR[hundreds], H]);
    if (hundreds) out.push([hundreds > 1 && !rest && !thousands ? "cents" : "cent", C, hundreds === 1 ? H : []]);
    if (rest || n === 0) out.push(...below(rest, U, T, thousands));
    return out;
  }
  const ones = l === "en" ? EN : DE;
  if (hundreds) out.push([ones[hundreds], H], [l === "en" ? "hundred" : "hundert", C]);
  const [ten, unit] = [Math.floor(rest / 10), rest % 10];
  if (l === "en") {
    if (hundreds && rest) out.push(["and"]);
    if (ten > 1) out.push([EN_TENS[ten - 2], T]);
    const left = ten > 1 ? unit : rest;
    if (left || n === 0) out.push([EN[left], U]);
  } else if (ten > 1) {
    if (unit) out.push([DE[unit], U], ["und"]);
    out.push([DE_TENS[ten - 2], T]);
  } else if (rest || n === 0) out.push([rest === 1 && !(thousands && n === 1) ? "eins" : DE[rest], U]);
  return out;
}

/** French below a hundred. @param {number} n @param {string[]} U @param {string[]} T @param {boolean} thousands @returns {Word[]} */
function below(n, U, T, thousands) {
  if (n < 17) return [[FR[n], U]];
  if (n < 20) return [["dix", U], [FR[n - 10], U]];
  const base = n >= 80 ? 80 : Math.min(Math.floor(n / 10) * 10, 60);
  /** @type {Word[]} */
  const out = base === 80 ? [["quatre", T], [n === 80 && !thousands ? "vingts" : "vingt", T]] : [[FR_TENS[base / 10 - 2], T]];
  if (base < 80 && n % 10 === 1) out.push(["et"]);
  const rest = n - base;
  if (rest === 10) out.push(["dix", T]);
  else if (rest > 16) out.push(["dix", T], [FR[rest - 10], U]);
  else if (rest > 10) out.push([FR[rest], [], [...T, ...U]]);
  else if (rest) out.push([FR[rest], U]);
  return out;
}

/** @param {number} n @param {"en" | Language} l @returns {Word[]} */
function numberWords(n, l) {
  const thousands = Math.floor(n / 1000);
  const rest = n % 1000;
  /** @type {Word[]} */
  const out = [];
  if (thousands) {
    const one = l === "fr" && thousands === 1;
    if (!one) out.push(...group(l, thousands, "thousands ", true));
    out.push([{ en: "thousand", de: "tausend", fr: "mille" }[l], ["thousand"], one ? ["thousands unit"] : []]);
    if (l === "en" && rest) out.push([rest < 100 ? "and" : ","]);
  }
  if (rest || !thousands) out.push(...group(l, rest, "", false));
  return out;
}

/** @param {string} text year-month-day @param {"en" | Language} l @returns {Word[]} */
function dateWords(text, l) {
  const [y, m, d] = text.split("-").map(Number);
  const weekday = (new Date(Date.UTC(y, m - 1, d)).getUTCDay() + 6) % 7;
  /** @type {Word[]} */
  const year = [[pair(Math.floor(y / 100)), ["century"]], [pair(y % 100), ["year"]]];
  /** @type {Word} */
  const W = [DAYS[l][weekday], ["weekday"]];
  /** @type {Word} */
  const M = [MONTHS[l][m - 1], ["month"]];
  /** @type {Word} */
  const D = [String(d), ["day"]];
  if (l === "en") return [W, [","], M, D, [","], ...year];
  return l === "de" ? [W, [","], D, ["."], M, ...year] : [W, D, M, ...year];
}

/** Whether a text is a number or a date that the rule knows. @param {string} text */
export function isKnown(text) {
  if (/^\d{1,6}$/.test(text)) return true;
  const time = /^(19|20)\d\d-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text); // no 30 February
}

/** A known text, its translation and the gold alignment. @param {string} text @param {Language} language @returns {Translation} */
export function translation(text, language) {
  const make = (/** @type {"en" | Language} */ l) => (text.includes("-") ? dateWords(text, l) : numberWords(Number(text), l));
  /** @type {Word[]} */
  const source = [[`<${language}>`], ...make("en")];
  const target = make(language);
  /** @type {[number, number][]} */
  const sure = [];
  /** @type {[number, number][]} */
  const possible = [];
  target.forEach(([, surely = [], perhaps = []], t) =>
    source.forEach(([, places = []], s) => {
      if (places.some((p) => surely.includes(p))) sure.push([t, s]);
      if (places.some((p) => surely.includes(p) || perhaps.includes(p))) possible.push([t, s]);
    }),
  );
  return { source: source.map(([word]) => word), target: target.map(([word]) => word), sure, possible };
}
