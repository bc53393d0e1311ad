import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createStore, formatIdentity, generateIdentity, parseAddress } from "@idk/storage";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type Bucket, minioServer, newBucket } from "./servers/s3-servers.ts";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { filesystem } from "@idk/storage/filesystem";
import { http } from "@idk/storage/http";
import { join } from "node:path";
import { requireServer, skipIfMissing } from "./servers/require-server.ts";
import { randomBytes } from "node:crypto";
import { memory } from "@idk/storage/memory";
import { perUserFiles } from "../examples/per-user.ts";
import { signingService } from "../examples/presigned-urls.ts";
import { s3 } from "@idk/storage/s3";
import { tmpdir } from "node:os";

const examples = join(import.meta.dir, "../examples");
const identity = await generateIdentity();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-examples-"));
  await writeFile(join(folder, "me.key"), `${formatIdentity(identity)}\n`);
});
afterAll(() => rm(folder, { recursive: true }));

function start(argv: readonly string[], env: Record<string, string> = {}) {
  return Bun.spawn([...argv], {
    cwd: examples,
    env: { ...process.env, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
}

describe("the file service", () => {
  const node = Bun.which("node");
  const missing = node === null ? ["Node.js"] : [];
  const onNode = [node!, "--import", "tsx", "node-server.ts"];

  /** Starts a server, runs `check` against it, and ends it with SIGTERM, as an operator does. */
  async function withServer(argv: readonly string[], check: (url: string) => Promise<void>) {
    const server = start([...argv, join(folder, "blobs"), join(folder, "me.key"), "0"]);
    try {
      let output = "";
      for await (const piece of server.stdout) {
        output += new TextDecoder().decode(piece);
        if (output.includes("\n")) break;
      }
      await check(/http:\S+/u.exec(output)![0]);
    } finally {
      server.kill("SIGTERM");
    }
    const stderr = await new Response(server.stderr).text();
    expect({ stderr, code: await server.exited }).toEqual({ stderr: "", code: 0 });
  }

  async function checkService(url: string): Promise<void> {
    const content = randomBytes(5_000_000);
    const headers = { "content-type": "image/png" };
    const put = await fetch(url, { method: "PUT", body: content, headers });
    expect(put.status).toBe(201);
    const address = parseAddress((await put.text()).trim());

    const whole = await fetch(url + address);
    expect([whole.status, whole.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true);

    const ranges = [
      ["bytes=4194000-4195000", 4_194_000, 4_195_001],
      ["bytes=4999990-", 4_999_990, 5_000_000],
      ["bytes=4999990-9999999", 4_999_990, 5_000_000],
    ] as const;
    for (const [range, from, to] of ranges) {
      const part = await fetch(url + address, { headers: { range } });
      expect([part.status, part.headers.get("content-range")]).toEqual([
        206,
        `bytes ${from}-${to - 1}/5000000`,
      ]);
      expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(from, to))).toBe(true);
    }
    const beyond = await fetch(url + address, { headers: { range: "bytes=5000000-" } });
    expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */5000000"]);

    // Senders choose the metadata. It must not set other headers or let scripts run.
    const blobs = createStore({
      backend: filesystem(join(folder, "blobs")),
      recipients: [identity.recipient],
    });
    for (const [type, served] of [
      ["text/html; charset=utf-8", "text/html; charset=utf-8"],
      ["text/html\r\nset-cookie: a=b", "application/octet-stream"],
      ["\u2028", "application/octet-stream"],
    ]) {
      const page = await fetch(url + (await blobs.put("<script>", { metadata: { type: type! } })));
      expect([page.status, page.headers.get("content-type")]).toEqual([200, served!]);
      expect(page.headers.get("content-security-policy")).toStartWith("sandbox;");
      expect(await page.text()).toBe("<script>");
    }

    const statusOf = async (path: string) => (await fetch(url + path)).status;
    expect(await statusOf("0".repeat(64))).toBe(404);
    expect(await statusOf("nonsense")).toBe(400);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(405);
  }

  test("puts and gets on Bun", () => withServer([process.execPath, "bun-server.ts"], checkService));

  skipIfMissing(missing)("on Node, within Hono", () => {
    test("puts and gets beside the application's own routes", () =>
      withServer(onNode, async (url) => {
        expect(await (await fetch(`${url}health`)).text()).toBe("ok\n");
        await checkService(url);
      }));
  });
});

test("the write-only producer stores its input, in order", async () => {
  const blobs = join(folder, "log");
  const producer = start([process.execPath, "write-only.ts", blobs, identity.recipient]);
  const line = `${"x".repeat(99)}\n`;
  const lines = Array.from({ length: 25_000 }, (_, i) => i + line).join("");
  await producer.stdin.write(lines);
  await producer.stdin.end();
  const [stdout, stderr] = await Promise.all([
    new Response(producer.stdout).text(),
    new Response(producer.stderr).text(),
  ]);
  expect({ stderr, code: await producer.exited }).toEqual({ stderr: "", code: 0 });
  const addresses = stdout.trim().split("\n");
  expect(addresses.length).toBeGreaterThan(1);
  await using store = createStore({ backend: filesystem(blobs), identities: [identity] });
  const texts = [];
  for (const address of addresses) texts.push(await (await store.get(address)).text());
  expect(texts.join("")).toBe(lines);
});

describe("files for each user", () => {
  const recovery = identity;

  test("are opened by their owner and the recovery key, and by no one else", async () => {
    const [ada, bob] = [await generateIdentity(), await generateIdentity()];
    const users = new Map([
      ["ada", ada.recipient],
      ["bob", bob.recipient],
    ]);
    const owned: string[][] = [];
    const app = perUserFiles({
      backend: memory(),
      recovery: recovery.recipient,
      userOf: async (request) => {
        const id = request.headers.get("x-user") ?? "";
        const recipient = users.get(id);
        return recipient && { id, recipient };
      },
      remember: async (...entry) => void owned.push(entry),
      maxBytes: 6_000_000,
    });
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: app.fetch });
    const put = async (body: Uint8Array<ArrayBuffer>, user: string): Promise<[number, string]> => {
      const headers = { "x-user": user };
      const url = new URL("files/holiday.jpg", server.url);
      const response = await fetch(url, { method: "PUT", body, headers });
      return [response.status, (await response.text()).trim()];
    };

    const content = randomBytes(5_000_000);
    const [status, address] = await put(content, "ada");
    expect([status, owned]).toEqual([201, [["ada", address, "holiday.jpg"]]]);
    expect(await put(content, "eve")).toEqual([401, "sign in"]);
    expect(await put(randomBytes(6_000_001), "ada")).toEqual([413, "too long"]);
    expect(owned).toHaveLength(1);

    const download = (name: string) => new URL(`blobs/${name}`, server.url).href;
    expect((await fetch(download(address))).status).toBe(401);
    const backend = http({ url: new URL("blobs", server.url), headers: { "x-user": "bob" } });
    for (const reader of [ada, recovery]) {
      const store = createStore({ backend, identities: [reader] });
      const opened = await store.get(address);
      expect(opened.metadata.name).toBe("holiday.jpg");
      expect(Buffer.from(await opened.bytes()).equals(content)).toBe(true);
    }
    const code = async (call: Promise<unknown>) => call.catch((error) => error.code);
    const store = createStore({ backend, identities: [bob], recipients: [bob.recipient] });
    expect(await code(store.get(address))).toBe("no-match");
    expect(await code(store.get("0".repeat(64)))).toBe("not-found");
    expect(await code(store.put("x"))).toBe("unavailable");
    expect(await code(backend.get(address, new Uint8Array(100)))).toBe("limit");
    expect(await code(store.get(address, { signal: AbortSignal.abort() }))).toBe("aborted");
  });
});

