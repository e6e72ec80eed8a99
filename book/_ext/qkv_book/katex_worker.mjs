// Renders formulas for maths.py: one JSON request a line on stdin, one JSON answer a line on stdout.
// It ends when stdin closes, so it can never outlive the build that started it.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { default: katex } = await import(pathToFileURL(process.argv[2]).href);
const macros = JSON.parse(process.argv[3]);

// Sizes 1 to 11 of KaTeX, relative to the text around.
const SIZES = [0, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.44, 1.728, 2.074, 2.488];
const SCRIPT = new RegExp(
  '<span class="msupsub"><span class="vlist-t(?: vlist-t2)?"><span class="vlist-r">' +
    '<span class="vlist" style="height:[\\d.]+em;"><span style="top:(-?[\\d.]+)em;((?:margin-[a-z]+:-?[\\d.]+em;)*)">' +
    '<span class="pstrut" style="height:([\\d.]+)em;"></span><span class="sizing reset-size(\\d+) size(\\d+) mtight">',
  "g",
);
const END =
  /^<\/span><\/span><\/span>(?:<\/span><\/span><\/span>|<span class="vlist-s">\u200b<\/span><\/span><span class="vlist-r"><span class="vlist" style="height:[\d.]+em;"><span><\/span><\/span><\/span><\/span><\/span>)/;

/** The position just before the </span> that closes the span whose content starts at `from`. */
function closing(html, from) {
  let depth = 0;
  for (const tag of html.slice(from).matchAll(/<(\/?)span\b[^>]*>/g)) {
    depth += tag[1] ? -1 : 1;
    if (depth < 0) return from + tag.index;
  }
  return -1;
}

/**
 * A lone subscript or superscript is a table of ten elements in KaTeX. One shifted span draws the same
 * pixels; a chapter has hundreds of them. Inner ones first, so every position ahead stays valid.
 */
function compactScripts(html) {
  for (const match of [...html.matchAll(SCRIPT)].reverse()) {
    const [open, top, margins, strut, outer, inner] = match;
    const start = match.index + open.length;
    const stop = closing(html, start);
    const end = stop < 0 ? null : END.exec(html.slice(stop));
    if (!end) continue;
    const ratio = SIZES[inner] / SIZES[outer];
    const em = (value) => `${+(value / ratio).toFixed(4)}em`;
    const moved = margins.replace(/(-?[\d.]+)em/g, (_, value) => em(+value));
    html =
      html.slice(0, match.index) +
      `<span class="script sizing reset-size${outer} size${inner} mtight" style="top:${em(+top + +strut)};${moved}">` +
      html.slice(start, stop) +
      "</span>" +
      html.slice(stop + end[0].length);
  }
  return html;
}

/** A coloured letter is one element: the class of \\htmlClass joins that of the letter it encloses alone. */
const mergeEnclosing = (html) =>
  html.replace(
    /<span class="enclosing ([\w-]+)"><span class="(mord [\w ]+)"((?: style="[^"]*")?)>([^<]*)<\/span><\/span>/g,
    '<span class="enclosing $1 $2"$3>$4</span>',
  );

/**
 * Most formulas in a sentence are one unbroken piece: its box and the box around all pieces are then one
 * element, and no strut is needed where the text's own line is as high.
 */
function compactInline(html) {
  const open = '<span class="katex-html" aria-hidden="true"><span class="base">';
  if (html.split('<span class="base">').length !== 2 || !html.includes(open)) return html;
  return html
    .replace(open, '<span class="katex-html base" aria-hidden="true">')
    .replace(/<span class="strut" style="height:0?\.[0-8]\d*em;(?:vertical-align:-0?\.[01]\d*em;)?"><\/span>/, "")
    .replace(/<\/span><\/span><\/span>$/, "</span></span>");
}

/** MathML without the copy of its TeX source that KaTeX adds for machines. */
const plainMathml = (html) =>
  html.replace(/<semantics>(.*?)<annotation\b[^>]*>.*?<\/annotation><\/semantics>/gs, "$1");

for await (const line of createInterface({ input: process.stdin })) {
  const { tex, display } = JSON.parse(line);
  let answer;
  try {
    answer = {
      html: (display ? String : compactInline)(plainMathml(mergeEnclosing(compactScripts(katex.renderToString(tex, {
        displayMode: display,
        output: "htmlAndMathml",
        throwOnError: true,
        // \htmlClass carries the colours of q, k and v; everything else that LaTeX would refuse is refused.
        strict: (code) => (code === "htmlExtension" ? "ignore" : "error"),
        trust: ({ command }) => command === "\\htmlClass",
        macros: { ...macros },
      }))))),
    };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
