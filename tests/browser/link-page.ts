/* What tests of the page that opens links share: a web server for it, visits by a browser, downloads. */
import { type Watched, watch } from "./chromium.ts";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { PAGE_HEADERS, buildPage } from "@idk/link/build-page";
import { extname, join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { Browser, BrowserContext, CDPSession, Page } from "puppeteer-core";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
};

/** A web server with the page as a person would set it up. */
export interface PageServer {
  /** The address of the page. */
  readonly url: string;
  /** Method, path and headers of all requests. */
  readonly requests: string[];
  stop(): Promise<void>;
}

/** Builds the page and serves it on a port of this machine. */
export async function servePage(): Promise<PageServer> {
  const { files } = await buildPage();
  const requests: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ method, url, headers }) {
      const { pathname, search } = new URL(url);
      requests.push(`${method} ${pathname}${search} ${JSON.stringify([...headers])}`);
      const name = pathname.replace(/^\/open\/$/u, "/open/index.html").replace("/open/", "");
      const text = files.get(name);
      if (text === undefined) return new Response(null, { status: 404 });
      const type = TYPES[extname(name)] ?? "text/plain";
      return new Response(text, { headers: { ...PAGE_HEADERS, "content-type": type } });
    },
  });
  return {
    url: `${server.url.href}open/`,
    requests,
    stop: () => server.stop(true),
  };
}

/** A browser profile of its own, with one tab and a folder for downloads. */
export interface Visit {
  readonly page: Page;
  readonly watched: Watched;
  /** What the page logged, and requests that failed. */
  errors(): string[];
  readonly context: BrowserContext;
  readonly downloads: string;
  /** Texts of what the page refused itself by its policy. */
  violations(): Promise<string[]>;
  /** Waits until the page shows this status, and returns it. */
  status(pattern: RegExp): Promise<string>;
  click(id: string): Promise<void>;
  /** Waits until the next download ended, and returns its name and bytes. */
  download(): Promise<Downloaded>;
  close(): Promise<void>;
}

export interface Downloaded {
  readonly state: "completed" | "canceled";
  readonly name: string;
  /** SHA-256 of the file in hexadecimal digits; undefined unless the download was completed. */
  readonly sha256: string | undefined;
}

export async function visit(browser: Browser, width = 1280): Promise<Visit> {
  const downloads = await mkdtemp(join(tmpdir(), "idk-downloads-"));
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width, height: 800 });
  const watched = watch(page);
  await page.evaluateOnNewDocument(() => {
    const found: string[] = [];
    Object.assign(globalThis, { violations: found });
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      found.push(`${violatedDirective}: ${blockedURI}`);
    });
  });
  const session = await browser.target().createCDPSession();
  await session.send("Browser.setDownloadBehavior", {
    behavior: "allowAndName",
    browserContextId: context.id!,
    downloadPath: downloads,
    eventsEnabled: true,
  });
  const ended = downloadsOf(session, downloads);
  return {
    page,
    watched,
    context,
    downloads,
    // A frame that becomes a download fails, as a frame.
    errors: () => watched.errors.filter((error) => !/^failed: .*\/save\/[\w-]+$/u.test(error)),
    violations: () =>
      page.evaluate(() => (globalThis as unknown as { violations: string[] }).violations),
    async status(pattern) {
      await page.waitForFunction(
        (source) => new RegExp(source, "u").test(document.getElementById("status")!.textContent),
        { timeout: 60_000 },
        pattern.source,
      );
      return page.$eval("#status", ({ textContent }) => textContent);
    },
    click: async (id) => page.locator(`#${id}`).click(),
    download: ended,
    async close() {
      await session.detach();
      await context.close();
      await rm(downloads, { recursive: true });
    },
  };
}

/** @returns waits for the next download that ended */
function downloadsOf(session: CDPSession, folder: string): () => Promise<Downloaded> {
  const names = new Map<string, string>();
  const results: Promise<Downloaded>[] = [];
  let waiting: (() => void) | undefined;
  session.on("Browser.downloadWillBegin", ({ guid, suggestedFilename }) => {
    names.set(guid, suggestedFilename);
  });
  session.on("Browser.downloadProgress", ({ guid, state }) => {
    const name = names.get(guid);
    if (state === "inProgress" || name === undefined) return;
    names.delete(guid);
    const sha256 = state === "completed" ? sha256OfFile(join(folder, guid)) : undefined;
    results.push(Promise.resolve(sha256).then((sha256) => ({ state, name, sha256 })));
    waiting?.();
  });
  return async () => {
    while (results.length === 0) {
      await new Promise<void>((resolve) => {
        waiting = resolve;
      });
    }
    return results.shift()!;
  };
}

async function sha256OfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}

/**
 * Collects garbage, and returns the bytes of buffers that are in use after that: what a page or worker
 * holds, however late its browser would collect.
 */
export async function liveBytes(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const usage: { readonly backingStorageSize?: number } =
    await session.send("Runtime.getHeapUsage");
  if (usage.backingStorageSize === undefined)
    throw new Error("this browser does not count buffers");
  return usage.backingStorageSize;
}
