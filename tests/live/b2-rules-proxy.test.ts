import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { type B2RulesProxy, b2RulesProxy } from "../servers/b2-rules-proxy.ts";
import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { requireServer } from "../servers/require-server.ts";

requireServer("minio")("the B2 rules proxy", () => {
  let bucket: Bucket;
  let proxy: B2RulesProxy;
  let client: S3Client;
  const body = new Uint8Array([1, 2, 3]);

  const clientFor = (region: string, checksums: "WHEN_REQUIRED" | "WHEN_SUPPORTED"): S3Client =>
    new S3Client({
      endpoint: proxy.endpoint,
      region,
      credentials: minioServer(),
      forcePathStyle: true,
      maxAttempts: 1,
      requestChecksumCalculation: checksums,
      responseChecksumValidation: checksums,
    });

  const outcome = async (request: Promise<unknown>): Promise<unknown> =>
    request.then(
      () => "accepted",
      (error: Error & { $metadata?: { httpStatusCode?: number } }) => [
        error.$metadata?.httpStatusCode,
        error.name,
      ],
    );

  beforeAll(async () => {
    bucket = await newBucket(minioServer(), { versioning: true });
    proxy = b2RulesProxy(bucket.server.endpoint);
    client = clientFor(proxy.region, "WHEN_REQUIRED");
  });

  afterAll(async () => {
    client.destroy();
    await proxy.stop();
    await bucket.remove();
  });

  test("forwards puts and gets, and counts requests", async () => {
    const object = { Bucket: bucket.name, Key: "plain" };
    const puts = proxy.count("PUT");
    const large = new Uint8Array(5_000_000).fill(7);
    await client.send(new PutObjectCommand({ ...object, Body: large }));
    const { ContentLength } = await client.send(new HeadObjectCommand(object));
    expect(ContentLength).toBe(large.length);
    const { Body } = await client.send(new GetObjectCommand(object));
    expect(Buffer.from(await Body!.transformToByteArray()).equals(large)).toBe(true);
    expect(proxy.count("PUT")).toBe(puts + 1);
  });

  test("rejects conditional writes", async () => {
    const put = { Bucket: bucket.name, Key: "conditional", Body: body };
    for (const condition of [{ IfNoneMatch: "*" }, { IfMatch: '"0"' }]) {
      const response = outcome(client.send(new PutObjectCommand({ ...put, ...condition })));
      expect(await response).toEqual([501, "NotImplemented"]);
    }
  });

  test("rejects checksum headers", async () => {
    const checking = clientFor(proxy.region, "WHEN_SUPPORTED");
    const put = new PutObjectCommand({ Bucket: bucket.name, Key: "sum", Body: body });
    expect(await outcome(checking.send(put))).toEqual([400, "InvalidRequest"]);
    checking.destroy();
  });

  test("accepts signatures for its own region only", async () => {
    const elsewhere = clientFor("eu-central-003", "WHEN_REQUIRED");
    const get = new GetObjectCommand({ Bucket: bucket.name, Key: "plain" });
    expect(await outcome(elsewhere.send(get))).toEqual([403, "SignatureDoesNotMatch"]);
    elsewhere.destroy();
  });

  test("hides an object on a plain delete and removes it on deletes of its versions", async () => {
    const object = { Bucket: bucket.name, Key: "hidden" };
    await client.send(new PutObjectCommand({ ...object, Body: body }));
    await client.send(new DeleteObjectCommand(object));
    const versions = async () => {
      const page = await client.send(
        new ListObjectVersionsCommand({ Bucket: bucket.name, Prefix: object.Key }),
      );
      return [page.Versions ?? [], page.DeleteMarkers ?? []] as const;
    };
    expect((await versions()).map((list) => list.length)).toEqual([1, 1]);
    for (const { VersionId } of (await versions()).flat()) {
      await client.send(new DeleteObjectCommand({ ...object, VersionId }));
    }
    expect((await versions()).map((list) => list.length)).toEqual([0, 0]);
  });

  test("responds SlowDown as many times as it is told to", async () => {
    proxy.slowDown(2, 0);
    const get = new GetObjectCommand({ Bucket: bucket.name, Key: "plain" });
    expect(await outcome(client.send(get))).toEqual([503, "SlowDown"]);
    const bare = await fetch(proxy.endpoint);
    expect([bare.status, bare.headers.get("retry-after")]).toEqual([503, "0"]);
    expect(await outcome(client.send(get))).toBe("accepted");
  });
});