requireServer("minio")("presigned URLs", () => {
  let bucket: Bucket;
  let sign: (name: string, method: string, size?: number, user?: string) => Promise<Response>;
  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
    const app = signingService({
      bucket: `${endpoint}/${bucket.name}/attic`,
      region: "us-east-1",
      accessKeyId,
      secretAccessKey,
      userOf: async (request) => request.headers.get("x-user") || undefined,
      allow: (user, method) => user === "ada" || method === "GET",
    });
    sign = async (name, method, size, user = "ada") => {
      const headers = { "content-type": "application/json", "x-user": user };
      const body = JSON.stringify({ name, method, size });
      return app.request("/sign", { method: "POST", headers, body });
    };
  });
  afterAll(() => bucket.remove());

  const signedFor = (user: string) =>
    http({
      async sign(name, method, { size }) {
        const response = await sign(name, method, size, user);
        return response.ok ? ((await response.json()) as { url: string }) : undefined;
      },
    });

  test("let a client without credentials store and fetch", async () => {
    const content = randomBytes(5_000_000);
    const recipients = [identity.recipient];
    const there = createStore({ backend: signedFor("ada"), recipients, identities: [identity] });
    const address = await there.put(content);
    expect(Buffer.from(await (await there.get(address)).bytes()).equals(content)).toBe(true);

    const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
    const credentials = { accessKeyId, secretAccessKey };
    const options = { bucket: bucket.name, prefix: "attic", endpoint, region: "us-east-1" };
    const backend = s3({ ...options, credentials });
    await using store = createStore({ backend, identities: [identity] });
    await store.verify(address, { deep: true });

    const eve = createStore({ backend: signedFor("eve"), recipients, identities: [identity] });
    expect(await (await eve.get(address)).bytes()).toHaveLength(content.length);
    expect(await eve.put(content).catch((error) => error.code)).toBe("permission");
  });

  test("store nothing but the bytes that have the name, once", async () => {
    const bytes = randomBytes(1000);
    const name = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const put = async (body: Uint8Array<ArrayBuffer>): Promise<string> => {
      const signed = (await (await sign(name, "PUT", 1000)).json()) as {
        url: string;
        headers: Record<string, string>;
      };
      const { headers } = signed;
      const response = await fetch(signed.url, { method: "PUT", body, headers });
      return response.ok ? "stored" : /<Code>(\w+)/u.exec(await response.text())![1]!;
    };
    expect(await put(randomBytes(1000))).toBe("XAmzContentChecksumMismatch");
    expect(await put(bytes.subarray(0, 999))).toBe("SignatureDoesNotMatch");
    expect(await put(bytes)).toBe("stored");
    expect(await put(bytes)).toBe("PreconditionFailed");
    // Nor without the headers that are signed.
    const { url } = (await (await sign(name, "PUT", 1000)).json()) as { url: string };
    expect((await fetch(url, { method: "PUT", body: bytes })).ok).toBe(false);
  });

  test("are refused for other names, methods and lengths, and without a user", async () => {
    const name = "ab".repeat(32);
    const statusOf = async (...request: Parameters<typeof sign>) => (await sign(...request)).status;
    expect(await statusOf("../secret", "GET")).toBe(400);
    expect(await statusOf(name, "DELETE")).toBe(400);
    expect(await statusOf(name, "PUT", 2 ** 24 + 1025)).toBe(413);
    expect(await statusOf(name, "PUT", -1)).toBe(413);
    expect(await statusOf(name, "PUT", 10, "eve")).toBe(403);
    expect(await statusOf(name, "GET", 10, "")).toBe(401);
  });
});

