// Wake up the exercises of a page: the HTML is already there, with its form asleep.

import { moveSteps, walkCells } from "./arrange.mjs";
import { judge } from "./judge.mjs";
import { isSolved, remember } from "./memory.mjs";

const HONEST_TRIES = 2;

/** @param {HTMLElement} root */
function mount(root) {
  const form = root.querySelector("form");
  const data = root.querySelector(".qkv-exercise-data");
  const fieldset = form?.querySelector("fieldset");
  const feedback = /** @type {HTMLElement | null} */ (root.querySelector(".qkv-exercise-feedback"));
  const solution = /** @type {HTMLDetailsElement | null} */ (root.querySelector(".qkv-fold-solution"));
  if (!form || !data || !fieldset || !feedback || !solution || !fieldset.disabled) return;
  const id = root.dataset.qkvExercise ?? "";
  /** @type {import("./judge.mjs").Data} */
  const exercise = JSON.parse(data.textContent ?? "");
  const inputs = [...form.querySelectorAll(/** @type {"input"} */ ("input, select"))];
  const list = /** @type {HTMLElement | null} */ (form.querySelector(".qkv-exercise-order"));
  const grid = /** @type {HTMLElement | null} */ (form.querySelector(".qkv-exercise-grid"));
  const tries = new Set();

  /** @returns {string[]} */
  const answers = () => {
    if (list) return [...list.children].map((step) => /** @type {HTMLElement} */ (step).dataset.key ?? "");
    const chosen = exercise.kind === "choice" || exercise.kind === "cell" ? inputs.filter((input) => input.checked) : inputs;
    return chosen.map((input) => input.value);
  };

  /** @param {import("./judge.mjs").Verdict} verdict */
  const show = (verdict) => {
    const state = verdict.right ? "right" : verdict.honest ? "wrong" : "unread";
    const word = { right: "Right", wrong: "Not yet", unread: "" }[state];
    const message = document.createElement("p");
    if (word) {
      const verdictWord = document.createElement("strong");
      verdictWord.textContent = word;
      message.append(verdictWord, " ");
    }
    const text = document.createElement("span");
    // Our own texts, made by the build; what the reader typed is escaped in judge.mjs.
    text.innerHTML = verdict.right ? verdict.message.replace(/^Right[.:] /, "") : verdict.message;
    message.append(text);
    feedback.replaceChildren(message);
    feedback.dataset.state = state;
    if (exercise.kind !== "choice" && exercise.kind !== "cell") markFields(inputs, verdict);
    if ("labels" in exercise && verdict.entries && !verdict.right)
      feedback.append(whichHold(exercise.labels, verdict.entries));
  };

  const offerSolution = () => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "qkv-exercise-offer";
    button.textContent = "Show the solution";
    button.addEventListener("click", () => {
      solution.open = true;
      solution.querySelector("summary")?.focus();
    });
    feedback.append(button);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = answers();
    const verdict = judge(exercise, given);
    show(verdict);
    if (verdict.right) {
      solution.open = true;
      root.dataset.solved = "";
      remember(id);
      root.dispatchEvent(new CustomEvent("qkv-solved", { bubbles: true, detail: { id } }));
    } else if (verdict.honest) {
      tries.add(given.join(" "));
      if (tries.size >= HONEST_TRIES && !solution.open) offerSolution();
    }
  });

  const stale = () => {
    for (const input of inputs) input.removeAttribute("aria-invalid");
    if (feedback.dataset.state) feedback.dataset.stale = "";
  };
  form.addEventListener("input", stale);
  if (list) moveSteps(list, stale);
  if (grid) walkCells(grid);
  form.addEventListener("submit", () => delete feedback.dataset.stale);

  if (isSolved(id)) root.dataset.solved = "";
  fieldset.disabled = false;
}

/**
 * @param {HTMLInputElement[]} inputs
 * @param {import("./judge.mjs").Verdict} verdict
 */
function markFields(inputs, verdict) {
  inputs.forEach((input, at) => {
    const holds = verdict.right || verdict.entries?.[at] === true;
    if (holds) input.removeAttribute("aria-invalid");
    else input.setAttribute("aria-invalid", "true");
  });
}

/** @param {string[]} labels @param {boolean[]} entries */
function whichHold(labels, entries) {
  const names = labels.filter((_, at) => !entries[at]);
  const line = document.createElement("p");
  line.textContent = `Look again at: ${names.join(", ")}.`;
  return line;
}

for (const root of document.querySelectorAll("[data-qkv-exercise]")) mount(/** @type {HTMLElement} */ (root));
