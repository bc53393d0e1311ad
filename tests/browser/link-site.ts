/* What the tests of the page that opens links share: the page on a web server, a store, a browser. */
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type PageServer, type Visit, servePage, visit } from "./link-page.ts";
import { type Identity, type Store, createStore, generateIdentity } from "@idk/storage";
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { launchChromium, missingChromium } from "./chromium.ts";
import type { Backend, Metadata } from "@idk/storage";
import type { Browser } from "puppeteer-core";
import { createLink } from "@idk/link";
import { minio } from "@idk/storage/minio";
import { serverUrl } from "../servers/require-server.ts";

/** What these tests need and this machine lacks. */
export const missingForLinks: readonly string[] = [
  ...missingChromium,
  ...(serverUrl("minio") === undefined ? ["MinIO"] : []),
];

/** Set while tests run. */
export interface Site {
  readonly server: PageServer;
  readonly bucket: Bucket;
  readonly store: Store;
  readonly browser: Browser;
}

export interface LinkSite {
  readonly site: Site;
  linkTo(address: string, expiresIn?: number): Promise<string>;
  /** Stores content, and makes a link to it. */
  share(content: Uint8Array | string, metadata?: Metadata): Promise<string>;
  /** Opens a tab, at most one in each test. */
  openTab(width?: number): Promise<Visit>;
  openPage(link: string, width?: number): Promise<Visit>;
  /** The text of an element in the tab. */
  textOf(selector: string): Promise<string>;
}

/**
 * Sets up a site for the tests of a `describe`. After each test, checks that the tab asked nobody but the
 * site and the store, and that the page's policy had nothing to refuse.
 */
export function useLinkSite(): LinkSite {
  const site = {} as { -readonly [K in keyof Site]: Site[K] };
  let backend: Backend;
  let identity: Identity;
  let current: Visit;

  beforeAll(async () => {
    site.server = await servePage();
    site.bucket = await newBucket(minioServer());
    const { server, name } = site.bucket;
    const { endpoint, accessKeyId: accessKey, secretAccessKey: secretKey } = server;
    backend = minio({ endpoint, bucket: name, accessKey, secretKey });
    identity = await generateIdentity();
    site.store = createStore({
      backend,
      recipients: [identity.recipient],
      identities: [identity],
    });
    site.browser = await launchChromium();
  });
  afterAll(async () => {
    await site.browser?.close();
    await site.store?.close();
    await site.bucket?.remove();
    await site.server?.stop();
  });
  afterEach(async () => {
    const origins = new Set(current.watched.requests.map((request) => new URL(request).origin));
    const violations = current.page.isClosed() ? [] : await current.violations();
    await current.close();
    // Of the page and of the store, and no others.
    origins.delete(new URL(site.server.url).origin);
    origins.delete(site.bucket.server.endpoint);
    expect({ origins: [...origins], violations }).toEqual({ origins: [], violations: [] });
  });

  async function linkTo(address: string, expiresIn = 3600): Promise<string> {
    const identities = [identity];
    const page = site.server.url;
    return (await createLink({ backend, address, identities, page, expiresIn })).url;
  }

  async function openTab(width?: number): Promise<Visit> {
    current = await visit(site.browser, width);
    return current;
  }

  return {
    site,
    linkTo,
    async share(content, metadata = {}) {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      return linkTo(await site.store.put(bytes, { metadata }));
    },
    openTab,
    async openPage(link, width) {
      await openTab(width);
      await current.page.goto(link);
      return current;
    },
    textOf: (selector) => current.page.$eval(selector, ({ textContent }) => textContent),
  };
}
