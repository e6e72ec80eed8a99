// Renders formulas for maths.py: one JSON request a line on stdin, one JSON answer a line on stdout.
// It ends when stdin closes, so it can never outlive the build that started it.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { default: katex } = await import(pathToFileURL(process.argv[2]).href);
const macros = JSON.parse(process.argv[3]);

for await (const line of createInterface({ input: process.stdin })) {
  const { tex, display } = JSON.parse(line);
  let answer;
  try {
    answer = {
      html: katex.renderToString(tex, {
        displayMode: display,
        output: "htmlAndMathml",
        throwOnError: true,
        // \htmlClass carries the colours of q, k and v; everything else that LaTeX would refuse is refused.
        strict: (code) => (code === "htmlExtension" ? "ignore" : "error"),
        trust: ({ command }) => command === "\\htmlClass",
        macros: { ...macros },
      }),
    };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
