import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "puppeteer-core";
import { signingService } from "../../examples/presigned-urls.ts";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { requireServer, skipIfMissing } from "../servers/require-server.ts";
import { launchChromium, missingChromium } from "./chromium.ts";
import type { InBrowser, Place } from "./http-in-browser.ts";

setDefaultTimeout(120_000);

async function bundle(entry: string): Promise<string> {
  const built = await Bun.build({
    entrypoints: [entry],
    target: "browser",
    conditions: ["browser", "bun"],
    minify: true,
  });
  return built.outputs[0]!.text();
}

test("the backend needs no Node modules, and little room in a bundle", async () => {
  const script = await bundle(join(import.meta.dir, "../../packages/storage/src/backend/http.ts"));
  expect(new Bun.Transpiler({ loader: "js" }).scanImports(script)).toEqual([]);
  expect(script).not.toMatch(/\bBuffer\b|\bprocess\b/u);
  expect(gzipSync(script).length).toBeLessThan(8_000);
});

/** Headers that scripts of other origins may send, as docs/recipes.md recommends for a bucket. */
const ALLOWED = "if-none-match, range, x-amz-checksum-sha256, x-token";

/** A server of another origin, with GET and PUT, and the CORS rules for them. */
function otherOrigin(): { url: string; requests: Request[]; stop: () => void } {
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>();
  const seen: Request[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      seen.push(new Request(request.url, { method: request.method, headers: request.headers }));
      if (pathname.startsWith("/closed/")) return new Response("no CORS");
      const headers = {
        "access-control-allow-origin": request.headers.get("origin") ?? "",
        "access-control-allow-methods": "GET, PUT",
        "access-control-allow-headers": ALLOWED,
        // As for a page that wants cookies, to see that none are sent.
        "access-control-allow-credentials": "true",
      };
      if (request.method === "OPTIONS") return new Response(null, { status: 204, headers });
      if (pathname.startsWith("/moved/")) {
        return new Response(null, { status: 302, headers: { ...headers, location: "/blobs/a" } });
      }
      if (pathname.startsWith("/expired/")) {
        const text =
          "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>";
        return new Response(text, { status: 403, headers });
      }
      if (request.method === "PUT") {
        blobs.set(pathname, new Uint8Array(await request.arrayBuffer()));
        return new Response(null, { status: 201, headers });
      }
      const blob = blobs.get(pathname);
      return blob === undefined
        ? new Response(null, { status: 404, headers })
        : new Response(blob, { headers });
    },
  });
  return { url: server.url.href, requests: seen, stop: () => void server.stop(true) };
}

