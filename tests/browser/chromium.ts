import puppeteer, { type Browser, type Page } from "puppeteer-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser that `script/test` has found or installed, or one on the PATH. */
const executable =
  process.env["CHROMIUM"] || NAMES.map((name) => Bun.which(name)).find((path) => path !== null);

/** What is missing for tests that open pages, for `needing`. */
export const missingChromium: string[] = executable === undefined ? ["Chromium"] : [];

/** Started without a window, with a profile that is gone when it is closed. */
export async function launchChromium(): Promise<Browser> {
  if (executable === undefined) throw new Error("no Chromium on the PATH; CHROMIUM can name one");
  // Root, as which containers run, has no sandbox to start it in; it only sees pages of our own.
  const sandbox = process.getuid?.() === 0 || process.env["CI"] ? ["--no-sandbox"] : [];
  return puppeteer.launch({
    executablePath: executable,
    headless: "shell",
    args: [...sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"],
  });
}

/** What a page did that nobody should see: errors, and what it asked the network for. */
export interface Watched {
  readonly errors: string[];
  readonly requests: string[];
}

/** Collects from now on; requests are only those that leave the page: no data: and no blob: URLs. */
export function watch(page: Page): Watched {
  const watched: Watched = { errors: [], requests: [] };
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) watched.errors.push(message.text());
  });
  page.on("pageerror", (error) => watched.errors.push(String(error)));
  page.on("requestfailed", (request) => watched.errors.push(`failed: ${request.url()}`));
  page.on("request", (request) => {
    if (!/^(data|blob|about):/u.test(request.url())) watched.requests.push(request.url());
  });
  return watched;
}
