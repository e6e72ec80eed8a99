(() => {
  const root = document.documentElement;
  let mode = "auto";
  try { mode = localStorage.getItem("mode") || mode; } catch {}
  const dark = mode === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : mode === "dark";
  root.dataset.mode = mode;
  root.dataset.theme = dark ? "dark" : "light";
  root.classList.add("js");
  // Ask for the fonts before the stylesheet is read. From disk this is not allowed, nor needed.
  if (location.protocol === "file:") return;
  const script = document.currentScript;
  for (const font of script.dataset.fonts.split(" ").filter(Boolean)) {
    const link = document.createElement("link");
    Object.assign(link, { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href: font });
    script.after(link);
  }
})();
