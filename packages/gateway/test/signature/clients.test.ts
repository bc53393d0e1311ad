import { ACCESS_KEY, SECRET } from "./support.ts";
import { type ClientServer, type Received, startClientServer } from "./client-server.ts";
import {
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client as MinioClient } from "minio";
import { Readable } from "node:stream";
import { createHash } from "node:crypto";
import { splitPath } from "../../src/signature/request.ts";

let server: ClientServer;
beforeAll(async () => {
  server = await startClientServer();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** The only request since. */
function one(): Received {
  const [received, ...others] = server.take();
  expect(others).toEqual([]);
  return received!;
}

function keyOf({ request }: Received): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(splitPath(request.rawPath).rest);
}

/** Keys that clients encode in different ways. */
const KEYS = [
  "plain.txt",
  "a//b/./../c/",
  "/lead",
  "space and+plus&=?#%25",
  "quotes\"'<>",
  "!*'();:@$,[]~",
  "žluťoučký 日本 🦊",
];

const content = Buffer.from("The quick brown fox. ".repeat(10_000));

describe("@aws-sdk/client-s3", () => {
  const client = (): S3Client =>
    new S3Client({
      endpoint: `http://127.0.0.1:${server.port}`,
      forcePathStyle: true,
      region: "us-east-1",
      credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET },
      maxAttempts: 1,
    });

  test.each(KEYS)("puts the key %j", async (key) => {
    await client().send(new PutObjectCommand({ Bucket: "b", Key: key, Body: content }));
    const received = one();
    expect(keyOf(received)).toBe(key);
    expect(received.content.equals(content)).toBe(true);
    expect(Object.keys(received.digests.checksums?.values ?? {})).toEqual(["crc32"]);
  });

  test.each(["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"] as const)(
    "puts a stream with %s in its trailer",
    async (ChecksumAlgorithm) => {
      const pieces = Array.from({ length: 4 }, (_, i) =>
        content.subarray(50_000 * i, 50_000 * (i + 1)),
      );
      const Body = Readable.from(pieces);
      const ContentLength = 200_000;
      const input = { Bucket: "b", Key: "k", Body, ContentLength, ChecksumAlgorithm };
      await client().send(new PutObjectCommand(input));
      const received = one();
      expect(received.content.equals(content.subarray(0, 200_000))).toBe(true);
      expect(received.request.payload.form).toBe("unsigned-chunks");
      const { md5, checksums } = received.digests;
      expect(Buffer.from(md5)).toEqual(createHash("md5").update(received.content).digest());
      expect(Object.keys(checksums?.values ?? {})).toEqual([ChecksumAlgorithm.toLowerCase()]);
    },
  );

  test("gets, lists and puts metadata", async () => {
    const s3 = client();
    await s3.send(new GetObjectCommand({ Bucket: "b", Key: "k", Range: "bytes=0-9" }));
    expect(one().request.headers.get("range")).toBe("bytes=0-9");
    await s3.send(new ListObjectsV2Command({ Bucket: "b", Prefix: "a b/+&", StartAfter: "ž" }));
    const { query } = one().request;
    expect([query.get("prefix"), query.get("start-after")]).toEqual(["a b/+&", "ž"]);
    const Metadata = { spaced: "a   b", other: "x" };
    await s3.send(new PutObjectCommand({ Bucket: "b", Key: "k", Metadata, Body: "" }));
    const { headers } = one().request;
    expect(headers.get("x-amz-meta-spaced")).toBe("a   b");
  });

  test("is refused with another secret", async () => {
    const s3 = new S3Client({
      endpoint: `http://127.0.0.1:${server.port}`,
      forcePathStyle: true,
      region: "us-east-1",
      credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: `${SECRET}x` },
      maxAttempts: 1,
    });
    const sent = s3.send(new PutObjectCommand({ Bucket: "b", Key: "k", Body: content }));
    const error: unknown = await sent.catch((error: unknown) => error);
    expect(error).toMatchObject({ name: "SignatureDoesNotMatch" });
    expect(server.take()).toEqual([]);
  });
});

describe("minio-js", () => {
  const client = (): MinioClient =>
    new MinioClient({
      endPoint: "127.0.0.1",
      port: server.port,
      useSSL: false,
      accessKey: ACCESS_KEY,
      secretKey: SECRET,
      region: "us-east-1",
    });

  test.each(KEYS.filter((key) => !key.includes("..")))("puts the key %j", async (key) => {
    await client().putObject("bucket", key, content, content.length, { "X-Amz-Meta-A": "b  c" });
    const received = one();
    expect(keyOf(received)).toBe(key);
    expect(received.content.equals(content)).toBe(true);
  });

  test("presigns", async () => {
    const url = await client().presignedPutObject("bucket", "a b/ž+", 60);
    const response = await fetch(url, { method: "PUT", body: "text" });
    expect(response.status).toBe(200);
    const received = one();
    expect(keyOf(received)).toBe("a b/ž+");
    expect([received.request.mechanism, received.content.toString()]).toEqual([
      "presigned",
      "text",
    ]);
    const tampered = await fetch(url.replace("a%20b", "a%20c"), { method: "PUT", body: "text" });
    expect(tampered.status).toBe(403);
  });
});

describe("the S3 client of Bun", () => {
  const client = (): Bun.S3Client =>
    new Bun.S3Client({
      endpoint: `http://127.0.0.1:${server.port}`,
      bucket: "b",
      region: "us-east-1",
      accessKeyId: ACCESS_KEY,
      secretAccessKey: SECRET,
    });

  test.each(KEYS.filter((key) => !key.startsWith("/") && !key.endsWith("/")))(
    "puts the key %j",
    async (key) => {
      await client().write(key, content, { type: "text/plain" });
      const received = one();
      expect(keyOf(received)).toBe(key);
      expect(received.content.equals(content)).toBe(true);
    },
  );

  test("presigns", async () => {
    const url = client().presign("a b/ž", { method: "PUT", expiresIn: 60, acl: "private" });
    const response = await fetch(url, { method: "PUT", body: "text" });
    expect(response.status).toBe(200);
    const { request, content } = one();
    // The parameter stands for the header.
    expect(request.headers.get("x-amz-acl")).toBe("private");
    expect(content.toString()).toBe("text");
  });
});
