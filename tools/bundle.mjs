// Bundle the scripts and styles of the widgets into src/qkv/widgets/static, one source and two outputs each:
// <name>.mjs (ES module, anywidget's `_esm`) and <name>.js (classic script for the page, works on file://).
//
//   node tools/bundle.mjs            write everything
//   node tools/bundle.mjs NAME ...   write some (dot-product, host, exercises, widgets.css)
//   node tools/bundle.mjs --check    write nothing, fail if a committed bundle differs from its source

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OUT = join(ROOT, "src/qkv/widgets/static");
const TARGET = ["es2022", "chrome111", "firefox114", "safari16.4"];

/** @param {string} code @param {"esm" | "iife"} format */
async function script(code, format) {
  const result = await build({
    stdin: { contents: code, resolveDir: ROOT, sourcefile: "entry.mjs" },
    bundle: true,
    write: false,
    minify: true,
    charset: "utf8",
    legalComments: "none",
    logLevel: "silent",
    target: TARGET,
    format,
  });
  return result.outputFiles[0].text;
}

/** @param {string} folder @param {string} end */
function list(folder, end) {
  const path = join(ROOT, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path).filter((name) => name.endsWith(end)).sort().map((name) => `${folder}/${name}`);
}

async function styles() {
  const files = [...list("js/ui", ".css"), ...list("js/exercises", ".css")];
  const css = files.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
  return (await transform(css, { loader: "css", minify: true, charset: "utf8", target: TARGET })).code;
}

/** @returns {[file: string, make: () => Promise<string>][]} */
function outputs() {
  /** @type {[string, () => Promise<string>][]} */
  const all = [["widgets.css", styles], ["host.js", () => script('import "./js/host.mjs";', "iife")]];
  if (existsSync(join(ROOT, "js/exercises/index.mjs")))
    all.push(["exercises.js", () => script('import "./js/exercises/index.mjs";', "iife")]);
  for (const file of list("js/widgets", ".mjs")) {
    const name = basename(file, ".mjs");
    const page = `import widget from "./${file}";
      const book = (globalThis.qkvBook ??= {});
      (book.widgets ??= {})["${name}"] = widget;
      book.mount?.();`;
    all.push([`${name}.mjs`, () => script(`export { default } from "./${file}";`, "esm")]);
    all.push([`${name}.js`, () => script(page, "iife")]);
  }
  return all;
}

const DATA = ["word-pieces.js", "translator-weights.js", "two-layers-weights.js", "image-model.js", "real-heads-data.js"]; // written by Python, and loaded on a reader's first action

const check = process.argv.includes("--check");
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
let failed = false;
mkdirSync(OUT, { recursive: true });
for (const [file, make] of outputs()) {
  if (wanted.length && !wanted.some((word) => file === word || file.startsWith(`${word}.`))) continue;
  const path = join(OUT, file);
  try {
    const text = await make();
    const stale = !existsSync(path) || readFileSync(path, "utf8") !== text;
    if (check && stale) {
      failed = true;
      console.error(`${file} is stale: run "npm run bundle"`);
    } else if (!check) {
      if (stale) writeFileSync(path, text);
      const size = Buffer.byteLength(text);
      console.log(`${file.padEnd(24)} ${String(size).padStart(7)} bytes  ${String(gzipSync(text).length).padStart(6)} gzipped`);
    }
  } catch (error) {
    failed = true;
    console.error(`${file}: ${error instanceof Error ? error.message : error}`);
  }
}
if (!wanted.length) {
  const known = new Set([...outputs().map(([file]) => file), ...DATA]);
  for (const file of readdirSync(OUT))
    if (!known.has(file)) {
      failed = true;
      console.error(`${file} has no source in js/: delete it`);
    }
}
process.exit(failed ? 1 : 0);
