/** `idk bench` over stores that differ from a plain MinIO bucket, as a child process. */
import {
  ListObjectVersionsCommand,
  PutBucketEncryptionCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { type Report, type SuiteResult, reportSchema } from "@idk/bench";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type B2RulesProxy, b2RulesProxy } from "../servers/b2-rules-proxy.ts";
import { makeCertificate } from "../servers/certificate.ts";
import { requireServer, skipIfMissing } from "../servers/require-server.ts";
import { type Bucket, REGION, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type ServerProcess, installedServers, startServer } from "../servers/server-process.ts";

setDefaultTimeout(90_000);

const main = join(import.meta.dir, "../../packages/bench/src/main.ts");

/** Runs suites with small contents and few rounds. The environment has nothing but the given variables. */
async function bench(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; report: Report | undefined; stderr: string; printed: string }> {
  const child = Bun.spawn(
    [process.execPath, main, ...args, "--quick", "--size", "64K", "--json", "-"],
    { env: { PATH: process.env["PATH"], ...env }, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const report = stdout === "" ? undefined : reportSchema.parse(JSON.parse(stdout));
  return { code, report, stderr, printed: stdout + stderr };
}

function suiteIn(report: Report | undefined, name: string): SuiteResult {
  const found = report?.suites.find(({ suite }) => suite === name);
  if (found === undefined) throw new Error(`there are no results of ${name}`);
  return found;
}

async function versionsIn(client: S3Client, Bucket: string): Promise<string[]> {
  const { Versions = [], DeleteMarkers = [] } = await client.send(
    new ListObjectVersionsCommand({ Bucket }),
  );
  return [...Versions, ...DeleteMarkers].map(({ Key = "" }) => Key);
}

/** Makes the bucket encrypt every upload with keys of the server. */
async function encryptByDefault(client: S3Client, Bucket: string): Promise<void> {
  const ServerSideEncryptionConfiguration = {
    Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" as const } }],
  };
  await client.send(new PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration }));
}

requireServer("minio")("suites over B2's rules", () => {
  let bucket: Bucket;
  let proxy: B2RulesProxy;
  let folder: string;
  const file = () => join(folder, "b2.env");

  beforeAll(async () => {
    bucket = await newBucket(minioServer(), { versioning: true });
    proxy = b2RulesProxy(bucket.server.endpoint);
    folder = await mkdtemp(join(tmpdir(), "idk-bench-b2-"));
    const { accessKeyId, secretAccessKey } = bucket.server;
    const lines = [
      "# The bucket of the tests",
      `export B2_ACCESS_KEY_ID='${accessKeyId}'`,
      `B2_SECRET_ACCESS_KEY="${secretAccessKey}"`,
      `B2_ENDPOINT=${proxy.endpoint}`,
      `B2_REGION=${proxy.region}`,
      `B2_BUCKET=${bucket.name}`,
      `TEST_KEY=${formatIdentity(await generateIdentity())}`,
    ];
    await writeFile(file(), lines.join("\n"));
    await chmod(file(), 0o600);
  });
  afterAll(async () => {
    await proxy.stop();
    await bucket.remove();
    await rm(folder, { recursive: true });
  });

  test("send no checksum headers, and leave no version behind", async () => {
    proxy.slowDown(1, 0);
    const suites = ["sse-overhead", "encryption-perf"];
    const args = [...suites, "--store", "b2://", "--env-file", file()];
    const { code, report, stderr, printed } = await bench(args);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("FAILED")]);
    for (const suite of suites) expect(suiteIn(report, suite).status).toBe("completed");
    const { notes, measurements, targets } = suiteIn(report, "sse-overhead");
    expect(measurements.map(({ name, table }) => [table, name])).toEqual([
      ["uploads", "upload, plain 64 KiB"],
      ["uploads", "upload, SSE 64 KiB"],
      ["downloads", "download, plain 64 KiB"],
      ["downloads", "download, SSE 64 KiB"],
    ]);
    expect(targets.map(({ name }) => name)).toEqual([
      "upload 64 KiB: SSE beyond 1.25 × plain",
      "download 64 KiB: SSE beyond 1.25 × plain",
      "objects left behind",
    ]);
    expect(notes[0]).toContain("a HEAD request for each object checks this");
    expect(await versionsIn(bucket.client, bucket.name)).toEqual([]);
    expect(printed).not.toContain(bucket.server.secretAccessKey);
  });

  test("say why nothing can be compared in a bucket that encrypts everything, without TLS", async () => {
    const encrypted = await newBucket(minioServer(), { versioning: true });
    await encryptByDefault(encrypted.client, encrypted.name);
    try {
      const args = ["sse-overhead", "--store", `b2://${encrypted.name}`, "--env-file", file()];
      const { code, report } = await bench(args);
      const { reason } = suiteIn(report, "sse-overhead");
      expect([code, reason]).toEqual([
        1,
        expect.stringContaining("encrypts every upload (AES256)"),
      ]);
      expect(reason).toContain("SSE-C sends its key with every request");
      expect(await versionsIn(encrypted.client, encrypted.name)).toEqual([]);
    } finally {
      await encrypted.remove();
    }
  });
});

