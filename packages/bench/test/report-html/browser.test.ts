import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Page } from "puppeteer-core";
import {
  type Watched,
  launchChromium,
  missingChromium,
  watch,
} from "../../../../tests/browser/chromium.ts";
import { skipIfMissing } from "../../../../tests/servers/require-server.ts";
import { renderHtml } from "../../src/report/html.ts";
import { hostile } from "./hostile.ts";
import { problemsIn, sampleReport } from "./sample.ts";

// A browser starts slowly on a busy machine.
setDefaultTimeout(60_000);

/** Charts on the sample report's page. */
const FIGURES = 4;

interface View {
  readonly width: number;
  readonly scheme?: "light" | "dark";
  readonly media?: "screen" | "print";
}

skipIfMissing(missingChromium)("the page of a report in a browser", () => {
  let browser: Browser;
  let folder: string;
  let url: string;
  let hostileUrl: string;

  beforeAll(async () => {
    browser = await launchChromium();
    folder = await mkdtemp(join(tmpdir(), "idk-report-"));
    const write = async (name: string, html: string): Promise<string> => {
      await Bun.write(join(folder, name), html);
      return pathToFileURL(join(folder, name)).href;
    };
    const report = sampleReport();
    url = await write("sample.html", renderHtml(report, problemsIn(report)));
    hostileUrl = await write(
      "hostile.html",
      renderHtml(hostile(report), hostile(problemsIn(report))),
    );
  });

  afterAll(async () => {
    await browser?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  async function open(address: string, view: View): Promise<{ page: Page; watched: Watched }> {
    const page = await browser.newPage();
    const watched = watch(page);
    await page.setViewport({ width: view.width, height: 900 });
    const session = await page.createCDPSession();
    await session.send("Emulation.setEmulatedMedia", {
      media: view.media ?? "screen",
      features: [{ name: "prefers-color-scheme", value: view.scheme ?? "light" }],
    });
    await page.goto(address, { waitUntil: "networkidle0" });
    return { page, watched };
  }

  for (const width of [1280, 360]) {
    test(`at ${width} pixels all charts are visible and all text is inside`, async () => {
      const { page, watched } = await open(url, { width });
      const figures = await page.$$eval("figure", (figures) =>
        figures.map((figure) => {
          const shown = [...figure.querySelectorAll("svg")].filter((svg) => svg.checkVisibility());
          const [svg] = shown;
          const box = svg?.getBoundingClientRect();
          const drawn = [...(svg?.querySelectorAll("path, circle, line, rect") ?? [])];
          const visible = drawn.filter((mark) => {
            const { width, height } = mark.getBoundingClientRect();
            return width + height > 0;
          });
          const texts = [...(svg?.querySelectorAll("text") ?? [])].map((text) =>
            text.getBoundingClientRect(),
          );
          return {
            shown: shown.length,
            width: box?.width ?? 0,
            height: box?.height ?? 0,
            marks: visible.length,
            left: Math.min(...texts.map(({ left }) => left)),
            right: Math.max(...texts.map(({ right }) => right)),
          };
        }),
      );
      expect(figures).toHaveLength(FIGURES);
      for (const figure of figures) {
        expect(figure.shown).toBe(1);
        expect(figure.width).toBeGreaterThan(300);
        expect(figure.height).toBeGreaterThan(60);
        expect(figure.marks).toBeGreaterThan(4);
        expect(figure.left).toBeGreaterThanOrEqual(0);
        expect(figure.right).toBeLessThanOrEqual(width);
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      expect(watched).toEqual({ errors: [], requests: [url] });
      await page.close();
    });
  }

  test("tables fit the screen without scrolling", async () => {
    for (const width of [1280, 900, 720, 360]) {
      const { page } = await open(url, { width });
      const wider = await page.$$eval(".scroll", (all) =>
        all.filter((one) => one.scrollWidth > one.clientWidth).map(({ ariaLabel }) => ariaLabel),
      );
      expect({ width, wider }).toEqual({ width, wider: [] });
      await page.close();
    }
  });

  test("on a phone no page is wider than the screen, even with very long names", async () => {
    const { page } = await open(hostileUrl, { width: 390 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.close();
  });

  test("light and dark mode differ, and all text is readable in both", async () => {
    const found = [];
    for (const scheme of ["light", "dark"] as const) {
      const { page } = await open(url, { width: 1280, scheme });
      found.push(await page.evaluate(colors));
      await page.close();
    }
    const [light, dark] = found;
    expect(contrast(light!.background, [255, 255, 255])).toBeLessThan(1.1);
    expect(contrast(dark!.background, [0, 0, 0])).toBeLessThan(1.5);
    for (const { background, texts } of [light!, dark!]) {
      // The minimum of the Web Content Accessibility Guidelines for text of any size.
      for (const text of texts) expect(contrast(text, background)).toBeGreaterThanOrEqual(4.5);
    }
    expect(new Set(light!.texts.map(String)).size).toBeGreaterThan(6);
  });

  test("in print it is light, with wide charts", async () => {
    const { page } = await open(url, { width: 700, scheme: "dark", media: "print" });
    const { background } = await page.evaluate(colors);
    expect(contrast(background, [255, 255, 255])).toBeLessThan(1.1);
    const count = (selector: string) =>
      page.$$eval(
        selector,
        (all) => all.filter((one) => one.getBoundingClientRect().height > 0).length,
      );
    expect(await count("svg.wide")).toBe(FIGURES);
    expect(await count("svg.narrow")).toBe(0);
    await page.close();
  });

  test("no text of a report runs scripts or loads anything", async () => {
    const { page, watched } = await open(hostileUrl, { width: 1280 });
    expect(watched).toEqual({ errors: [], requests: [hostileUrl] });
    expect(await page.title()).toStartWith("Benchmarks of idk 0.0.0</title>");
    expect(await page.$$("script, img")).toHaveLength(0);
    expect(await page.$$("svg:not(.wide, .narrow)")).toHaveLength(0);
    await page.close();
  });
});

type Color = [number, number, number];

/** Runs in the page and returns its background and all text colours. */
function colors(): { background: Color; texts: Color[] } {
  const parsed = (color: string): Color => {
    const [red = 0, green = 0, blue = 0] = color.match(/[\d.]+/gu)?.map(Number) ?? [];
    return [red, green, blue];
  };
  const html = [
    ...document.querySelectorAll("p, p *, li, li b, th, td, h1, h2, a, figcaption, .legend span"),
  ];
  const found = new Set([
    ...html.map((element) => getComputedStyle(element).color),
    ...[...document.querySelectorAll("svg text")].map((text) => getComputedStyle(text).fill),
  ]);
  return {
    background: parsed(getComputedStyle(document.body).backgroundColor),
    texts: [...found].map(parsed),
  };
}

/** Contrast ratio, 1 to 21, as the Web Content Accessibility Guidelines define it. */
function contrast(a: Color, b: Color): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) => {
    const share = part / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
