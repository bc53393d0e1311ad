import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { skipIfMissing } from "../../../../../tests/servers/require-server.ts";
import { http, type HttpOptions } from "../../../src/backend/http.ts";
import { blobServer } from "./blob-server.ts";

const NAME = "ab".padEnd(64, "0123456789");

/** Everything that a log could show of a failure. */
async function shownBy(options: HttpOptions): Promise<string> {
  const failure = await http(options)
    .put(NAME, new Uint8Array(9))
    .catch((error) => error);
  return inspect(failure, { depth: 9, showHidden: true });
}

describe("a signature is not shown", () => {
  const signed = (url: string): HttpOptions => ({ sign: () => `${url}${NAME}?signature=hidden` });

  test("if the connection fails", async () => {
    const shown = await shownBy(signed("http://127.0.0.1:1/"));
    expect(shown).toContain("127.0.0.1:1 refused the connection");
    expect(shown).not.toContain("hidden");
  });

  test("if the server refuses", async () => {
    using server = blobServer(() => new Response("<Code>No</Code>", { status: 403 }));
    const shown = await shownBy(signed(server.url));
    expect(shown).toContain("does not allow PUT");
    expect(shown).not.toContain("hidden");
  });

  test("if the server quotes the URL", async () => {
    using server = blobServer(({ url }) => {
      const { pathname, search } = new URL(url);
      const text = `<Code>No</Code><Message>Not ${pathname}${search} here</Message>`;
      return new Response(text, { status: 400 });
    });
    const shown = await shownBy(signed(server.url));
    expect(shown).toContain(`the store responded 400 No Not /blobs/${NAME}?… here`);
    expect(shown).not.toContain("hidden");
  });

  test("if a header is malformed", async () => {
    const headers = { "x-a": "hidden\nhidden" };
    const shown = await shownBy({ sign: () => ({ url: "http://127.0.0.1:1/", headers }) });
    expect(shown).toContain("the headers are malformed");
    expect(shown).not.toContain("hidden");
  });

  test("if the signer fails, whose own message is shown", async () => {
    const sign = () => {
      throw new Error("cannot sign https://files.example/a?signature=hidden: signed out");
    };
    const shown = await shownBy({ sign });
    expect(shown).toContain("cannot sign https://files.example/a?…");
    expect(shown).toContain("signed out");
    expect(shown).not.toContain("hidden");
  });
});

const node = Bun.which("node");

// Its fetch quotes URLs and values.
skipIfMissing(node === null ? ["node"] : [])("in Node", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-http-secrets-"));
    const { success } = await Bun.build({
      entrypoints: [join(import.meta.dir, "../../../src/backend/http.ts")],
      outdir: folder,
      target: "browser",
      naming: "http.mjs",
    });
    expect(success).toBe(true);
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true }));

  test("a signature is not shown, and network errors are transient", async () => {
    using server = blobServer();
    const script = `
      import { inspect } from "node:util";
      import { http } from ${JSON.stringify(join(folder, "http.mjs"))};
      const name = ${JSON.stringify(NAME)};
      const at = (url) => http({ sign: () => url + name + "?signature=hidden" });
      const failed = await at("http://127.0.0.1:1/").get(name, new Uint8Array(9)).catch((error) => error);
      const backend = at(${JSON.stringify(server.url)});
      await backend.put(name, Buffer.from("some bytes"));
      const length = await backend.get(name, new Uint8Array(99));
      console.log(JSON.stringify([failed.code, failed.transient,
        /hidden/u.test(inspect(failed, { depth: 9, showHidden: true })), length]));`;
    const run = Bun.spawn([node ?? "", "--no-warnings", "--input-type=module", "-e", script], {
      stderr: "inherit",
    });
    expect(await new Response(run.stdout).json()).toEqual(["unavailable", true, false, 10]);
  }, 60_000);
});
