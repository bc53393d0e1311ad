import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import { readHeaders, encryptionIn, uploadHeaders } from "../../../src/backend/s3/encryption.ts";
import { s3, s3Config } from "../../../src/backend/s3.ts";
import { rejects } from "../rejects.ts";
import {
  bucketForAll,
  errorResponse,
  NAME,
  objectResponse,
  on,
  OTHER,
  recording,
  served,
} from "./fixtures.ts";

const BYTES = Buffer.from("opaque bytes");
const DIGEST = createHash("sha256").update(BYTES).digest();
const BASE = { bucket: "bucket", endpoint: "https://s3.example" };

describe("options", () => {
  test.each([
    ["an empty bucket", { ...BASE, bucket: "" }, "bucket's name"],
    ["a bucket with a query string", { ...BASE, bucket: "b?acl" }, "bucket's name"],
    ["an endpoint that is not a URL", { ...BASE, endpoint: "s3.example" }, "must be a URL"],
    ["an endpoint with a path", { ...BASE, endpoint: "https://s3.example/x" }, "https://HOST"],
    ["an endpoint of another protocol", { ...BASE, endpoint: "ftp://s3.example" }, "https://HOST"],
    ["credentials in the endpoint", { ...BASE, endpoint: "https://a:b@s3.example" }, "credentials"],
    ["a prefix with ..", { ...BASE, prefix: "a/../b" }, "the prefix"],
    ["a prefix with an empty segment", { ...BASE, prefix: "a//b" }, "the prefix"],
    ["a prefix longer than a key", { ...BASE, prefix: "é".repeat(451) }, "900 bytes"],
    ["a timeout of 0", { ...BASE, timeouts: { stall: 0 } }, "timeouts.stall"],
  ])("%s is a usage error", (_, options, part) => {
    expect(() => s3(options)).toThrow(part);
  });

  test("an SSE-C key must have 32 bytes, and needs TLS", () => {
    const encryption = (length: number) =>
      ({ type: "SSE-C", key: new Uint8Array(length) }) as const;
    expect(() => s3({ ...BASE, encryption: encryption(31) })).toThrow("32 bytes");
    expect(() =>
      s3({ bucket: "b", endpoint: "http://s3.example", encryption: encryption(32) }),
    ).toThrow("https://");
  });

  test("an SSE-C key is copied", () => {
    const key = new Uint8Array(32).fill(1);
    const { encryption } = s3Config({ ...BASE, encryption: { type: "SSE-C", key } });
    key.fill(0);
    expect(encryption).toEqual({ type: "SSE-C", key: new Uint8Array(32).fill(1) });
  });

  test("the description has the location and no credentials", () => {
    const credentials = { accessKeyId: "access", secretAccessKey: "secret" };
    expect(s3({ ...BASE, prefix: "/a/b/", credentials }).description).toBe(
      "s3 bucket/a/b at https://s3.example",
    );
    expect(s3({ bucket: "bucket" }).description).toBe("s3 bucket");
  });

  test("an invalid name is a usage error, and sends nothing", async () => {
    let asked = 0;
    using fake = served(() => {
      asked += 1;
      return new Response();
    });
    for (const name of ["", "../x", NAME.toUpperCase(), `${NAME}?acl`]) {
      await rejects(fake.backend.put(name, BYTES), "usage");
      await rejects(fake.backend.get(name, new Uint8Array(1)), "usage");
      await rejects(fake.backend.delete(name), "usage");
    }
    await rejects(fake.backend.put(NAME, BYTES, { sha256: "a\r\nb: c" }), "usage");
    expect(asked).toBe(0);
  });

  test("the library and other backends do not load the SDK", async () => {
    const script = `
      await import("@idk/storage"); await import("@idk/storage/filesystem");
      const { s3 } = await import("@idk/storage/s3"); s3({ bucket: "b" });
      await import("@idk/storage/minio"); await import("@idk/storage/b2");
      await import("@idk/storage/provision");
      console.log([...Object.keys(require.cache)].filter((path) => /@aws-sdk|@smithy|minio@|htmlparser2/.test(path)).length);`;
    const run = Bun.spawn(["bun", "-e", script], { cwd: import.meta.dir, stderr: "inherit" });
    expect(await new Response(run.stdout).text()).toBe("0\n");
  });
});

