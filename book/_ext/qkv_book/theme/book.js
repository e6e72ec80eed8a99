// What every page of the book does: colour mode, copy buttons, boxes that scroll sideways, the place in
// the table of contents. Everything here is an extra: without it the page reads the same.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Colour mode: auto, light, dark, auto ...
  const MODES = ["auto", "light", "dark"];
  const system = matchMedia("(prefers-color-scheme: dark)");
  const show = (mode) => {
    root.dataset.mode = mode;
    root.dataset.theme = mode === "auto" ? (system.matches ? "dark" : "light") : mode;
    for (const button of all(".theme-button")) button.setAttribute("aria-label", `Colours: ${mode}`);
    for (const label of all(".theme-name")) label.textContent = mode;
  };
  show(root.dataset.mode || "auto");
  system.addEventListener("change", () => show(root.dataset.mode));
  for (const button of all(".theme-button")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const mode = MODES[(MODES.indexOf(root.dataset.mode) + 1) % MODES.length];
      try { localStorage.setItem("mode", mode); } catch { /* a page from disk may have no storage */ }
      show(mode);
    });
  }

  // Copy buttons on code.
  if (navigator.clipboard) {
    for (const block of all(".cell_input .highlight, .highlight-python .highlight, .highlight-bash .highlight")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy-button";
      button.setAttribute("aria-label", "Copy the code");
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(block.querySelector("pre").textContent.trimEnd());
        button.classList.add("copied");
        button.setAttribute("aria-label", "Copied");
        setTimeout(() => {
          button.classList.remove("copied");
          button.setAttribute("aria-label", "Copy the code");
        }, 1600);
      });
      block.append(button);
    }
  }

  // A box that scrolls sideways can be reached by the keyboard and says what it is, while it scrolls.
  const KINDS = [
    [".math-scroll", "Formula, scrolls sideways"],
    [".pst-scrollable-table-container", "Table, scrolls sideways"],
    ["article pre", "Code, scrolls sideways"],
    [".cell_output pre", "Output, scrolls sideways"],
  ];
  const labels = new Map();
  for (const [selector, label] of KINDS) for (const box of all(selector)) labels.set(box, label);
  const measure = (box) => {
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("scrolls", scrolls);
    if (scrolls) {
      box.tabIndex = 0;
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", labels.get(box));
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  };
  if ("ResizeObserver" in window) {
    const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => measure(target)));
    for (const box of labels.keys()) observer.observe(box);
  }
  document.fonts?.ready.then(() => [...labels.keys()].forEach(measure));

  // The place in the table of contents.
  const links = new Map(all(".page-toc a[href^='#']").map((a) => [a.hash.slice(1), a]));
  if (links.size && "IntersectionObserver" in window) {
    const sections = all("article section[id]").filter(({ id }) => links.has(id));
    const mark = () => {
      let current = "";
      for (const section of sections) if (section.getBoundingClientRect().top < 140) current = section.id;
      for (const [id, a] of links) {
        if (id === current) a.setAttribute("aria-current", "true");
        else a.removeAttribute("aria-current");
      }
    };
    const observer = new IntersectionObserver(mark, { rootMargin: "-139px 0px -50% 0px", threshold: [0, 1] });
    for (const section of sections) observer.observe(section);
    mark();
  }

  // "/" goes to the search field; a chosen link closes the drawer; printing opens what is folded.
  const nav = document.getElementById("book-nav");
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], [role='grid'], .qkv-widget")) return;
    const field = document.querySelector("input[name='q']");
    if (!field) return;
    event.preventDefault();
    if (!field.checkVisibility()) nav?.showPopover?.();
    field.focus();
  });
  nav?.addEventListener("click", (event) => {
    if (event.target.closest("a") && nav.matches(":popover-open")) nav.hidePopover();
  });
  nav?.querySelector("[aria-current='page']")?.scrollIntoView?.({ block: "nearest" });
  addEventListener("beforeprint", () => all("article details:not([open])").forEach((d) => { d.open = true; }));
})();
