// Data too large for a page's first load: on the page a script of its own, in a notebook the kernel. Asked once.

/** @typedef {import("./bind.mjs").Model & { send?: (content: any) => void }} Sender */

/** @type {Map<string, Promise<any>>} */
const asked = new Map();

/**
 * Get `qkvBook[field]` from `file`, or from the kernel's answer to `{ want }`.
 * @param {Sender} model @param {{ want: string, field: string }} what the script is `want`.js
 * @returns {Promise<any>}
 */
export function late(model, { want, field }) {
  const book = /** @type {any} */ (globalThis).qkvBook;
  if (book?.[field]) return Promise.resolve(book[field]);
  const found = asked.get(want);
  if (found) return found;
  const coming = (book?.folder === undefined ? fromKernel(model, want, field) : fromScript(`${book.folder}${want}.js`, field)).catch((error) => {
    asked.delete(want); // a later key may try again
    throw error;
  });
  asked.set(want, coming);
  return coming;
}

/** A classic script: a page opened from disk may not fetch. @param {string} src @param {string} field @returns {Promise<any>} */
function fromScript(src, field) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = src;
    script.onload = () => resolve(/** @type {any} */ (globalThis).qkvBook[field]);
    script.onerror = () => reject(new Error(`${src} does not load`));
    document.head.append(script);
  });
}

/** @param {Sender} model @param {string} want @param {string} field @returns {Promise<any>} */
function fromKernel(model, want, field) {
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      model.off("msg:custom", heard);
    };
    const timer = setTimeout(() => {
      done();
      reject(new Error("no kernel answers"));
    }, 20_000);
    const heard = /** @type {any} */ (
      (/** @type {any} */ message) => {
        if (!message?.[field]) return;
        done();
        resolve(message[field]);
      }
    );
    model.on("msg:custom", heard);
    model.send?.({ want });
  });
}
