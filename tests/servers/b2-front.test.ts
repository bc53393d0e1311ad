import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { type B2Front, b2Front } from "./b2-front.ts";
import { type Bucket, minioServer, newBucket } from "./s3-servers.ts";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { needs } from "./needs.ts";

needs("minio")("the front that behaves like B2", () => {
  let bucket: Bucket;
  let front: B2Front;
  let client: S3Client;
  const body = new Uint8Array([1, 2, 3]);

  const clientFor = (region: string, checksums: "WHEN_REQUIRED" | "WHEN_SUPPORTED"): S3Client =>
    new S3Client({
      endpoint: front.endpoint,
      region,
      credentials: minioServer(),
      forcePathStyle: true,
      maxAttempts: 1,
      requestChecksumCalculation: checksums,
      responseChecksumValidation: checksums,
    });

  const refusal = async (doing: Promise<unknown>): Promise<unknown> =>
    doing.then(
      () => "accepted",
      (error: Error & { $metadata?: { httpStatusCode?: number } }) => [
        error.$metadata?.httpStatusCode,
        error.name,
      ],
    );

  beforeAll(async () => {
    bucket = await newBucket(minioServer(), { versioning: true });
    front = b2Front(bucket.server.endpoint);
    client = clientFor(front.region, "WHEN_REQUIRED");
  });

  afterAll(async () => {
    client.destroy();
    await front.stop();
    await bucket.remove();
  });

  test("stores and gives back, and counts", async () => {
    const object = { Bucket: bucket.name, Key: "plain" };
    const puts = front.count("PUT");
    const large = new Uint8Array(5_000_000).fill(7);
    await client.send(new PutObjectCommand({ ...object, Body: large }));
    const { ContentLength } = await client.send(new HeadObjectCommand(object));
    expect(ContentLength).toBe(large.length);
    const { Body } = await client.send(new GetObjectCommand(object));
    expect(Buffer.from(await Body!.transformToByteArray()).equals(large)).toBe(true);
    expect(front.count("PUT")).toBe(puts + 1);
  });

  test("knows no conditional writes", async () => {
    const put = { Bucket: bucket.name, Key: "conditional", Body: body };
    for (const condition of [{ IfNoneMatch: "*" }, { IfMatch: '"0"' }]) {
      const answer = refusal(client.send(new PutObjectCommand({ ...put, ...condition })));
      expect(await answer).toEqual([501, "NotImplemented"]);
    }
  });

  test("refuses checksum headers", async () => {
    const checking = clientFor(front.region, "WHEN_SUPPORTED");
    const put = new PutObjectCommand({ Bucket: bucket.name, Key: "sum", Body: body });
    expect(await refusal(checking.send(put))).toEqual([400, "InvalidRequest"]);
    checking.destroy();
  });

  test("takes only its own region", async () => {
    const stranger = clientFor("eu-central-003", "WHEN_REQUIRED");
    const get = new GetObjectCommand({ Bucket: bucket.name, Key: "plain" });
    expect(await refusal(stranger.send(get))).toEqual([403, "SignatureDoesNotMatch"]);
    stranger.destroy();
  });

  test("hides on delete, and removes by version", async () => {
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

  test("tells to slow down as often as it is set to", async () => {
    front.slowDown(2, 0);
    const get = new GetObjectCommand({ Bucket: bucket.name, Key: "plain" });
    expect(await refusal(client.send(get))).toEqual([503, "SlowDown"]);
    const bare = await fetch(front.endpoint);
    expect([bare.status, bare.headers.get("retry-after")]).toEqual([503, "0"]);
    expect(await refusal(client.send(get))).toBe("accepted");
  });
});