requireServer("minio")("migrating a bucket", () => {
  test("encrypts every object once, with its name, and continues after an interruption", async () => {
    const plain = await newBucket(minioServer());
    const sealed = await newBucket(minioServer());
    try {
      const keys = Array.from({ length: 12 }, (_, i) => `reports/${i}.txt`);
      for (const Key of keys) {
        const Body = `this is ${Key}`;
        const object = { Bucket: plain.name, Key, Body, ContentType: "text/plain" };
        await plain.client.send(new PutObjectCommand(object));
      }
      const { endpoint, accessKeyId, secretAccessKey } = plain.server;
      const list = join(folder, "moved.ndjson");
      const migrate = async () => {
        const argv = ["migrate-bucket.ts", plain.name, `${sealed.name}/attic`, list];
        const run = start([process.execPath, ...argv, identity.recipient], {
          AWS_ENDPOINT_URL_S3: endpoint,
          AWS_ACCESS_KEY_ID: accessKeyId,
          AWS_SECRET_ACCESS_KEY: secretAccessKey,
          AWS_REGION: "us-east-1",
        });
        const stderr = await new Response(run.stderr).text();
        expect({ stderr, code: await run.exited }).toEqual({ stderr: "", code: 0 });
        return (await readFile(list, "utf8")).trim().split("\n");
      };
      const first = await migrate();
      expect(first).toHaveLength(keys.length);
      // Truncate the last line, as a crash could.
      await writeFile(list, `${first.slice(0, -1).join("\n")}\n${first.at(-1)!.slice(0, 20)}`);
      const second = await migrate();
      expect(second.map((line) => (JSON.parse(line) as { key: string }).key).toSorted()).toEqual(
        keys.toSorted(),
      );

      await using store = createStore({
        backend: s3({
          bucket: sealed.name,
          prefix: "attic",
          endpoint,
          region: "us-east-1",
          credentials: { accessKeyId, secretAccessKey },
        }),
        identities: [identity],
      });
      const found = new Map<string, string>();
      for (const line of second) {
        const { key, address } = JSON.parse(line) as { key: string; address: string };
        const blob = await store.get(address);
        expect([blob.metadata.name, blob.metadata.type]).toEqual([key, "text/plain"]);
        found.set(key, await blob.text());
      }
      expect(found).toEqual(new Map(keys.map((key) => [key, `this is ${key}`])));
    } finally {
      await plain.remove();
      await sealed.remove();
    }
  });
});
