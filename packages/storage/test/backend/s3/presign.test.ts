import { expect, setSystemTime, test } from "bun:test";
import { S3Client } from "@aws-sdk/client-s3";
import { b2 } from "../../../src/backend/b2.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { filesystem } from "../../../src/backend/filesystem.ts";
import { memory } from "../../../src/backend/memory.ts";
import { minio } from "../../../src/backend/minio.ts";
import { type Credentials, s3, type Timeouts } from "../../../src/backend/s3.ts";
import { rejects } from "../rejects.ts";

const NAME = "ab".repeat(32);
const WEEK = 7 * 24 * 60 * 60;
const NOW = "2026-01-02T03:04:05.678Z";

const aws = (credentials: Partial<Credentials> = {}, prefix = "a b/ü~'"): Backend => {
  const keys = { accessKeyId: "AKIA", secretAccessKey: "secret", ...credentials };
  return s3({ bucket: "files", prefix, region: "eu-central-1", credentials: keys });
};

/** Signs the URL again with the SDK's own signer. */
async function signedBySdk(url: string, sessionToken?: string): Promise<string> {
  const { hostname, host, pathname, searchParams } = new URL(url);
  const region = searchParams.get("X-Amz-Credential")!.split("/")[2]!;
  const [accessKeyId = ""] = searchParams.get("X-Amz-Credential")!.split("/");
  const keys = { accessKeyId, secretAccessKey: "secret", sessionToken };
  const { config } = new S3Client({ region, credentials: keys as never });
  const properties = { signingName: "s3", signingRegion: region, properties: {} };
  const signer = await config.signer({ name: "sigv4", ...properties });
  const request = { method: "GET", protocol: "https:", hostname, path: pathname, query: {} };
  const headers = { host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };
  const presign = (signer as unknown as { presign: Presign }).presign.bind(signer);
  const signed = await presign(
    { ...request, headers },
    {
      signingDate: new Date(NOW),
      expiresIn: Number(searchParams.get("X-Amz-Expires")),
      unhoistableHeaders: new Set(["x-amz-content-sha256"]),
      unsignableHeaders: new Set(["x-amz-content-sha256"]),
    },
  );
  return signed.query["X-Amz-Signature"]!;
}

type Presign = (
  request: object,
  options: object,
) => Promise<{ readonly query: Record<string, string> }>;

test.each([undefined, "a token/with+characters=="])(
  "URLs are signed as the SDK signs them",
  async (sessionToken) => {
    setSystemTime(new Date(NOW));
    try {
      const reads = await aws({ sessionToken }).presign!({ expiresIn: 3600 });
      const url = reads.urlOf(NAME);
      expect(url).toStartWith(
        `https://files.s3.eu-central-1.amazonaws.com/a%20b/%C3%BC~%27/${NAME}?X-Amz-Algorithm=`,
      );
      expect(new URL(url).searchParams.get("X-Amz-Signature")).toBe(
        await signedBySdk(url, sessionToken),
      );
      expect(reads.expires.toISOString()).toBe("2026-01-02T04:04:05.000Z");
      expect(reads.temporary).toBe(sessionToken !== undefined);
    } finally {
      setSystemTime();
    }
  },
);

test("minio and b2 put the bucket into the path", async () => {
  const server = minio({
    bucket: "files",
    endpoint: "https://minio.example:9000",
    accessKey: "key",
    secretKey: "secret",
  });
  const bucket = b2({ bucket: "files", region: "us-east-005", keyId: "key", applicationKey: "k" });
  const start = async (backend: Backend): Promise<string> =>
    (await backend.presign!({ expiresIn: WEEK })).urlOf(NAME).split("?")[0]!;
  expect(await start(server)).toBe(`https://minio.example:9000/files/${NAME}`);
  expect(await start(bucket)).toBe(`https://s3.us-east-005.backblazeb2.com/files/${NAME}`);
});

test("URLs expire with temporary credentials that expire earlier", async () => {
  const soon = new Date(Date.now() + 10 * 60_000);
  const reads = await aws({ sessionToken: "t", expiration: soon }).presign!({ expiresIn: WEEK });
  expect(reads.expires.getTime()).toBeLessThanOrEqual(soon.getTime());
  expect(reads.expires.getTime()).toBeGreaterThan(soon.getTime() - 3000);
  const seconds = Number(new URL(reads.urlOf(NAME)).searchParams.get("X-Amz-Expires"));
  expect(seconds).toBeLessThanOrEqual(600);
});

test("credentials that have expired are refused", async () => {
  const backend = aws({ sessionToken: "t", expiration: new Date(Date.now() - 500) });
  const made = backend.presign!({ expiresIn: WEEK });
  expect(await made.catch((error: unknown) => error)).toMatchObject({
    code: "permission",
    message: expect.stringMatching(/expired at 20\S+Z; sign in again/u) as string,
  });
});

test.each([0, -1, 1.5, Number.NaN, WEEK + 1])(
  "a time of %p seconds is refused",
  async (expiresIn) => {
    const made = aws().presign!({ expiresIn });
    expect(await made.catch((error: unknown) => error)).toMatchObject({ code: "usage" });
  },
);

test("SSE-C is refused, with the reason", async () => {
  const encryption = { type: "SSE-C", key: new Uint8Array(32) } as const;
  const credentials = { accessKeyId: "AKIA", secretAccessKey: "secret" };
  const backend = s3({ bucket: "files", region: "eu-central-1", credentials, encryption });
  const made = backend.presign!({ expiresIn: 60 });
  expect(await made.catch((error: unknown) => error)).toMatchObject({
    code: "usage",
    message: expect.stringContaining("SSE-C") as string,
  });
});

test("a name that is not a blob's is refused", async () => {
  const reads = await aws().presign!({ expiresIn: 60 });
  expect(() => reads.urlOf("../secret")).toThrow("64 lowercase hexadecimal digits");
});

test("folders and memory have no such URLs", () => {
  expect(memory().presign).toBeUndefined();
  expect(filesystem("/nowhere").presign).toBeUndefined();
});

test("a wait for credentials ends with the signal, or after a while", async () => {
  const waiting = (timeouts?: Timeouts): Backend =>
    s3({
      bucket: "files",
      region: "eu-central-1",
      credentials: () => new Promise<never>(() => {}),
      ...(timeouts && { timeouts }),
    });
  const controller = new AbortController();
  const aborted = waiting().presign!({ expiresIn: 60, signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  await rejects(aborted, "aborted", "");
  await rejects(
    waiting({ firstByte: 50 }).presign!({ expiresIn: 60 }),
    "unavailable",
    "cannot presign URLs of files",
  );
});
