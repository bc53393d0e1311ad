import type { Foreign, InBrowser, KnownAnswers } from "./in-browser.ts";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createStore, formatIdentity, generateIdentity } from "@idk/storage";
import { launchChromium, missingChromium, watch } from "./chromium.ts";
import type { Browser, Page } from "puppeteer-core";
import { ensureBuilt } from "../built.ts";
import { join } from "node:path";
import { memory } from "@idk/storage/memory";
import { skipIfMissing } from "../servers/require-server.ts";
import { randomBytes } from "node:crypto";

setDefaultTimeout(120_000);

const testdata = join(import.meta.dir, "../../testdata");
const answers = (await Bun.file(join(testdata, "known-answers.json")).json()) as KnownAnswers;

/** A bundle for browsers of the library as published, compiled by tsc. */
async function buildBundle(): Promise<string> {
  await ensureBuilt();
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "in-browser.ts")],
    target: "browser",
    conditions: ["browser"],
  });
  return built.outputs[0]!.text();
}
let built: Promise<string> | undefined;
const bundle = (): Promise<string> => (built ??= buildBundle());

test("a bundle for browsers has no imports and no native code", async () => {
  const script = await bundle();
  expect(new Bun.Transpiler({ loader: "js" }).scanImports(script)).toEqual([]);
  // Bun marks the origin of each part with a comment.
  const holds = (name: string) => script.includes(`node_modules/.bun/${name}@`);
  const names = ["tweetnacl", "sodium-native", "lz4-napi", "piscina"];
  expect(names.filter(holds)).toEqual(["tweetnacl"]);
});

skipIfMissing(missingChromium)("in a browser", () => {
  let browser: Browser;
  let page: Page;
  let faults: ReturnType<typeof watch>;

  beforeAll(async () => {
    browser = await launchChromium();
    page = await browser.newPage();
    faults = watch(page);
    // WebCrypto needs a secure origin, such as localhost; the interception saves a server.
    await page.setRequestInterception(true);
    page.on("request", (request) => {
      void request.respond({ status: 200, contentType: "text/html", body: "<!doctype html>" });
    });
    await page.goto("http://localhost/");
    await page.addScriptTag({ content: await bundle(), type: "module" });
    await page.waitForFunction("globalThis.idk !== undefined");
    faults.requests.length = 0;
    faults.errors.length = 0;
  });
  afterAll(async () => {
    await browser.close();
  });

  test.each(answers.cases.map((known, index) => [known.address.slice(0, 8), index] as const))(
    "writes the known answer %s exactly and reads it back",
    async (_, index) => {
      const found = await page.evaluate(
        (answers, index) => {
          const { idk } = globalThis as unknown as { idk: InBrowser };
          return idk.knownAnswer(answers, answers.cases[index]!);
        },
        answers,
        index,
      );
      const { address, contentSha256 } = answers.cases[index]!;
      expect(found).toEqual({ address, sha256: contentSha256 });
    },
  );

  test("reads and rewraps what libsodium sealed", async () => {
    const identity = await generateIdentity();
    const backend = memory();
    const store = createStore({ backend, recipients: [identity.recipient], nacl: "native" });
    const content = randomBytes(3_000_001);
    const address = await store.put(content, { chunkSize: 2 ** 18 });
    const blobs: [string, string][] = [];
    for await (const { name, size } of backend.list("")) {
      const bytes = Buffer.alloc(size);
      await backend.get(name, bytes);
      blobs.push([name, bytes.toString("base64")]);
    }
    const sha256 = new Bun.CryptoHasher("sha256").update(content).digest("hex");
    const given: Foreign = { identity: formatIdentity(identity), address, sha256, blobs };
    const found = await page.evaluate(
      (given) => (globalThis as unknown as { idk: InBrowser }).idk.foreign(given),
      given,
    );
    expect(found).toEqual({ whole: sha256, shared: sha256 });
  });

  test("uses the portable NaCl and rejects what it does not support", async () => {
    const found = await page.evaluate(() =>
      (globalThis as unknown as { idk: InBrowser }).idk.runtime(),
    );
    expect(found).toEqual({
      nacl: "portable",
      native: "usage",
      keyFile: true,
      range: "the same line again and again",
      zstd: "usage",
      lz4: "usage",
      damaged: "address",
    });
  });

  test("makes no requests and logs no errors", () => {
    expect(faults).toEqual({ requests: [], errors: [] });
  });
});
