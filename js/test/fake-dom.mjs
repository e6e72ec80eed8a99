// As much of a document as the host needs, for tests without a browser.

class Node {
  /** @type {Node[]} */ children = [];
  /** @type {Record<string, string>} */ dataset = {};
  /** @type {Record<string, string>} */ style = {};
  /** @type {Node | null} */ parent = null;
  textContent = "";
  offsetHeight = 300;
  classes = new Set();
  classList = {
    add: (/** @type {string} */ name) => this.classes.add(name),
    remove: (/** @type {string} */ name) => this.classes.delete(name),
  };

  /** @param {string} tag */
  constructor(tag) {
    this.tag = tag;
  }

  set className(/** @type {string} */ names) {
    this.classes = new Set(names.split(" "));
  }

  /** @param {Node} child @param {Node | null} before */
  insertBefore(child, before) {
    const at = before ? this.children.indexOf(before) : -1;
    this.children.splice(at < 0 ? this.children.length : at, 0, child);
    child.parent = this;
  }

  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  /** @param {string} selector a class or a tag */
  querySelector(selector) {
    const hit = (/** @type {Node} */ child) =>
      selector.startsWith(".") ? child.classes.has(selector.slice(1)) : child.tag === selector;
    return this.children.find(hit) ?? null;
  }
}

/**
 * @param {string} name
 * @param {string} json
 * @returns {any}
 */
export function figure(name, json) {
  const root = new Node("figure");
  root.dataset.qkvWidget = name;
  for (const [tag, className, text] of [["script", "qkv-state", json], ["div", "qkv-poster", ""], ["figcaption", "", "caption"]]) {
    const child = new Node(tag);
    child.className = className;
    child.textContent = text;
    root.insertBefore(child, null);
  }
  return root;
}

/** @param {any[]} figures */
export function fakeDocument(figures) {
  return { readyState: "complete", createElement: (/** @type {string} */ tag) => new Node(tag), querySelectorAll: () => figures };
}