test("no request contains the secret key", async () => {
  const seen: string[] = [];
  using fake = served(async (request) => {
    const body = Buffer.from(await request.arrayBuffer()).toString("latin1");
    seen.push(JSON.stringify([request.method, request.url, ...request.headers, body]));
    return objectResponse();
  });
  await fake.backend.put(NAME, BYTES);
  await fake.backend.get(NAME, new Uint8Array(100));
  await fake.backend.head(NAME);
  await Array.fromAsync(fake.backend.list("")).catch(() => undefined);
  await fake.backend.delete(NAME).catch(() => undefined);
  const methods = new Set(seen.map((request) => (JSON.parse(request) as string[])[0]));
  expect([...methods]).toEqual(expect.arrayContaining(["PUT", "GET", "HEAD", "DELETE"]));
  for (const request of seen) {
    expect(request).toContain("access-key");
    expect(request).not.toContain("secret-key");
  }
});

describe("encryption headers", () => {
  const name = "x-amz-server-side-encryption";

  test("match the encryption option", () => {
    expect(uploadHeaders(undefined)).toEqual({});
    expect(uploadHeaders({ type: "AES256" })).toEqual({ [name]: "AES256" });
    expect(uploadHeaders({ type: "aws:kms" })).toEqual({ [name]: "aws:kms" });
    expect(uploadHeaders({ type: "aws:kms", keyId: "k" })).toEqual({
      [name]: "aws:kms",
      [`${name}-aws-kms-key-id`]: "k",
    });
    for (const type of ["AES256", "aws:kms"] as const) expect(readHeaders({ type })).toEqual({});
  });

  test("contain the SSE-C key for every upload, download and HEAD", () => {
    const encryption = { type: "SSE-C", key: new Uint8Array(32).fill(1) } as const;
    const own = {
      [`${name}-customer-algorithm`]: "AES256",
      [`${name}-customer-key`]: "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
      [`${name}-customer-key-md5`]: createHash("md5").update(encryption.key).digest("base64"),
    };
    expect(uploadHeaders(encryption)).toEqual(own);
    expect(readHeaders(encryption)).toEqual(own);
  });

  test.each([
    [{ [name]: "aws:kms" }, "aws:kms"],
    [{ [`${name}-customer-algorithm`]: "AES256" }, "SSE-C AES256"],
    [{}, undefined],
  ])("of a response, %p, mean %p", (headers, said) => {
    expect(encryptionIn(new Headers(headers))).toBe(said as never);
  });
});

