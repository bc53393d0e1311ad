import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { MiB, testContent } from "../live/content.ts";
import { type Visit, liveBytes } from "./link-page.ts";
import { expect, setDefaultTimeout, test } from "bun:test";
import { missingForLinks, useLinkSite } from "./link-site.ts";
import { skipIfMissing } from "../servers/require-server.ts";

setDefaultTimeout(120_000);

skipIfMissing(missingForLinks)("saving from the page that opens links", () => {
  const { site, linkTo, share, openTab, openPage, textOf } = useLinkSite();

  test("saves 1 KB under the name that the sender gave, and tells nobody the link", async () => {
    const content = testContent(1000, 1);
    const link = await linkTo(
      await site.store.put(content.stream(), { metadata: { name: "Übung 1.bin" } }),
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
    const told = [
      ...watched.requests.map((url) => url.split("#")[0]),
      ...site.server.requests,
    ].join("\n");
    expect(told).toContain(new URL(site.server.url).pathname);
    expect([fragment, secret].filter((text) => told.includes(text))).toEqual([]);
    expect(await page.evaluate(() => [location.href, document.referrer])).toEqual([
      site.server.url,
      "",
    ]);
    // The link survives a reload all the same.
    await page.reload();
    await page.waitForSelector("#save:not([hidden])");
    expect(await textOf("#name")).toBe("Übung 1.bin");
  });

  test("saves 200 MB in bounded memory", async () => {
    const content = testContent(200_000_000, 2);
    const link = await linkTo(
      await site.store.put(content.stream(), { metadata: { name: "big.bin" } }),
    );
    const { page, click, status, download, errors } = await openPage(link);
    const saved = download();
    await click("save");
    const isWorker = (target: { type(): string }): boolean => target.type() === "service_worker";
    const worker = await (await site.browser.waitForTarget(isWorker)).createCDPSession();
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
    // that was made since the collection, 100 MB and more on a slow machine; but never all of the content.
    expect(samples.length).toBeGreaterThan(5);
    const peak = Math.max(...samples);
    expect(peak).toBeGreaterThan(4 * MiB);
    expect(peak).toBeLessThan(content.size);
    expect(errors()).toEqual([]);
  });

  test("fails a download at a damaged chunk, and saves nothing after it", async () => {
    const content = testContent(20 * MiB, 3);
    const address = await site.store.put(content.stream());
    const link = await linkTo(address);
    const parts = await Array.fromAsync(site.store.treeAddresses(address));
    const { client, name: Bucket } = site.bucket;
    const Key = parts[2]!;
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
    const damaged = await Body!.transformToByteArray();
    damaged[1_000_000]! ^= 1;
    await client.send(new PutObjectCommand({ Bucket, Key, Body: damaged }));
    const { page, click, status, download } = await openPage(link);
    const saved = download();
    await click("save");
    expect((await saved).state).toBe("canceled");
    expect(await status(/damaged/u)).toBe(
      "A part of this file is damaged on the server, or somebody replaced it. Ask the sender to check the file and to send a new link.",
    );
    expect(await page.$("#save[hidden]")).toBe(null);
  });

  test("stops fetching when a save is cancelled", async () => {
    const link = await linkTo(await site.store.put(testContent(60 * MiB, 5).stream()));
    const { click, status, download, watched, release } = await saveHeld(link);
    await click("cancel");
    expect(await status(/Cancelled/u)).toBe("Cancelled.");
    expect((await download()).state).toBe("canceled");
    release();
    const { length } = watched.requests;
    await Bun.sleep(1000);
    expect(watched.requests.length).toBe(length);
  });

  test.each<readonly [string, () => void]>([
    ["tells its worker", () => {}],
    // As if it crashed.
    [
      "cannot tell it",
      () => addEventListener("pagehide", (event) => event.stopImmediatePropagation()),
    ],
  ])("fails a download if the page is closed and %s", async (_, prepare) => {
    const link = await linkTo(await site.store.put(testContent(60 * MiB, 5).stream()));
    const { page, download } = await saveHeld(link, prepare);
    await page.close();
    expect((await download()).state).toBe("canceled");
  });

  test("says that the browser stopped the download", async () => {
    const link = await linkTo(await site.store.put(testContent(60 * MiB, 5).stream()));
    const { page, status, download } = await saveHeld(link);
    const session = await page.createCDPSession();
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.stopAllWorkers");
    expect((await download()).state).toBe("canceled");
    expect(await status(/stopped/u)).toBe("The browser stopped the download. Try again.");
  });

  test("saves without service workers, from memory", async () => {
    const content = testContent(3 * MiB, 6);
    const link = await linkTo(
      await site.store.put(content.stream(), { metadata: { name: "../a:b.bin" } }),
    );
    const { page, click, download, status } = await openTab();
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
    const link = await linkTo(
      await site.store.put(content.stream(), { metadata: { name: "a.bin" } }),
    );
    const { page, click, download, status } = await openTab();
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

  /**
   * Saves the file of a link whose last bytes come when they are released.
   *
   * @param prepare runs in the page before its scripts
   */
  async function saveHeld(
    link: string,
    prepare = (): void => {},
  ): Promise<Visit & { release(): void }> {
    const tab = await openTab();
    const { page, click } = tab;
    await page.evaluateOnNewDocument(prepare);
    const held: (() => void)[] = [];
    let holds = true;
    let count = 0;
    await page.evaluateOnNewDocument(() => {
      // The waits of the page for its worker: a fifth of the time. Only the wait for the start of the
      // download has a value, and keeps its time.
      const scale = (ms?: number): number | undefined => (ms === 5000 ? 1000 : ms);
      type Timer = (work: () => void, ms?: number, value?: unknown) => unknown;
      const scaled =
        (set: Timer): Timer =>
        (work, ms, value) =>
          set(work, value === undefined ? scale(ms) : ms, value);
      const { setTimeout: timeout, setInterval: interval } = globalThis;
      Object.assign(globalThis, { setTimeout: scaled(timeout), setInterval: scaled(interval) });
      const { postMessage } = ServiceWorker.prototype;
      const pings = { sent: 0, lost: 0 };
      Object.assign(globalThis, { pings });
      ServiceWorker.prototype.postMessage = function (message: { kind: string }, ports: never) {
        if (message.kind === "ping" && (pings.sent += 1) <= pings.lost) return;
        postMessage.call(this, message, ports);
      };
    });
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      const isOfStore = request.url().startsWith(site.bucket.server.endpoint);
      const proceed = (): void => void request.continue();
      if (holds && isOfStore && (count += 1) >= 4) held.push(proceed);
      else proceed();
    });
    await page.goto(link);
    await page.waitForSelector("#save:not([hidden])");
    await click("save");
    await page.waitForFunction("document.getElementById('progress').value > 0");
    return {
      ...tab,
      release() {
        holds = false;
        for (const proceed of held) proceed();
      },
    };
  }

  test("ends a save whose worker does not answer any more", async () => {
    const link = await linkTo(await site.store.put(testContent(60 * MiB, 8).stream()));
    const { page, status, download } = await saveHeld(link);
    await page.evaluate("pings.lost = Infinity");
    expect(await status(/stopped/u)).toBe("The browser stopped the download. Try again.");
    expect((await download()).state).toBe("canceled");
  });

  test("goes on with a save whose worker left two questions unanswered", async () => {
    const content = testContent(30 * MiB, 9);
    const link = await linkTo(await site.store.put(content.stream()));
    const { page, status, download, release } = await saveHeld(link);
    await page.evaluate("pings.lost = pings.sent + 2");
    await page.waitForFunction("pings.sent > pings.lost + 2");
    release();
    expect(await download()).toMatchObject({ state: "completed", sha256: content.sha256 });
    expect(await status(/^Saved/u)).toContain("verified");
  });

  test("does not end a save for another link without being asked", async () => {
    const content = testContent(30 * MiB, 10);
    const link = await linkTo(await site.store.put(content.stream()));
    const other = new URL(await share("the other")).hash;
    const { page, click, status, download, release } = await saveHeld(link);
    const go = (hash: string): Promise<void> =>
      page.evaluate((hash) => void (location.hash = hash), hash);
    const isOffered = (is: boolean): Promise<unknown> =>
      page.waitForSelector(is ? "#other:not([hidden])" : "#other[hidden]");
    await go(other);
    expect(await status(/still/u)).toBe(
      "This file is still being saved. Opening the other link stops that.",
    );
    await isOffered(true);
    expect(await page.evaluate(() => location.href)).toBe(site.server.url);
    await page.evaluate(() => history.back());
    await isOffered(false);
    await go(other);
    await isOffered(true);
    release();
    expect(await download()).toMatchObject({ state: "completed", sha256: content.sha256 });
    await status(/^Saved/u);
    await click("other");
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe("the other");
    await isOffered(false);
  });

  test("ends a save for another link when asked", async () => {
    const link = await linkTo(await site.store.put(testContent(30 * MiB, 11).stream()));
    const other = await share("the other");
    const { page, click, download, release } = await saveHeld(link);
    await page.goto(other);
    await click("other");
    release();
    expect((await download()).state).toBe("canceled");
    await page.waitForSelector("#preview:not([hidden])");
    expect(await textOf("#preview")).toBe("the other");
  });
});
