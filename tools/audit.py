"""Measure every page of the built book in a real browser, and fail on what must be zero.

    python tools/audit.py                    all pages of _build/html
    python tools/audit.py 05-projections     pages whose address holds a word
    python tools/audit.py --json audit.json  … and write everything to a file

The book is served on loopback, gzipped, and each page is opened at two widths in both themes. What
is counted and how much of it is allowed stands in LIMITS. One page is also opened from disk, and
one without JavaScript, both with the network cut off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

from audit_widgets import problem_of  # noqa: E402
from browser import FLAGS, chromium  # noqa: E402
from lxml import html as lxml_html  # noqa: E402
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect  # noqa: E402
from serve import serving  # noqa: E402

LIMITS = {
    "kB": 180,
    "requests": 25,
    "blocking": 1,
    "elements": 6000,
    "shift": 0.02,
    "external": 0,
    "csp": 0,
    "console": 0,
    "axe": 0,
    "overflow": 0,
    "cut formulas": 0,
    "no alt": 0,
    "dead links": 0,
    "widgets": 0,
}
THEMES = ("light", "dark")
WIDTHS = (1280, 390)
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

WATCH = """
  window.auditShift = 0;
  window.auditCsp = [];
  new PerformanceObserver(list => {
    for (const entry of list.getEntries())
      if (!entry.hadRecentInput) window.auditShift += entry.value;
  }).observe({type: "layout-shift", buffered: true});
  document.addEventListener("securitypolicyviolation", event =>
    window.auditCsp.push(`${event.violatedDirective}: ${event.blockedURI || event.sample}`));
"""

# A formula is cut when its first or last glyph cannot be brought on screen by scrolling a box that
# a finger and the keyboard can both scroll.
FORMULAS = """() => {
  const cut = [];
  for (const formula of document.querySelectorAll(".katex-display")) {
    const glyphs = [...formula.querySelectorAll(".katex-html.base, .katex-html :is(.base, .tag)")];
    if (!glyphs.length || !formula.offsetParent) continue;
    const boxes = [];
    for (let node = formula; node && node !== document.body; node = node.parentElement) {
      const how = getComputedStyle(node).overflowX;
      if (how !== "visible") boxes.push([node, how]);
    }
    const rects = () => glyphs.map(glyph => glyph.getBoundingClientRect());
    const first = () => Math.min(...rects().map(rect => rect.left));
    const last = () => Math.max(...rects().map(rect => rect.right));
    const text = formula.querySelector("annotation")?.textContent.trim().slice(0, 50);
    const scrolls = ([node, how]) => how === "auto" || how === "scroll";
    const where = position => boxes.filter(scrolls).forEach(
      ([node]) => node.scrollLeft = position ? node.scrollWidth : 0);
    const edge = side => {
      const all = [...boxes.map(([node]) => node.getBoundingClientRect()[side]),
                   side === "left" ? 0 : document.documentElement.clientWidth];
      return side === "left" ? Math.max(...all) : Math.min(...all);
    };
    where(0);
    if (first() < edge("left") - 1.5) cut.push(`start of ${text}`);
    const needsScroll = last() > edge("right") + 1.5;
    where(1);
    if (last() > edge("right") + 1.5) cut.push(`end of ${text}`);
    const box = boxes.filter(scrolls).map(([node]) => node).find(
      node => node.scrollWidth > node.clientWidth + 1);
    if (needsScroll && box && box.tabIndex < 0) cut.push(`no key reaches ${text}`);
    where(0);
  }
  return cut;
}"""

OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= width) return [];
  return [...document.body.querySelectorAll("*")]
    .filter(node => node.getBoundingClientRect().right > width + 1)
    .slice(0, 3)
    .map(node => `${node.tagName.toLowerCase()}.${node.className} is ${
      Math.round(node.getBoundingClientRect().right)} wide`)
    .concat(["the page scrolls sideways"]).slice(0, 3);
}"""

UNFOLD = """() => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  return new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)));
}"""

AXE_RUN = """tags => axe.run(document, {runOnly: {type: "tag", values: tags},
  resultTypes: ["violations"]}).then(result => result.violations.map(violation =>
    `${violation.id}: ${violation.nodes.length} at ${violation.nodes[0].target.join(" ")}`))"""