requireServer("minio")("requests to the store", () => {
  const bucket = bucketForAll();

  test("put, get and head are one request each, signed with the hash of the body", async () => {
    using front = recording(bucket().server);
    const backend = on(bucket(), { endpoint: front.endpoint });
    await backend.put(NAME, BYTES);
    expect(await backend.get(NAME, new Uint8Array(100))).toBe(BYTES.length);
    expect(await backend.head(NAME)).toEqual({ size: 12, storedAt: expect.any(Number) });
    expect(await backend.head(OTHER)).toBeUndefined();
    expect(front.requests.map(({ method }) => method)).toEqual(["PUT", "GET", "HEAD", "HEAD"]);
    const [put, get, head] = front.requests.map(({ headers }) => headers);
    expect(put!.get("x-amz-content-sha256")).toBe(DIGEST.toString("hex"));
    expect(put!.get("x-amz-checksum-sha256")).toBe(DIGEST.toString("base64"));
    expect(put!.get("content-length")).toBe("12");
    expect(put!.has("expect")).toBe(false);
    expect(head!.has("x-amz-checksum-mode")).toBe(false);
    const nothing = createHash("sha256").digest("hex");
    for (const headers of [get!, head!]) expect(headers.get("x-amz-content-sha256")).toBe(nothing);
    for (const headers of [put!, get!, head!]) {
      expect(headers.get("authorization")).toMatch(
        /SignedHeaders=host;.*x-amz-content-sha256;x-amz-date/u,
      );
    }
  });

  test("no request has an unsigned payload", async () => {
    using front = recording(bucket().server);
    const backend = on(bucket(), { endpoint: front.endpoint });
    await backend.capabilities!();
    await backend.put(NAME, BYTES);
    for await (const _ of backend.list("")) break;
    await backend.delete(NAME);
    expect(front.requests.length).toBeGreaterThan(8);
    for (const { headers } of front.requests) {
      expect(headers.get("x-amz-content-sha256")).toMatch(/^[0-9a-f]{64}$/u);
    }
  });

  test("the caller's hash is used if there is one, and a wrong one is rejected", async () => {
    const backend = on(bucket());
    await backend.capabilities!();
    await backend.put(NAME, BYTES, { sha256: DIGEST.toString("hex") });
    await rejects(backend.put(NAME, BYTES, { sha256: OTHER }), "unavailable", "damaged");
    expect((await backend.head(NAME))?.sha256).toBe(DIGEST.toString("hex"));
  });

  test("an upload damaged in transit fails with a transient error", async () => {
    using front = recording(bucket().server, {
      respond({ method, body }) {
        if (method === "PUT") body[3]! ^= 1;
        return undefined;
      },
    });
    const error = await rejects(
      on(bucket(), { endpoint: front.endpoint, prefix: "damaged" }).put(NAME, BYTES),
      "unavailable",
      "damaged",
    );
    expect(error.transient).toBe(true);
    expect(await on(bucket(), { prefix: "damaged" }).head(NAME)).toBeUndefined();
  });

  test("put retries once without the checksum header if the store does not support it", async () => {
    using front = recording(bucket().server, {
      respond: ({ headers }) =>
        headers.has("x-amz-checksum-sha256")
          ? errorResponse(400, "InvalidRequest", "Unsupported header 'x-amz-checksum-sha256'")
          : undefined,
    });
    const backend = on(bucket(), { endpoint: front.endpoint });
    await backend.put(NAME, BYTES);
    await backend.put(NAME, BYTES);
    expect(front.count("PUT")).toBe(3);
    expect((await backend.head(NAME))?.sha256).toBeUndefined();
  });

  test("a checksum that the store does not verify is not returned", async () => {
    using front = recording(bucket().server, {
      respond({ method, headers }) {
        const wrong = createHash("sha256").digest("base64");
        return method === "PUT" && headers.get("x-amz-checksum-sha256") === wrong
          ? objectResponse()
          : undefined;
      },
    });
    const backend = on(bucket(), { endpoint: front.endpoint });
    expect((await backend.capabilities!()).verifiesChecksums).toBe(false);
    await backend.put(NAME, BYTES);
    expect((await backend.head(NAME))?.sha256).toBeUndefined();
  });

  test("an object uploaded in parts has no SHA-256 of the whole", async () => {
    using fake = served(
      () =>
        new Response(null, {
          headers: {
            etag: '"0"',
            "content-length": "5",
            "x-amz-checksum-sha256": `${DIGEST.toString("base64")}-2`,
          },
        }),
    );
    expect((await fake.backend.head(NAME))?.sha256).toBeUndefined();
    using composite = served(
      () =>
        new Response(null, {
          headers: {
            etag: '"0"',
            "x-amz-checksum-type": "COMPOSITE",
            "x-amz-checksum-sha256": DIGEST.toString("base64"),
          },
        }),
    );
    expect((await composite.backend.head(NAME))?.sha256).toBeUndefined();
  });
});

