import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import { chmod, readFile, rename } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:tls";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { makeCertificate } from "../../servers/certificate.ts";
import {
  type GatewayHome,
  gatewayHome,
  type RunningGateway,
  tlsArguments,
} from "./running-gateway.ts";

setDefaultTimeout(120_000);

let home: GatewayHome;
beforeAll(async () => {
  home = await gatewayHome();
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
});

interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

function clientOf(gateway: RunningGateway, keys: Keys = gateway): S3Client {
  const { accessKeyId, secretAccessKey } = keys;
  return new S3Client({
    endpoint: gateway.endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId, secretAccessKey },
  });
}

/** The code and message of an error of S3. */
async function refusal(request: Promise<unknown>): Promise<readonly [string, string]> {
  const outcome = await request.then(
    () => new Error("it was not refused"),
    (error: unknown) => error as Error,
  );
  return [outcome.name, outcome.message];
}

async function textOf(s3: S3Client, Bucket: string, Key: string, Range?: string): Promise<string> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key, ...(Range && { Range }) }));
  return Body!.transformToString();
}

/** Resolves once a gateway has printed a text. */
async function said(gateway: RunningGateway, text: string): Promise<void> {
  while (!gateway.messages().includes(text)) await Bun.sleep(20);
}

describe("idk serve s3", () => {
  test("keeps a new key and all objects, and the key out of journals", async () => {
    await using first = await home.serve();
    expect(first.messages()).toContain("idk: made an access key, kept in ");
    expect(first.messages()).not.toContain(first.secretAccessKey);
    const s3 = clientOf(first);
    await s3.send(new CreateBucketCommand({ Bucket: "kept" }));
    await s3.send(new PutObjectCommand({ Bucket: "kept", Key: "a", Body: "content" }));
    expect(await first.stop()).toBe(0);
    await using second = await home.serve();
    expect(second.messages()).not.toContain(second.secretAccessKey);
    expect(second.accessKeyId).toBe(first.accessKeyId);
    expect(await textOf(clientOf(second), "kept", "a")).toBe("content");
    // The provider sees neither names nor content.
    const files = await Bun.$`grep -rlE "kept|content" ${home.path("store")}`.nothrow().text();
    expect(files).toBe("");
  });

  test("lets a request in progress end when it is stopped", async () => {
    await using gateway = await home.serve();
    const { endpoint, accessKeyId, secretAccessKey } = gateway;
    const bucket = new Bun.S3Client({ endpoint, accessKeyId, secretAccessKey, bucket: "kept" });
    const url = bucket.presign("late", { method: "PUT" });
    const headers = { "content-length": 10, expect: "100-continue" };
    const upload = request(url, { method: "PUT", headers });
    const status = new Promise<number | undefined>((resolve, reject) => {
      upload.on("response", ({ statusCode }) => resolve(statusCode));
      upload.on("error", reject);
    });
    await once(upload, "continue");
    upload.write("first");
    const stopped = gateway.stop();
    await said(gateway, "stopping");
    const isRefused = async (): Promise<boolean> =>
      fetch(`${endpoint}/healthz`).then(
        () => false,
        () => true,
      );
    while (!(await isRefused())) await Bun.sleep(20);
    upload.end("later");
    expect(await status).toBe(200);
    expect(await stopped).toBe(0);
  });

  test("refuses to listen beyond this machine without TLS", async () => {
    for (const address of ["0.0.0.0:0", ":0", "[::]:0", "example.com:9000"]) {
      const { code, stderr } = await home.idk("serve", "s3", "--listen", address);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--insecure")]);
    }
    await using gateway = await home.serve("--listen", "0.0.0.0:0", "--insecure");
    const { port } = new URL(gateway.endpoint);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
  });

  test("reads the credentials again at SIGHUP, and keeps the old ones if they are wrong", async () => {
    const file = home.path("keys.toml");
    const write = async (text: string): Promise<void> => {
      await Bun.write(file, text);
      await chmod(file, 0o600);
    };
    const keys = (id: string): Keys => ({ accessKeyId: id, secretAccessKey: `secret of ${id}` });
    const tableOf = (id: string, more = ""): string =>
      `[keys.${id}]\nsecret = "secret of ${id}"\n${more}\n`;
    await write(tableOf("OLD"));
    await using gateway = await home.serve("--credentials", file);
    await clientOf(gateway, keys("OLD")).send(new ListBucketsCommand({}));

    await write(tableOf("NEW"));
    gateway.process.kill("SIGHUP");
    await said(gateway, "credentials again: 1 key\n");
    await clientOf(gateway, keys("NEW")).send(new ListBucketsCommand({}));
    expect(
      (await refusal(clientOf(gateway, keys("OLD")).send(new ListBucketsCommand({}))))[0],
    ).toBe("InvalidAccessKeyId");

    await write("[keys.NEW]\nsecret = 'secret of NEW");
    gateway.process.kill("SIGHUP");
    await said(gateway, "stay as they were");
    expect(gateway.messages()).not.toContain("secret of");
    await clientOf(gateway, keys("NEW")).send(new ListBucketsCommand({}));
  });

  test("reads the certificate again at SIGHUP, and keeps the old one if it is wrong", async () => {
    await using gateway = await home.serve(...(await tlsArguments(home)));
    const { port } = new URL(gateway.endpoint);
    const seen = async (): Promise<string> => {
      const socket = connect({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false });
      await once(socket, "secureConnect");
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    const first = await seen();
    await makeCertificate(home.folder);
    gateway.process.kill("SIGHUP");
    await said(gateway, "idk: read the certificate again\n");
    const second = await seen();
    expect(second).not.toBe(first);
    await Bun.write(home.path("public.crt"), "no certificate");
    gateway.process.kill("SIGHUP");
    await said(gateway, "idk: the certificate stays as it was: ");
    expect(await seen()).toBe(second);
  });

  test("keeps keys to their buckets, prefixes and rights", async () => {
    const file = home.path("rights.toml");
    const secretOf = (id: string): string => `secret = "long enough for ${id}"`;
    await Bun.write(
      file,
      `[keys.ADMIN]\n${secretOf("ADMIN")}\n[keys.READER]\n${secretOf("READER")}\nbuckets = ["team-*"]\nrights = ["read", "list"]\n` +
        `[keys.WRITER]\n${secretOf("WRITER")}\nprefixes = ["in/"]\nrights = ["write"]\n`,
    );
    await chmod(file, 0o600);
    await using gateway = await home.serve("--credentials", file);
    const as = (accessKeyId: string): S3Client =>
      clientOf(gateway, { accessKeyId, secretAccessKey: `long enough for ${accessKeyId}` });
    const [admin, reader, writer] = [as("ADMIN"), as("READER"), as("WRITER")];
    for (const Bucket of ["team-a", "other"]) {
      await admin.send(new CreateBucketCommand({ Bucket }));
      await admin.send(new PutObjectCommand({ Bucket, Key: "in/a", Body: "text" }));
    }
    const { Buckets } = await reader.send(new ListBucketsCommand({}));
    expect(Buckets!.map(({ Name }) => Name)).toEqual(["team-a"]);
    expect(await textOf(reader, "team-a", "in/a")).toBe("text");
    await writer.send(new PutObjectCommand({ Bucket: "other", Key: "in/b", Body: "text" }));
    const denied = [
      async () => reader.send(new GetObjectCommand({ Bucket: "other", Key: "in/a" })),
      async () => reader.send(new ListObjectsV2Command({ Bucket: "other" })),
      async () => reader.send(new PutObjectCommand({ Bucket: "team-a", Key: "x", Body: "" })),
      async () => reader.send(new DeleteObjectCommand({ Bucket: "team-a", Key: "in/a" })),
      async () => writer.send(new PutObjectCommand({ Bucket: "other", Key: "out/b", Body: "" })),
      async () => writer.send(new GetObjectCommand({ Bucket: "other", Key: "in/b" })),
      async () => writer.send(new CreateBucketCommand({ Bucket: "new-bucket" })),
    ];
    for (const send of denied) expect((await refusal(send()))[0]).toBe("AccessDenied");
  });

  test("serves buckets as subdomains, too", async () => {
    await using gateway = await home.serve("--domain", "s3.test");
    const { accessKeyId, secretAccessKey } = gateway;
    const { port } = new URL(gateway.endpoint);
    const host = `kept.s3.test:${port}`;
    const bucket = new Bun.S3Client({
      endpoint: `http://${host}`,
      virtualHostedStyle: true,
      accessKeyId,
      secretAccessKey,
    });
    const status = async (method: "PUT" | "GET", url: string): Promise<string> => {
      const resolved = ["--resolve", `${host}:127.0.0.1`];
      const sent = method === "PUT" ? ["--data-binary", "text", "--header", "content-type:"] : [];
      const command = ["curl", "-s", "-w", "%{http_code}", "-X", method, ...resolved, ...sent, url];
      return new Response(Bun.spawn(command, { stdout: "pipe" }).stdout).text();
    };
    expect(await status("PUT", bucket.presign("in/host.txt", { method: "PUT" }))).toBe("200");
    expect(await status("GET", bucket.presign("in/host.txt"))).toBe("text200");
    expect(await textOf(clientOf(gateway), "kept", "in/host.txt")).toBe("text");
  });

  test("answers health and metrics without a signature", async () => {
    await using gateway = await home.serve();
    for (const path of ["/healthz", "/readyz"]) {
      expect(await (await fetch(`${gateway.endpoint}${path}`)).text()).toBe("ok\n");
    }
    await rename(home.path("store"), home.path("away"));
    // An outcome is kept for a while.
    await Bun.sleep(1600);
    const unready = await fetch(`${gateway.endpoint}/readyz`);
    expect([unready.status, await unready.text()]).toEqual([503, "not ready\n"]);
    await rename(home.path("away"), home.path("store"));
    // Lines are written soon, and not at once.
    while ((await gateway.log()).length === 0) await Bun.sleep(10);
    expect((await gateway.log()).map(({ target, status }) => [target, status])).toEqual([
      ["/readyz", 503],
    ]);
    await textOf(clientOf(gateway), "kept", "a");
    const metrics = await (await fetch(`${gateway.endpoint}/metrics`)).text();
    expect(metrics).toContain('idk_gateway_requests_total{operation="GetObject",status="200"} 1\n');
    expect(metrics).toContain('idk_gateway_backend_requests_total{call="get",outcome="ok"} 1\n');
  });
});

describe("a write-only gateway", () => {
  test("stores, lists and describes, and says why it does not read", async () => {
    const macKey = home.path("mac.key");
    expect((await home.idk("gateway", "mac-key", "-o", macKey)).code).toBe(0);
    const { code, stderr } = await home.idk(
      "serve",
      "s3",
      "--write-only",
      "-R",
      home.path("me.pub"),
    );
    expect([code, stderr]).toEqual([2, expect.stringContaining("--mac-key")]);
    const catalog = home.path("write-only.sqlite");
    const options = ["--write-only", "-R", home.path("me.pub"), "--mac-key", macKey];
    const store = home.path("write-only");
    await Bun.$`mkdir ${store}`;
    const shared = ["--store", store, "--catalog", catalog];
    await using writing = await home.serve(...options, ...shared);
    const s3 = clientOf(writing);
    await s3.send(new CreateBucketCommand({ Bucket: "inbox" }));
    const large = "x".repeat(3_000_000);
    await s3.send(new PutObjectCommand({ Bucket: "inbox", Key: "small", Body: "text" }));
    await s3.send(new PutObjectCommand({ Bucket: "inbox", Key: "large", Body: large }));
    const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket: "inbox" }));
    expect(Contents!.map(({ Key, Size }) => [Key, Size])).toEqual([
      ["large", 3_000_000],
      ["small", 4],
    ]);
    const head = await s3.send(new HeadObjectCommand({ Bucket: "inbox", Key: "small" }));
    expect(head.ContentLength).toBe(4);
    expect(await refusal(s3.send(new GetObjectCommand({ Bucket: "inbox", Key: "small" })))).toEqual(
      ["AccessDenied", expect.stringContaining("write-only")],
    );
    await writing.stop();

    await using reading = await home.serve(...shared);
    expect(await textOf(clientOf(reading), "inbox", "small")).toBe("text");
    expect(await textOf(clientOf(reading), "inbox", "large")).toBe(large);
    await reading.stop();

    const rebuilt = ["--store", store, "--catalog", home.path("rebuilt.sqlite")];
    const { code: refused, stdout } = await home.idk("gateway", "rebuild", "--all", ...rebuilt);
    expect([refused, stdout]).toEqual([0, ""]);
    await using afterwards = await home.serve(...rebuilt);
    expect(await textOf(clientOf(afterwards), "inbox", "small")).toBe("text");
  });
});