@dataclass
class Report:
    """What was found on one page: numbers, and the texts behind those that should be zero."""

    page: str
    numbers: dict[str, float] = field(default_factory=dict)
    details: dict[str, list[str]] = field(default_factory=dict)

    def add(self, key: str, found: Iterable[str], where: str = "") -> None:
        """Count findings."""
        texts = self.details.setdefault(key, [])
        texts += [f"{where}{text}" for text in found]
        self.numbers[key] = len(texts)

    @property
    def broken(self) -> list[str]:
        """Return which limits the page breaks."""
        return [key for key, most in LIMITS.items() if self.numbers.get(key, 0) > most]


class Site:
    """The built files, read once: anchors, links, images."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.documents = {
            path.relative_to(folder).as_posix(): lxml_html.fromstring(path.read_bytes())
            for path in sorted(folder.rglob("*.html"))
            if "_static" not in path.parts
        }
        self.anchors = {
            name: {*document.xpath("//@id"), *document.xpath("//a/@name"), "", "top"}
            for name, document in self.documents.items()
        }
        base = (
            self.documents["404.html"].xpath("//base/@href") if "404.html" in self.documents else []
        )
        self.base = urlsplit(base[0]).path if base else "/"

    def dead_links(self, name: str) -> list[str]:
        """Return links and files of a page that lead nowhere."""
        document = self.documents[name]
        targets = document.xpath("//a/@href | //img/@src | //script/@src | //link[@href]/@href")
        refresh = document.xpath("//meta[translate(@http-equiv, 'R', 'r')='refresh']/@content")
        targets += [text.split("=", 1)[1] for text in refresh if "=" in text]
        dead = []
        for target in dict.fromkeys(targets):
            if re.match(r"(https?:|mailto:|data:|javascript:)", target):
                continue
            path, anchor = urldefrag(urljoin(f"/{name}", target))
            path = unquote(urlsplit(path).path)
            if path.startswith(self.base) and self.base != "/" and name == "404.html":
                path = "/" + path.removeprefix(self.base)
            path = path.lstrip("/") or "index.html"
            if path.endswith("/"):
                path += "index.html"
            known = self.anchors.get(path)
            missing = known is None and not (self.folder / path).is_file()
            if missing or (known is not None and anchor and unquote(anchor) not in known):
                dead.append(target)
        return dead

    def bad_alt(self, name: str) -> list[str]:
        """Return images whose alt text says nothing: absent, a hash, a file name."""
        bad = []
        for image in self.documents[name].xpath(
            "//img | //*[@role='img'] | //input[@type='image']"
        ):
            named = image.get("alt") or image.get("aria-label") or ""
            if image.get("aria-labelledby") or image.xpath("./*[local-name()='title']"):
                continue
            beside = image.xpath("string(ancestor::*[self::a or self::button][1])").strip()
            if image.get("alt") == "" and (beside or image.get("role") in ("presentation", "none")):
                continue  # decoration beside its own words
            if image.get("aria-hidden") == "true":
                continue
            text = named.strip()
            if len(text) < 4 or re.search(r"^[0-9a-f]{16,}|[/\\]|\.(svg|png|jpe?g|webp)$|^_", text):
                bad.append(f"{image.get('src') or image.tag}: {text!r}")
        return bad

    def blocking(self, name: str) -> list[str]:
        """Return the files that hold up the first paint."""
        head = self.documents[name]
        sheets = head.xpath("//link[contains(@rel, 'stylesheet')][not(@media='print')]/@href")
        scripts = head.xpath(
            "//script[@src][not(@defer)][not(@async)][not(@type='module')]"
            "[not(@type='application/json')]/@src"
        )
        return [*sheets, *scripts]


class Auditor:
    """Opens pages in one browser and fills in reports."""

    def __init__(self, browser: Browser, site: Site, address: str):
        self.browser, self.site, self.address = browser, site, address
        self.axe = AXE.read_text("utf8")

    async def context(self, width: int, theme: str, **more: object) -> BrowserContext:
        """Return a fresh profile: nothing cached, nothing stored."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=theme,
            has_touch=width < 500,
            is_mobile=width < 500,
            **more,
        )
        return context

    async def audit(self, name: str) -> Report:
        """Measure one page."""
        report = Report(name)
        report.numbers |= {key: 0 for key in LIMITS}
        report.add("dead links", self.site.dead_links(name))
        report.add("no alt", self.site.bad_alt(name))
        report.add("blocking", self.site.blocking(name))
        for width in WIDTHS:
            context = await self.context(width, "light")
            try:
                await self._open(context, name, width, report)
            finally:
                await context.close()
        return report

    async def _open(self, context: BrowserContext, name: str, width: int, report: Report) -> None:
        page = await context.new_page()
        await page.add_init_script(WATCH)
        self._listen(page, report, f"{width}: ")
        network = await self._meter(context, page)
        await page.goto(urljoin(self.address, name), wait_until="load")
        await ready(page)
        if width == WIDTHS[0]:
            await page.evaluate(SCROLL_THROUGH)  # lazy images count
            await page.wait_for_load_state("networkidle")
            report.numbers["kB"] = round(sum(network.values()) / 1000, 1)
            report.numbers["requests"] = len(network)
            report.numbers["elements"] = await page.evaluate(
                "document.querySelectorAll('*').length"
            )
        report.numbers["shift"] = max(
            report.numbers["shift"], round(await page.evaluate("window.auditShift"), 4)
        )
        if width == WIDTHS[1]:  # the narrow page is judged with everything unfolded
            await page.evaluate(UNFOLD)
        report.add("overflow", await page.evaluate(OVERFLOW), f"{width}: ")
        if width == WIDTHS[1]:
            report.add("cut formulas", await page.evaluate(FORMULAS))
        for theme in THEMES:
            await set_theme(page, theme)
            if theme == THEMES[0]:
                await page.evaluate(self.axe)
            found = await page.evaluate(AXE_RUN, AXE_TAGS)
            report.add("axe", found, f"{width} {theme}: ")
        if width == WIDTHS[0]:
            await self.widgets(page, report)
        report.add("csp", await page.evaluate("window.auditCsp"), f"{width}: ")

    def _listen(self, page: Page, report: Report, where: str) -> None:
        page.on(
            "console",
            lambda message: (
                report.add("console", [message.text], where)
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: report.add("console", [str(error)], where))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((self.address, "data:", "blob:"))
                else report.add("external", [request.url], where)
            ),
        )

    async def _meter(self, context: BrowserContext, page: Page) -> dict[str, float]:
        client = await context.new_cdp_session(page)
        await client.send("Network.enable")
        sizes: dict[str, float] = {}
        client.on(
            "Network.loadingFinished",
            lambda event: sizes.__setitem__(event["requestId"], event["encodedDataLength"]),
        )
        return sizes

    async def widgets(self, page: Page, report: Report) -> None:
        """Press keys in every widget and compare its numbers with core's."""
        figures = page.locator("figure[data-qkv-widget]")
        count = await figures.count()
        report.numbers["live widgets"] = count
        for index in range(count):
            figure = figures.nth(index)
            kind = await figure.get_attribute("data-qkv-widget")
            problem = await problem_of(kind, page, figure)
            report.add("widgets", [f"{kind}: {problem}"] if problem else [])

    async def from_disk(self, name: str) -> Report:
        """Open a page by file:// with no network; its widgets must work."""
        report = Report(f"file://…/{name}")
        context = await self.context(1280, "light", offline=True)
        page = await context.new_page()
        await page.add_init_script(WATCH)
        address, self.address = self.address, self.site.folder.as_uri()
        self._listen(page, report, "")
        await page.goto((self.site.folder / name).as_uri(), wait_until="load")
        await ready(page)
        report.add("overflow", await page.evaluate(OVERFLOW))
        await self.widgets(page, report)
        report.add("csp", await page.evaluate("window.auditCsp"))
        await context.close()
        self.address = address
        return report

    async def without_scripts(self, name: str) -> Report:
        """Open a page with JavaScript off: pictures, numbers and solutions must be there."""
        report = Report(f"no JavaScript: {name}")
        context = await self.context(1280, "light", java_script_enabled=False)
        page = await context.new_page()
        self._listen(page, report, "")
        await page.goto(urljoin(self.address, name), wait_until="load")
        figures = page.locator("figure[data-qkv-widget]")
        for index in range(await figures.count()):
            figure = figures.nth(index)
            still = figure.locator(".qkv-poster svg, .qkv-poster table")
            box = await still.first.bounding_box() if await still.count() else None
            numbers = await figure.locator(".qkv-poster td").count()
            if not box or box["height"] < 40 or not numbers:
                report.add("widgets", [f"figure {index} shows no picture or no numbers"])
        text = await page.locator("main, body").first.inner_text()
        if len(text) < 500:
            report.add("widgets", ["the page is empty"])
        await context.close()
        return report