skipIfMissing(missingChromium)("over fetch in a browser", () => {
  let browser: Browser;
  let page: Page;
  let other: ReturnType<typeof otherOrigin>;
  let origin: string;
  let stop: () => void;
  /** What the page's own server does with `POST /sign`. */
  let sign: (request: Request) => Promise<Response>;

  beforeAll(async () => {
    const script = await bundle(join(import.meta.dir, "http-in-browser.ts"));
    other = otherOrigin();
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === "/sign") return sign(request);
        const type = pathname === "/script.js" ? "text/javascript" : "text/html";
        const html = `<!doctype html><title>${"A page. ".repeat(20)}</title><script type="module" src="/script.js"></script>`;
        const headers = { "content-type": type, "set-cookie": "session=abc" };
        return new Response(pathname === "/script.js" ? script : html, { headers });
      },
    });
    ({ origin } = server.url);
    stop = () => void server.stop(true);
    browser = await launchChromium();
    page = await browser.newPage();
    await page.goto(`${origin}/`);
    await page.waitForFunction("globalThis.idk !== undefined");
  });
  afterAll(async () => {
    await browser.close();
    stop();
    other.stop();
  });

  const roundTrip = (place: Place) =>
    page.evaluate(
      (place) => (globalThis as unknown as { idk: InBrowser }).idk.roundTrip(place),
      place,
    );
  const failure = (place: Place) =>
    page.evaluate(
      (place) => (globalThis as unknown as { idk: InBrowser }).idk.failure(place),
      place,
    );
  const inWorker = (place: Place) =>
    page.evaluate(
      (place) =>
        new Promise((resolve) => {
          const worker = new Worker("/script.js", { type: "module" });
          worker.addEventListener("message", ({ data }) => resolve(data));
          worker.postMessage(place, []);
        }),
      place,
    );
  const found = { whole: true, part: true, prefix: "IDK" };

  test("stores and reads content on another origin, without cookies and referrer", async () => {
    other.requests.length = 0;
    expect(await roundTrip({ url: `${other.url}blobs/` })).toEqual({ ...found, inWorker: false });
    const requests = other.requests.filter(({ method }) => method !== "OPTIONS");
    // Six chunks and the root, then as often read, and in part.
    expect(requests.filter(({ method }) => method === "PUT")).toHaveLength(7);
    for (const { headers } of requests) {
      expect(headers.get("x-token")).toBe("abc");
      expect([headers.get("cookie"), headers.get("referer")]).toEqual([null, null]);
    }
  });

  test("stores and reads content in a worker", async () => {
    expect(await inWorker({ url: `${other.url}blobs/` })).toEqual({ ...found, inWorker: true });
  });

  test("names CORS rules if the browser hides why a request failed", async () => {
    const { code, transient, message } = await failure({ url: `${other.url}closed/` });
    expect([code, transient]).toEqual(["unavailable", true]);
    expect(message).toContain(`CORS rules allow GET and its headers from ${origin}`);
    expect(message).toContain(new URL(other.url).host);
  });

  test("follows no redirect", async () => {
    other.requests.length = 0;
    const { code, message } = await failure({ url: `${other.url}moved/` });
    expect([code, message]).toEqual(["unavailable", expect.stringContaining("redirects")]);
    expect(other.requests.map(({ url }) => new URL(url).pathname)).not.toContain("/blobs/a");
  });

  test("tells missing blobs and expired URLs apart", async () => {
    expect((await failure({ url: `${other.url}blobs/` })).code).toBe("not-found");
    const { code, message } = await failure({ url: `${other.url}expired/` });
    expect([code, message]).toEqual(["permission", expect.stringContaining("has expired")]);
  });

  test("a URL may be relative to the page", async () => {
    const { message } = await failure({ url: "/blobs" });
    expect(message).toContain("it is longer than 100 bytes");
    expect(message).toContain(`${origin}/blobs/`);
  });

  requireServer("minio")("with presigned URLs", () => {
    let bucket: Bucket;
    beforeAll(async () => {
      bucket = await newBucket(minioServer());
      const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
      const service = signingService({
        bucket: `${endpoint}/${bucket.name}`,
        region: "us-east-1",
        accessKeyId,
        secretAccessKey,
        userOf: async (request) => request.headers.get("cookie") ?? undefined,
        allow: (user) => user === "session=abc",
      });
      sign = async (request) => service.fetch(request);
    });
    afterAll(() => bucket.remove());

    test.each(["a page", "a worker"])("%s stores and reads content in a bucket", async (where) => {
      const run = where === "a page" ? roundTrip : inWorker;
      expect(await run({ signer: "/sign" })).toMatchObject(found);
    });
  });
});

describe("the recipe", () => {
  test("allows the headers that browsers send to a bucket", async () => {
    const recipes = await Bun.file(join(import.meta.dir, "../../docs/recipes.md")).text();
    const [, rules] = /```json\n(\[[^`]*"AllowedOrigins"[^`]*)```/u.exec(recipes)!;
    const [rule] = JSON.parse(rules!) as Record<string, string[]>[];
    const allowed = [...rule!["AllowedHeaders"]!, "x-token"];
    expect(allowed.toSorted().join(", ")).toBe(ALLOWED);
    expect(rule!["AllowedMethods"]).toEqual(["GET", "PUT"]);
  });
});
