// Where the 30,522 pieces come from: on the page a script of its own, in a notebook the kernel. Asked once.

/** @typedef {import("../math/tokens-to-rows.mjs").Packed} Packed */
/** @typedef {import("./bind.mjs").Model & { send?: (content: any) => void }} Sender */

/** @type {Promise<Packed> | undefined} */
let asked;

/** @param {Sender} model @returns {Promise<Packed>} */
export function wordPieces(model) {
  const book = /** @type {any} */ (globalThis).qkvBook;
  if (book?.wordPieces) return Promise.resolve(book.wordPieces);
  asked ??= (book?.folder === undefined ? fromKernel(model) : fromScript(`${book.folder}word-pieces.js`)).catch((error) => {
    asked = undefined; // a later key may try again
    throw error;
  });
  return asked;
}

/** A classic script: a page opened from disk may not fetch. @param {string} src @returns {Promise<Packed>} */
function fromScript(src) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = src;
    script.onload = () => resolve(/** @type {any} */ (globalThis).qkvBook.wordPieces);
    script.onerror = () => reject(new Error(`${src} does not load`));
    document.head.append(script);
  });
}

/** @param {Sender} model @returns {Promise<Packed>} */
function fromKernel(model) {
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
        if (!message?.wordPieces) return;
        done();
        resolve(message.wordPieces);
      }
    );
    model.on("msg:custom", heard);
    model.send?.({ want: "word-pieces" });
  });
}