SCROLL_THROUGH = """async () => {
  for (let y = 0; y < document.body.scrollHeight; y += 2000) {
    scrollTo(0, y);
    await new Promise(done => requestAnimationFrame(done));
  }
  scrollTo(0, 0);
}"""


async def ready(page: Page) -> None:
    """Wait for fonts and for every widget to be live (or to have failed)."""
    await page.evaluate("document.fonts.ready.then(() => true)")
    waiting = "figure[data-qkv-widget]:not([data-qkv-state=live], [data-qkv-state=failed])"
    await expect(page.locator(waiting)).to_have_count(0, timeout=15_000)
    await page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")


async def set_theme(page: Page, theme: str) -> None:
    """Switch the theme as the page's own button does, and let transitions end."""
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    await page.evaluate(
        """theme => {
          const root = document.documentElement;
          root.dataset.mode = root.dataset.theme = theme;
          return Promise.all(document.getAnimations().map(a => a.finished.catch(() => 0)));
        }""",
        theme,
    )


async def audit(folder: Path, words: list[str], say: Callable[[str], None]) -> list[Report]:
    """Audit a built book."""
    site = Site(folder)
    names = [name for name in site.documents if not words or any(word in name for word in words)]
    with serving(folder) as address:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            auditor = Auditor(browser, site, address)
            two = asyncio.Semaphore(min(2, os.cpu_count() or 1))

            async def one(name: str) -> Report:
                async with two:
                    try:
                        return await auditor.audit(name)
                    except Exception as error:
                        report = Report(name)
                        report.add("console", [f"the audit stopped: {error}"])
                        return report

            reports = list(await asyncio.gather(*(one(name) for name in names)))
            say(table(reports))
            alive = [r.page for r in reports if r.numbers.get("live widgets")]
            if alive:
                extra = [
                    await auditor.from_disk(alive[-1]),
                    await auditor.without_scripts(alive[-1]),
                ]
                for report in extra:
                    say(f"{report.page}: {'; '.join(report.broken) or 'all well'}")
                reports += extra
            await browser.close()
    return reports