describe("a snapshot", () => {
  test("is a bucket that cannot be changed", async () => {
    const files: Readonly<Record<string, string>> = {
      "docs/a/deep.txt": "deep",
      "docs/a-b.txt": "dash",
      "docs/ü b.txt": "umlaut",
      "docs/large.bin": "0123456789".repeat(300_000),
      "docs/empty": "",
    };
    for (const [name, text] of Object.entries(files)) await Bun.write(home.path(name), text);
    const backup = await home.idk("backup", "docs", "-R", "me.pub", "--name", "My Docs");
    expect([backup.code, backup.stderr]).toEqual([0, expect.any(String)]);
    await using gateway = await home.serve("--snapshot", "My Docs");
    await said(gateway, "the bucket is my-docs, with 5 files");
    const s3 = clientOf(gateway);
    const { Buckets } = await s3.send(new ListBucketsCommand({}));
    expect(Buckets!.map(({ Name }) => Name)).toEqual(["my-docs"]);
    const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket: "my-docs" }));
    const keys = Contents!.map(({ Key }) => Key!);
    const bytesOf = (text: string): Buffer => Buffer.from(text);
    expect(keys).toEqual(keys.toSorted((a, b) => Buffer.compare(bytesOf(a), bytesOf(b))));
    expect(keys).toHaveLength(5);
    for (const key of keys) {
      const name = Object.keys(files).find((each) => key.endsWith(each))!;
      expect(await textOf(s3, "my-docs", key)).toBe(files[name]!);
    }
    const metrics = await (await fetch(`${gateway.endpoint}/metrics`)).text();
    expect(metrics).toMatch(/backend_requests_total\{call="get[^"]*",outcome="ok"\} [1-9]/u);
    expect(metrics).toContain("idk_gateway_buffer_bytes 167772160\n");
    expect(await (await fetch(`${gateway.endpoint}/readyz`)).text()).toBe("ok\n");
    const large = keys.find((key) => key.endsWith("large.bin"))!;
    expect(await textOf(s3, "my-docs", large, "bytes=1999999-2000002")).toBe("9012");
    for (const send of [
      async () => s3.send(new PutObjectCommand({ Bucket: "my-docs", Key: "x", Body: "" })),
      async () => s3.send(new DeleteObjectCommand({ Bucket: "my-docs", Key: large })),
      async () => s3.send(new CreateBucketCommand({ Bucket: "new-bucket" })),
    ]) {
      expect((await refusal(send()))[1]).toContain("snapshot");
    }
  });
});