requireServer("minio")("objects in the bucket", () => {
  const bucket = bucketForAll();

  test("a blob is an object under the prefix", async () => {
    const { client, name } = bucket();
    for (const prefix of ["deep/er", "with space+and(é)'*!", ""]) {
      const backend = on(bucket(), { prefix });
      await backend.put(NAME, BYTES);
      const keys = await client.send(new ListObjectsV2Command({ Bucket: name }));
      expect(keys.Contents?.map(({ Key }) => Key)).toContain(`${prefix}${prefix && "/"}${NAME}`);
      await backend.delete(NAME);
    }
  });

  test("put replaces an existing object", async () => {
    const { client, name } = bucket();
    const backend = on(bucket());
    const command = new PutObjectCommand({ Bucket: name, Key: `store/${NAME}`, Body: "garbage" });
    await client.send(command);
    await backend.put(NAME, BYTES);
    const buffer = Buffer.alloc(BYTES.length);
    await backend.get(NAME, buffer);
    expect(buffer).toEqual(BYTES);
  });

  test("foreign objects are not listed and do no harm", async () => {
    const { client, name } = bucket();
    const backend = on(bucket(), { prefix: "mixed" });
    for (const key of [
      `mixed/${NAME}.txt`,
      `mixed/${NAME.toUpperCase()}`,
      `mixed/deeper/${NAME}`,
      `mixed/${"a".repeat(63)}`,
      `mixed/%41${NAME}`,
      "mixed/a+b c\u0001",
      `mixed2/${NAME}`,
    ]) {
      await client.send(new PutObjectCommand({ Bucket: name, Key: key, Body: "x" }));
    }
    await backend.put(OTHER, BYTES);
    expect(await Array.fromAsync(backend.list(""))).toEqual([
      { name: OTHER, size: 12, storedAt: expect.any(Number) },
    ]);
  });

  test("listAfter continues after a name", async () => {
    const backend = on(bucket(), { prefix: "after" });
    const names = ["a", "ab", "b", "c"].map((start) => start.padEnd(64, "0")).toSorted();
    for (const name of names) await backend.put(name, BYTES);
    const after = async (prefix: string, name: string) =>
      (await Array.fromAsync(backend.listAfter!(prefix, name))).map((blob) => blob.name);
    expect(await after("", "")).toEqual(names);
    expect(await after("", names[1]!)).toEqual(names.slice(2));
    expect(await after("a", names[0]!)).toEqual(names.slice(1, 2));
    expect(await after("b", names[3]!)).toEqual([]);
  });
});

requireServer("minio")("versions", () => {
  const bucket = bucketForAll({ versioning: true });
  const versions = async () => {
    const { client, name } = bucket();
    const page = await client.send(new ListObjectVersionsCommand({ Bucket: name }));
    return [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(({ Key }) => Key);
  };

  test("delete leaves no version and no delete marker, and spares other keys", async () => {
    const { client, name } = bucket();
    const backend = on(bucket());
    const neighbour = `store/${NAME}.old`;
    await client.send(new PutObjectCommand({ Bucket: name, Key: neighbour, Body: "x" }));
    for (let i = 0; i < 3; i++) await backend.put(NAME, BYTES);
    await client.send(new DeleteObjectCommand({ Bucket: name, Key: `store/${NAME}` }));
    await backend.put(NAME, BYTES);
    expect(await versions()).toHaveLength(6);
    await backend.delete(NAME);
    expect(await versions()).toEqual([neighbour]);
    await backend.delete(NAME);
    await client.send(new DeleteObjectCommand({ Bucket: name, Key: `store/${OTHER}` }));
    await backend.delete(OTHER);
    expect(await versions()).toEqual([neighbour]);
  });

  test("are detected, and the trial leaves nothing behind", async () => {
    const before = await versions();
    expect(await on(bucket()).capabilities!()).toEqual({
      verifiesChecksums: true,
      conditionalPut: true,
      versions: true,
      encryption: undefined,
    });
    expect(await versions()).toEqual(before);
  });
});