def table(reports: list[Report]) -> str:
    """Return one row a page."""
    wide = max(len(report.page) for report in reports)
    rows = [f"{'page':{wide}} " + " ".join(f"{key:>{max(5, len(key))}}" for key in LIMITS)]
    rows.append(
        f"{'at most':{wide}} "
        + " ".join(f"{most:>{max(5, len(k))}g}" for k, most in LIMITS.items())
    )
    for report in reports:
        cells = [
            f"{report.numbers.get(key, 0):>{max(5, len(key))}g}"
            + ("*" if key in report.broken else " ")
            for key in LIMITS
        ]
        rows.append(f"{report.page:{wide}} " + "".join(cells))
    return "\n".join(rows)


def main() -> int:
    """Audit and print; 1 if any limit is broken."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("words", nargs="*", help="only pages whose address holds one of these")
    options.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    options.add_argument("--json", type=Path, help="write all findings to this file")
    chosen = options.parse_args()
    if not (chosen.site / "index.html").is_file():
        sys.exit(f"{chosen.site} holds no built book; run `make html` first.")
    start = time.monotonic()
    reports = asyncio.run(audit(chosen.site, chosen.words, print))
    for report in reports:
        for key in report.broken:
            for text in report.details.get(key, [])[:8]:
                print(f"  {report.page} · {key} · {text}")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(report) for report in reports], indent=1), "utf8")
    broken = sum(bool(report.broken) for report in reports)
    print(f"{len(reports)} pages, {broken} over a limit, {time.monotonic() - start:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
