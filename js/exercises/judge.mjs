// Judge an answer as qkv.checks does in Python: the same verdict and the same question, tested against it.

/** @typedef {{ value: number, question: string }} WrongNumber */
/** @typedef {{ value: number[], question: string }} WrongRow */
/** @typedef {{ kind: "choice", options: Record<string, { correct: boolean, why: string }> }} ChoiceData */
/** @typedef {{ kind: "number", answer: number, tolerance: number, rounds: boolean, wrong: WrongNumber[], right: string, otherwise: string, sign: string, rounding: string }} NumberData */
/** @typedef {{ kind: "row", answer: number[], labels: string[], tolerance: number, wrong: WrongRow[], right: string, otherwise: string }} RowData */
/** @typedef {{ kind: "order", rules: { before: string, after: string, why: string }[], right: string }} OrderData */
/** @typedef {{ kind: "match", answer: number[], labels: string[], wrong: { pairs: number[][], question: string }[], right: string, otherwise: string }} MatchData */
/** @typedef {{ kind: "cell", answer: number[], wrong: { cell: number[], question: string }[], right: string, inRow: string, inColumn: string, otherwise: string }} CellData */
/** @typedef {ChoiceData | NumberData | RowData | OrderData | MatchData | CellData} Data */
/**
 * `honest` tells a try from a slip of the pen; `entries` says which fields hold.
 * @typedef {{ right: boolean, honest: boolean, message: string, entries?: boolean[] }} Verdict
 */

/**
 * Read a number as people write it: 2, -0.5, −0,5, 3/4. Anything else is null.
 * @param {string} text
 * @returns {number | null}
 */
export function readNumber(text) {
  const plain = text.trim().replaceAll("−", "-").replaceAll(",", ".").replace(/\s+/g, "");
  const parts = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?:\/(\d+))?$/i.exec(plain);
  if (!parts) return null;
  const number = Number(parts[1]) / (parts[2] === undefined ? 1 : Number(parts[2]));
  return Number.isFinite(number) ? number : null;
}

/**
 * @param {Data} data
 * @param {string[]} answers what stands in the fields, or the letter or cell chosen, or the letters in order
 * @returns {Verdict}
 */
export function judge(data, answers) {
  if (data.kind === "choice") return judgeChoice(data, answers[0] ?? "");
  if (data.kind === "order") return judgeOrder(data, answers);
  if (data.kind === "match") return judgeMatch(data, answers);
  if (data.kind === "cell") return judgeCell(data, answers[0] ?? "");
  const numbers = answers.map(readNumber);
  const unread = numbers.indexOf(null);
  if (unread >= 0) return refuse(answers[unread], data.kind === "row" ? data.labels[unread] : "");
  const read = /** @type {number[]} */ (numbers);
  return data.kind === "row" ? judgeRow(data, read) : judgeNumber(data, read[0]);
}

/** @param {ChoiceData} data @param {string} letter @returns {Verdict} */
function judgeChoice(data, letter) {
  const option = data.options[letter];
  if (!option) return { right: false, honest: false, message: "Choose one of the answers first." };
  return { right: option.correct, honest: true, message: option.why };
}

/** @param {NumberData} data @param {number} number @returns {Verdict} */
function judgeNumber(data, number) {
  if (near(number, data.answer, data.tolerance)) return { right: true, honest: true, message: data.right };
  const known = data.wrong.find((wrong) => near(number, wrong.value, data.tolerance));
  if (known) return wrong(known.question);
  if (near(number, -data.answer, data.tolerance)) return wrong(data.sign);
  if (data.rounds && Math.abs(number - data.answer) <= 4 * data.tolerance) return wrong(data.rounding);
  return wrong(data.otherwise);
}

/** @param {RowData} data @param {number[]} numbers @returns {Verdict} */
function judgeRow(data, numbers) {
  const entries = numbers.map((number, at) => near(number, data.answer[at], data.tolerance));
  if (entries.every(Boolean)) return { right: true, honest: true, message: data.right, entries };
  const same = (/** @type {WrongRow} */ row) => numbers.every((n, at) => near(n, row.value[at], data.tolerance));
  return { ...wrong(data.wrong.find(same)?.question ?? data.otherwise), entries };
}

/** The first rule that the order breaks speaks. @param {OrderData} data @param {string[]} letters @returns {Verdict} */
function judgeOrder(data, letters) {
  const broken = data.rules.find(({ before, after }) => letters.indexOf(before) > letters.indexOf(after));
  return broken ? wrong(broken.why) : { right: true, honest: true, message: data.right };
}

/** @param {MatchData} data @param {string[]} answers the number of a choice for each item, "" if none @returns {Verdict} */
function judgeMatch(data, answers) {
  const open = data.labels.filter((_, at) => answers[at] === "");
  if (open.length) return { right: false, honest: false, message: `Choose one for each; still open: ${open.map(escape).join(", ")}.` };
  const given = answers.map(Number);
  const entries = given.map((choice, at) => choice === data.answer[at]);
  if (entries.every(Boolean)) return { right: true, honest: true, message: data.right, entries };
  const known = data.wrong.find(({ pairs }) => pairs.every(([item, choice]) => given[item] === choice));
  return { ...wrong(known?.question ?? data.otherwise), entries };
}

/** @param {CellData} data @param {string} marked "row column" @returns {Verdict} */
function judgeCell(data, marked) {
  if (!marked) return { right: false, honest: false, message: "Mark a cell first." };
  const [row, column] = marked.split(" ").map(Number);
  const inRow = row === data.answer[0];
  const inColumn = column === data.answer[1];
  if (inRow && inColumn) return { right: true, honest: true, message: data.right };
  const known = data.wrong.find(({ cell }) => cell[0] === row && cell[1] === column);
  return wrong(known?.question ?? (inRow ? data.inRow : inColumn ? data.inColumn : data.otherwise));
}

/** @param {string} question @returns {Verdict} */
function wrong(question) {
  return { right: false, honest: true, message: question };
}

/** @param {string} text @param {string} label @returns {Verdict} */
function refuse(text, label) {
  const place = label ? ` for ${escape(label)}` : "";
  const message = text.trim()
    ? `“${escape(text.trim())}” is not a number that can be read${place}. Try 2, -0.5 or 3/4.`
    : `Put a number in first${place}.`;
  return { right: false, honest: false, message };
}

/** @param {string} text */
function escape(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** @param {number} a @param {number} b @param {number} tolerance */
function near(a, b, tolerance) {
  return Math.abs(a - b) <= tolerance * (1 + 1e-9);
}
