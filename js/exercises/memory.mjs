// What was solved stays solved: one key in localStorage, by stable id. Where storage is refused (private mode, some
// file:// pages, a full disk) the page works all the same and forgets.

const KEY = "qkv-solved";

/** @returns {string[]} */
function stored() {
  try {
    const ids = JSON.parse(globalThis.localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(ids) ? ids : [];
  } catch {
    return [];
  }
}

/** @param {string} id */
export function isSolved(id) {
  return stored().includes(id);
}

/** @param {string} id */
export function remember(id) {
  if (isSolved(id)) return;
  try {
    globalThis.localStorage.setItem(KEY, JSON.stringify([...stored(), id]));
  } catch {
    // nothing to be done, and nothing lost but the mark
  }
}
