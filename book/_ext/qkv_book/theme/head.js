(() => {
  const root = document.documentElement;
  let mode = "auto";
  try { mode = localStorage.getItem("mode") || mode; } catch {}
  const dark = mode === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : mode === "dark";
  root.dataset.mode = mode;
  root.dataset.theme = dark ? "dark" : "light";
  root.classList.add("js");
})();
