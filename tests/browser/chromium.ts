import puppeteer, { type Browser, type Page } from "puppeteer-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The browser that `script/test` found or installed, or one on the PATH. */
const executable =
  process.env["CHROMIUM"] || NAMES.map((name) => Bun.which(name)).find((path) => path !== null);

/** What tests that open pages lack, for `skipIfMissing`. */
export const missingChromium: string[] = executable === undefined ? ["Chromium"] : [];

/** Starts a headless browser with a temporary profile. */
export async function launchChromium(): Promise<Browser> {
  if (executable === undefined)
    throw new Error("there is no Chromium on the PATH; set CHROMIUM to its path");
  // Chromium refuses its sandbox as root, the user in containers; it opens only our own pages.
  const sandbox = process.getuid?.() === 0 || process.env["CI"] ? ["--no-sandbox"] : [];
  return puppeteer.launch({
    executablePath: executable,
    headless: "shell",
    args: [...sandbox, "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"],
    // Without a locale of UTF-8, it saves files under names of ASCII only.
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
}

/** Console errors of a page, and its network requests. */
export interface Watched {
  readonly errors: string[];
  readonly requests: string[];
}

/** Records from now on. Requests of data:, blob: and about: URLs do not count. */
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
