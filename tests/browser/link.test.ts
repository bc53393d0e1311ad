import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type PageServer, type Visit, liveBytes, servePage, visit } from "./link-page.ts";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { type Identity, type Store, createStore, generateIdentity } from "@idk/storage";
import { MiB, testContent } from "../live/content.ts";
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { launchChromium, missingChromium } from "./chromium.ts";
import { serverUrl, skipIfMissing } from "../servers/require-server.ts";
import type { Backend, Metadata } from "@idk/storage";
import type { Browser } from "puppeteer-core";
import { createLink } from "@idk/link";
import { minio } from "@idk/storage/minio";

setDefaultTimeout(120_000);

/** One black pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
  "base64",
);

const missing = [...missingChromium, ...(serverUrl("minio") === undefined ? ["MinIO"] : [])];

skipIfMissing(missing)("the page that opens links", () => {
  let server: PageServer;
  let bucket: Bucket;
  let backend: Backend;
  let identity: Identity;
  let store: Store;
  let browser: Browser;
  let current: Visit;

  beforeAll(async () => {
    server = await servePage();
    bucket = await newBucket(minioServer());
    const { endpoint, accessKeyId: accessKey, secretAccessKey: secretKey } = bucket.server;
    backend = minio({ endpoint, bucket: bucket.name, accessKey, secretKey });
    identity = await generateIdentity();
    store = createStore({ backend, recipients: [identity.recipient], identities: [identity] });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await store?.close();
    await bucket?.remove();
    await server?.stop();
  });
  afterEach(async () => {
    const origins = new Set(current.watched.requests.map((request) => new URL(request).origin));
    const violations = current.page.isClosed() ? [] : await current.violations();
    await current.close();
    // Of the page and of the store, and no others.
    origins.delete(new URL(server.url).origin);
    origins.delete(bucket.server.endpoint);
    expect({ origins: [...origins], violations }).toEqual({ origins: [], violations: [] });
  });

  async function linkTo(address: string, expiresIn = 3600): Promise<string> {
    const identities = [identity];
    return (await createLink({ backend, address, identities, page: server.url, expiresIn })).url;
  }

  async function share(content: Uint8Array | string, metadata: Metadata = {}): Promise<string> {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return linkTo(await store.put(bytes, { metadata }));
  }

  async function openPage(link: string, width?: number): Promise<Visit> {
    current = await visit(browser, width);
    await current.page.goto(link);
    return current;
  }

  const textOf = async (selector: string): Promise<string> =>
    current.page.$eval(selector, ({ textContent }) => textContent);

  test("saves 1 KB under the name that the sender gave, and tells nobody the link", async () => {
    const content = testContent(1000, 1);
    const link = await linkTo(
      await store.put(content.stream(), { metadata: { name: "Übung 1.bin" } }),
    );
    const { page, watched, click, status, download, errors } = await openPage(link);
    const saved = download();
    await click("save");
    const { sha256 } = content;
    expect(await saved).toEqual({ state: "completed", name: "Übung 1.bin", sha256 });
    expect(await status(/^Saved/u)).toBe(
      "Saved. All of the file was verified and handed to the browser.",
    );
    expect(errors()).toEqual([]);

    const fragment = new URL(link).hash.slice(1);
    const secret = fragment.split("~").at(-1)!;
    // The browser's list of requests shows the fragment of the first, which it does not send.
    const told = [...watched.requests.map((url) => url.split("#")[0]), ...server.requests].join(
      "\n",
    );
    expect(told).toContain(new URL(server.url).pathname);
    expect([fragment, secret].filter((text) => told.includes(text))).toEqual([]);
    expect(await page.evaluate(() => [location.href, document.referrer])).toEqual([server.url, ""]);
    // The link survives a reload all the same.
    await page.reload();
    await page.waitForSelector("#save:not([hidden])");
    expect(await textOf("#name")).toBe("Übung 1.bin");
  });

  test("saves 100 MB in bounded memory", async () => {
    const content = testContent(100_000_000, 2);
    const link = await linkTo(await store.put(content.stream(), { metadata: { name: "big.bin" } }));
    const { page, click, status, download, errors } = await openPage(link);
    const saved = download();
    await click("save");
    const isWorker = (target: { type(): string }): boolean => target.type() === "service_worker";
    const worker = await (await browser.waitForTarget(isWorker)).createCDPSession();
    const pageSession = await page.createCDPSession();
    const samples: number[] = [];
    let isDone = false;
    const sampling = (async () => {
      while (!isDone) {
        samples.push((await liveBytes(pageSession)) + (await liveBytes(worker)));
      }
    })();
    const { state, sha256 } = await saved;
    isDone = true;
    await sampling;
    expect({ state, sha256 }).toEqual({ state: "completed", sha256: content.sha256 });
    expect(await status(/^Saved/u)).toContain("verified");
    // Five chunks of 4 MiB, twice while they are decrypted, what is on the way to the disk, and garbage
    // that was made since the collection; but never all of the content.
    expect(samples.length).toBeGreaterThan(5);
    const peak = Math.max(...samples);
    expect(peak).toBeGreaterThan(4 * MiB);
    expect(peak).toBeLessThan(content.size);
    expect(errors()).toEqual([]);
  });

  test("fails a download at a damaged chunk, and saves nothing after it", async () => {
    const content = testContent(20 * MiB, 3);
    const address = await store.put(content.stream());
    const link = await linkTo(address);
    const parts = await Array.fromAsync(store.treeAddresses(address));
    const { client, name: Bucket } = bucket;
    const Key = parts[2]!;
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    const damaged = await Body!.transformToByteArray();
    damaged[1_000_000]! ^= 1;
    await client.send(new PutObjectCommand({ Bucket, Key, Body: damaged }));
    const { click, status, download } = await openPage(link);
    const saved = download();
    await click("save");
    expect((await saved).state).toBe("canceled");
    expect(await status(/damaged/u)).toBe(
      "A part of this file is damaged on the server, or somebody replaced it. Ask the sender to check the file and to send a new link.",
    );
    expect(await current.page.$("#save[hidden]")).toBe(null);
  });

  test("says that a link has expired", async () => {
    const link = await linkTo(await store.put(new Uint8Array(1000)), 1);
    await Bun.sleep(2500);
    const { status } = await openPage(link);
    expect(await status(/./u)).toBe("This link has expired. Ask the sender for a new one.");
    expect(await textOf("#name")).toBe("This file cannot be opened");
  });

  test("says that a link expired while the page was open", async () => {
    const link = await linkTo(await store.put(testContent(9 * MiB, 4).stream()), 3);
    const { page, click, status, download } = await openPage(link);
    await page.waitForSelector("#save:not([hidden])");
    await Bun.sleep(4500);
    const saved = download();
    await click("save");
    expect(await status(/expired/u)).toBe("This link has expired. Ask the sender for a new one.");
    expect((await saved).state).toBe("canceled");
  });

  test("says that the key is wrong, that the link is cut, and that there is none", async () => {
    const link = await share("secret");
    const secret = link.split("~").at(-1)!;
    const wrong = secret.startsWith("A") ? `B${secret.slice(1)}` : `A${secret.slice(1)}`;
    const { status, page, errors } = await openPage(link.replace(secret, wrong));
    expect(await status(/./u)).toStartWith("The key in this link does not open the file.");
    // A link that is pasted into the same tab.
    await page.goto(link.slice(0, -1));
    expect(await status(/complete/u)).toStartWith("This link is not complete.");
    await page.goto(link);
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe("secret");
    await page.evaluate(() => history.replaceState(null, ""));
    await page.reload();
    expect(await status(/./u)).toStartWith("This page opens links to encrypted files.");
    expect(errors()).toEqual([]);
  });

  test("goes back to the link that was open before", async () => {
    const [first, second] = [await share("first"), await share("second")];
    const { page } = await openPage(first);
    const shows = async (text: string): Promise<unknown> =>
      page.waitForFunction(
        (text) => document.getElementById("preview")!.textContent === text,
        { timeout: 20_000 },
        text,
      );
    await shows("first");
    await page.goto(second);
    await shows("second");
    await page.evaluate(() => history.back());
    await shows("first");
  });

  test("says that the server does not respond, and tries again when asked to", async () => {
    const link = await share("back again");
    current = await visit(browser);
    const { page, status, click } = current;
    await page.setRequestInterception(true);
    let offline = true;
    page.on("request", (request) => {
      const refused = offline && request.url().startsWith(bucket.server.endpoint);
      void (refused ? request.abort("connectionrefused") : request.continue());
    });
    await page.goto(link);
    expect(await status(/./u)).toStartWith("The server does not respond, or not as expected.");
    offline = false;
    await click("retry");
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe("back again");
  });

  test("shows text as it is, and never as markup", async () => {
    const text =
      "<script>document.title = 'run'</script>\n<img src=x onerror=\"document.title='run'\">";
    const name = `<b>${"long".repeat(40)}</b>.html`;
    const link = await share(text, { name, type: "text/html" });
    const { page, errors } = await openPage(link, 360);
    await page.waitForSelector("#preview pre");
    expect(await textOf("#preview pre")).toBe(text);
    expect(await textOf("#name")).toBe(name);
    expect(await page.title()).toBe("Shared file");
    // Nothing is wider than a phone.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(errors()).toEqual([]);
  });

  test("shows a picture by its bytes, and no picture that can contain script", async () => {
    const { page, errors } = await openPage(await share(PNG, { type: "text/html" }));
    await page.waitForSelector("#preview img");
    expect(await page.$eval("#preview img", ({ naturalWidth }) => naturalWidth)).toBe(1);
    const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>`;
    await page.goto(await share(svg, { name: "a.svg", type: "image/svg+xml" }));
    await page.waitForSelector("#preview pre");
    expect(await page.$$eval("#preview img", (images) => images.length)).toBe(0);
    // A longer picture is fetched when asked for.
    const long = Buffer.concat([PNG, Buffer.alloc(2 * MiB)]);
    await page.goto(await share(long, { name: "long.png" }));
    await page.locator("#show").click();
    await page.waitForSelector("#preview img");
    expect(errors()).toEqual([]);
  });

  test("stops fetching when a save is cancelled", async () => {
    const link = await linkTo(await store.put(testContent(60 * MiB, 5).stream()));
    const { page, click, status, download, watched } = await openPage(link);
    const saved = download();
    await click("save");
    await page.waitForFunction("document.getElementById('progress').value > 0.05");
    await click("cancel");
    expect(await status(/Cancelled/u)).toBe("Cancelled.");
    expect((await saved).state).toBe("canceled");
    const { length } = watched.requests;
    await Bun.sleep(1000);
    expect(watched.requests.length).toBe(length);
  });

  test.each(["tells its worker", "cannot tell it"])(
    "fails a download if the page is closed and %s",
    async (how) => {
      const link = await linkTo(await store.put(testContent(60 * MiB, 5).stream()));
      current = await visit(browser);
      const { page, click, download } = current;
      if (how === "cannot tell it") {
        // As if it crashed.
        await page.evaluateOnNewDocument(() => {
          addEventListener("pagehide", (event) => event.stopImmediatePropagation());
        });
      }
      await page.goto(link);
      const saved = download();
      await click("save");
      await page.waitForFunction("document.getElementById('progress').value > 0.05");
      await page.close();
      expect((await saved).state).toBe("canceled");
    },
  );

  test("says that the browser stopped the download", async () => {
    const link = await linkTo(await store.put(testContent(60 * MiB, 5).stream()));
    const { page, click, status, download } = await openPage(link);
    const saved = download();
    await click("save");
    await page.waitForFunction("document.getElementById('progress').value > 0.05");
    const session = await page.createCDPSession();
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.stopAllWorkers");
    expect((await saved).state).toBe("canceled");
    expect(await status(/stopped/u)).toBe("The browser stopped the download. Try again.");
  });

  test("opens compressed content", async () => {
    const text = "the same line again and again\n".repeat(10_000);
    const bytes = new TextEncoder().encode(text);
    const link = await linkTo(await store.put(bytes, { compression: "lz4" }));
    const { page, errors } = await openPage(link);
    await page.waitForSelector("#preview pre");
    expect(await textOf("#preview pre")).toBe(text);
    expect(errors()).toEqual([]);
  });

  test("saves without service workers, from memory", async () => {
    const content = testContent(3 * MiB, 6);
    const link = await linkTo(
      await store.put(content.stream(), { metadata: { name: "../a:b.bin" } }),
    );
    current = await visit(browser);
    const { page, click, download, status } = current;
    await page.evaluateOnNewDocument(() => {
      Object.defineProperty(navigator, "serviceWorker", { value: undefined });
    });
    await page.goto(link);
    const saved = download();
    await click("save");
    const { sha256 } = content;
    expect(await saved).toEqual({ state: "completed", name: "_a_b.bin", sha256 });
    expect(await status(/^Saved/u)).toContain("verified");
  });

  test("saves from memory if the browser ignores the download of the frame", async () => {
    const content = testContent(1000, 7);
    const link = await linkTo(await store.put(content.stream(), { metadata: { name: "a.bin" } }));
    current = await visit(browser);
    const { page, click, download, status } = current;
    await page.evaluateOnNewDocument(() => {
      Object.defineProperty(HTMLIFrameElement.prototype, "src", { set() {} });
    });
    await page.goto(link);
    const saved = download();
    await click("save");
    const { sha256 } = content;
    expect(await saved).toEqual({ state: "completed", name: "a.bin", sha256 });
    expect(await status(/^Saved/u)).toContain("verified");
  });

  test("ends a save whose worker does not answer any more", async () => {
    const link = await linkTo(await store.put(testContent(60 * MiB, 8).stream()));
    current = await visit(browser);
    const { page, click, status, download } = current;
    await page.evaluateOnNewDocument(() => {
      const { postMessage } = ServiceWorker.prototype;
      const isPing = (message: { kind: string }): boolean => message.kind === "ping";
      ServiceWorker.prototype.postMessage = function (message: never, ports: never) {
        if (!isPing(message)) postMessage.call(this, message, ports);
      };
    });
    await page.goto(link);
    await page.setRequestInterception(true);
    // The last bytes never come.
    let count = 0;
    page.on("request", (request) => {
      if (!request.url().startsWith(bucket.server.endpoint) || (count += 1) < 4) {
        void request.continue();
      }
    });
    const saved = download();
    await click("save");
    expect(await status(/stopped/u)).toBe("The browser stopped the download. Try again.");
    expect((await saved).state).toBe("canceled");
  });
});