describe("idk gateway", () => {
  test("checks, collects, exports, and rebuilds a lost catalog", async () => {
    const shared = ["--store", home.path("maintained"), "--catalog", home.path("catalog.sqlite")];
    await Bun.$`mkdir ${home.path("maintained")}`;
    await using gateway = await home.serve(...shared);
    const s3 = clientOf(gateway);
    await s3.send(new CreateBucketCommand({ Bucket: "main" }));
    for (const Key of ["a", "b", "ü"]) {
      await s3.send(new PutObjectCommand({ Bucket: "main", Key, Body: `content of ${Key}` }));
    }
    await s3.send(new DeleteObjectCommand({ Bucket: "main", Key: "b" }));
    await gateway.stop();
    const gatewayCommand = async (...args: string[]) => home.idk("gateway", ...args, ...shared);

    expect(await gatewayCommand("check", "--deep")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("checked 2 objects: no problems found"),
    });
    expect(await gatewayCommand("gc")).toMatchObject({ code: 0 });
    const exported = await gatewayCommand("export");
    const lines = exported.stdout.trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { key: string }).key)).toEqual(["a", "ü"]);

    const again = ["--store", home.path("maintained"), "--catalog", home.path("again.sqlite")];
    const missing = await home.idk("gateway", "check", ...again);
    expect([missing.code, missing.stderr]).toEqual([3, expect.stringContaining("gateway rebuild")]);
    for (const [index, flags] of [[], ["--all"]].entries()) {
      const place = home.path(`again-${index}.sqlite`);
      const rebuilt = await home.idk("gateway", "rebuild", ...flags, ...again.slice(0, 3), place);
      expect(rebuilt).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("rebuilt 1 bucket with 2 objects"),
      });
      const copy = await home.idk("gateway", "export", ...again.slice(0, 3), place);
      expect(copy.stdout).toBe(exported.stdout);
    }
    expect(await readFile(home.path("catalog.sqlite"))).not.toBeEmpty();
  });
});
