import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { skipIfMissing } from "../../../../../tests/servers/require-server.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { minio } from "../../../src/backend/minio.ts";
import { s3 } from "../../../src/backend/s3.ts";
import { initBucket } from "../../../src/backend/s3/provision/init-bucket.ts";
import { rejects } from "../rejects.ts";
import { first, NAME, objectResponse, served } from "./fixtures.ts";

const BYTES = new Uint8Array(100).fill(7);
const [accessKeyId, secretAccessKey] = ["access-key", "secret-key"];

const everyCall = (backend: Backend): (() => Promise<unknown>)[] => [
  () => backend.put(NAME, BYTES),
  () => backend.get(NAME, new Uint8Array(1)),
  () => backend.head(NAME),
  () => backend.delete(NAME),
  () => first(backend.list("")),
];

describe("a value that is invalid in a header is a usage error that does not quote it", () => {
  const ODD = ["hidden\nhidden", "hidden\u2014hidden", "hidd\u00E9n hidden", "hidden\0hidden"];

  test.each(ODD)("a session token %j", async (sessionToken) => {
    let asked = 0;
    const answer = () => {
      asked += 1;
      return objectResponse();
    };
    const credentials = { accessKeyId, secretAccessKey, sessionToken };
    for (const given of [credentials, async () => credentials]) {
      using fake = served(answer, { credentials: given });
      for (const call of everyCall(fake.backend)) {
        const error = await rejects(call(), "usage", "the session token has characters");
        expect(Bun.inspect(error)).not.toMatch(/hidden|secret-key/u);
      }
    }
    using fake = served(answer);
    const { endpoint } = fake;
    const keys = { accessKey: accessKeyId, secretKey: secretAccessKey, sessionToken };
    const made = initBucket({ provider: "minio", bucket: "bucket", endpoint, ...keys });
    const error = await rejects(made, "usage", "the session token has characters");
    expect(Bun.inspect(error)).not.toContain("hidden");
    expect(asked).toBe(0);
  });

  test("an access key", async () => {
    using fake = served(() => objectResponse(), {
      credentials: { accessKeyId: "hidden\nhidden", secretAccessKey },
    });
    for (const call of everyCall(fake.backend)) {
      const error = await rejects(call(), "usage", "the access key has characters");
      expect(Bun.inspect(error)).not.toContain("hidden");
    }
  });

  test("the ID of a KMS key", () => {
    const encryption = { type: "aws:kms", keyId: "hidden\nhidden" } as const;
    const options = { bucket: "bucket", endpoint: "https://s3.example", encryption };
    const text = "the ID of the KMS key has characters";
    expect(() => s3(options)).toThrow(text);
    expect(() => minio({ ...options, accessKey: accessKeyId, secretKey: "s" })).toThrow(text);
  });
});

describe("an exception in the credentials function", () => {
  const failing = (error: unknown) => ({
    credentials: async (): Promise<never> => {
      throw error;
    },
  });

  test("is permanent, and its message is dropped if it may quote a header", async () => {
    const error = new TypeError('Headers.append: "hidden" is an invalid header value.');
    using fake = served(() => objectResponse(), failing(error));
    for (const call of everyCall(fake.backend)) {
      const failure = await rejects(call(), "unavailable", "the request could not be sent");
      expect(failure.transient).toBe(false);
      // The stack is kept.
      expect(failure.cause).toMatchObject({ message: "TypeError" });
      expect((failure.cause as Error).stack).toContain("secrets.test.ts");
      expect(`${failure.message}${(failure.cause as Error).stack}`).not.toContain("hidden");
    }
  });

  test("is permanent", async () => {
    using fake = served(() => objectResponse(), failing(new Error("the vault is sealed")));
    for (const call of everyCall(fake.backend)) {
      const failure = await rejects(call(), "unavailable", "the vault is sealed");
      expect(failure.transient).toBe(false);
    }
  });

  test("is transient if it is a network error", async () => {
    for (const error of [
      Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      Object.assign(new Error("lookup"), { code: "EAI_AGAIN" }),
      new TypeError("fetch failed", {
        cause: Object.assign(new Error("closed"), { code: "UND_ERR_SOCKET" }),
      }),
      new TypeError("fetch failed", { cause: new Error("no reason") }),
      new DOMException("too late", "TimeoutError"),
    ]) {
      using fake = served(() => objectResponse(), failing(error));
      for (const call of everyCall(fake.backend)) {
        const failure = await rejects(call(), "unavailable", "the credentials provider");
        expect(failure.transient).toBe(true);
      }
    }
  });
});

const node = Bun.which("node");

// Its fetch quotes invalid values.
skipIfMissing(node === null ? ["node"] : [])("in Node", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-secrets-"));
    const { success } = await Bun.build({
      entrypoints: [join(import.meta.dir, "../../../src/backend/s3.ts")],
      outdir: folder,
      target: "node",
      naming: "s3.mjs",
    });
    expect(success).toBe(true);
  }, 60_000);
  afterAll(() => rm(folder, { recursive: true }));

  test("no secret is shown, and network errors are distinguished from usage errors", async () => {
    const script = `
      import { inspect } from "node:util";
      import { createServer } from "node:net";
      import { s3 } from ${JSON.stringify(join(folder, "s3.mjs"))};
      const at = async (port, sessionToken) => {
        const backend = s3({ bucket: "b", endpoint: "http://127.0.0.1:" + port, region: "r",
          credentials: { accessKeyId: "a", secretAccessKey: "s", sessionToken } });
        const calls = [backend.put(${JSON.stringify(NAME)}, new Uint8Array(9)), backend.list("").next()];
        return Promise.all(calls.map((call) => call.catch((error) =>
          [error.code, error.transient, /hidden/u.test(inspect(error, { depth: 9, showHidden: true }))])));
      };
      const server = createServer((socket) => socket.once("data", () => socket.destroy()));
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address();
      const answers = [await at(port, "hidden\\nhidden"), await at(port, "hidden\u2014hidden"), await at(port)];
      await new Promise((resolve) => server.close(resolve));
      console.log(JSON.stringify([...answers, await at(port)]));`;
    const run = Bun.spawn([node ?? "", "--no-warnings", "--input-type=module", "-e", script], {
      stderr: "inherit",
    });
    const wrong = ["usage", false, false];
    const failed = ["unavailable", true, false];
    expect(await new Response(run.stdout).json()).toEqual([
      [wrong, wrong],
      [wrong, wrong],
      [failed, failed],
      [failed, failed],
    ]);
  }, 60_000);
});