requireServer("minio")("sse-overhead in a bucket that encrypts every upload", () => {
  test("measures a managed key without TLS", async () => {
    const bucket = await newBucket(minioServer());
    await encryptByDefault(bucket.client, bucket.name);
    try {
      const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
      const store = `s3://${bucket.name}?endpoint=${endpoint}&region=${REGION}`;
      const { code, report } = await bench(["sse-overhead", "--store", store], {
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
      });
      expect(code).toBe(0);
      const { pairs, notes } = suiteIn(report, "sse-overhead");
      expect(pairs.map(({ name }) => name)).toEqual([
        "upload 64 KiB: SSE-KMS to default",
        "download 64 KiB: SSE-KMS to default",
      ]);
      expect(notes[0]).toContain("this bucket encrypts every upload (AES256)");
      expect(await versionsIn(bucket.client, bucket.name)).toEqual([]);
    } finally {
      await bucket.remove();
    }
  });
});

const missing = [
  ...(installedServers().includes("minio") ? [] : ["executable of MinIO"]),
  ...(Bun.which("openssl") === null ? ["openssl"] : []),
];

skipIfMissing(missing)("sse-overhead over TLS", () => {
  let folder: string;
  let server: ServerProcess;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "idk-bench-tls-"));
    await makeCertificate(folder);
    const key = `idk:${randomBytes(32).toString("base64")}`;
    server = await startServer("minio", {
      certificate: folder,
      env: { MINIO_KMS_SECRET_KEY: key },
    });
  });
  afterAll(async () => {
    await server.remove();
    await rm(folder, { recursive: true });
  });

  test("measures SSE-C in a bucket that encrypts every upload", async () => {
    const { endpoint, accessKeyId, secretAccessKey } = server;
    const env = {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      NODE_EXTRA_CA_CERTS: join(folder, "public.crt"),
    };
    const store = `s3://attic?endpoint=${endpoint}&region=${REGION}`;
    // This process does not trust the certificate, so another one creates the bucket.
    const script = `
      const { S3Client, CreateBucketCommand, PutBucketEncryptionCommand } = await import("@aws-sdk/client-s3");
      const client = new S3Client({ endpoint: ${JSON.stringify(endpoint)}, region: "${REGION}", forcePathStyle: true });
      await client.send(new CreateBucketCommand({ Bucket: "attic" }));
      const Rules = [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } }];
      await client.send(new PutBucketEncryptionCommand({ Bucket: "attic", ServerSideEncryptionConfiguration: { Rules } }));`;
    const created = Bun.spawn([process.execPath, "-e", script], {
      cwd: import.meta.dir,
      env: { PATH: process.env["PATH"], ...env },
    });
    expect(await created.exited).toBe(0);
    const { code, report, stderr } = await bench(["sse-overhead", "--store", store], env);
    expect([code, stderr]).toEqual([0, expect.stringContaining("completed")]);
    expect(suiteIn(report, "sse-overhead").pairs.map(({ name }) => name)).toEqual([
      "upload 64 KiB: SSE-C to default",
      "download 64 KiB: SSE-C to default",
    ]);
  });
});
