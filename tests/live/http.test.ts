import { afterAll, beforeAll, expect, test } from "bun:test";
import { http } from "@idk/storage/http";
import { s3 } from "@idk/storage/s3";
import { type Backend, withRetry, wrapBackend } from "@idk/storage";
import { backendConformance } from "@idk/storage/testing";
import { Client } from "minio";
import { requireServer } from "../servers/require-server.ts";
import { type Bucket, minioServer, newBucket, REGION } from "../servers/s3-servers.ts";

const NAME = "ab".repeat(32);

requireServer("minio")("over presigned URLs of MinIO", () => {
  let bucket: Bucket;
  let client: Client;
  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
    const { hostname, port, protocol } = new URL(endpoint);
    client = new Client({
      endPoint: hostname,
      port: Number(port),
      useSSL: protocol === "https:",
      region: REGION,
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
    });
  });
  afterAll(() => bucket.remove(), 60_000);

  function presigned(prefix: string): Backend {
    return http({
      sign: (name, method) => client.presignedUrl(method, bucket.name, `${prefix}/${name}`, 60),
    });
  }

  let count = 0;
  function fixture() {
    count += 1;
    const prefix = `case-${count}`;
    const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
    const credentials = { accessKeyId, secretAccessKey };
    const listed = s3({ bucket: bucket.name, prefix, endpoint, region: REGION, credentials });
    // HTTP has no listing, so the suite lists through the S3 backend.
    const reopen = () =>
      withRetry(wrapBackend(presigned(prefix), { list: () => listed.list }), {
        budgetMs: 500,
        firstDelayMs: 50,
      });
    return { backend: reopen(), reopen, cleanup: () => listed.close?.() };
  }
  for (const { name, run } of backendConformance({ open: fixture, listed: 50 }))
    test(name, run, 60_000);

  test("an expired URL is reported as such", async () => {
    await presigned("expired").put(NAME, new Uint8Array(10));
    const url = await client.presignedUrl("GET", bucket.name, `expired/${NAME}`, 1);
    await Bun.sleep(2100);
    const late = http({ sign: () => url });
    const failure = await late.get(NAME, new Uint8Array(10)).catch((error) => error);
    expect([failure.code, failure.transient]).toEqual(["permission", false]);
    expect(failure.message).toContain("the signed URL has expired");
    expect(failure.message).not.toContain("X-Amz");
  });

  test("a URL that is signed for another method is reported as such", async () => {
    const url = await client.presignedUrl("GET", bucket.name, `other/${NAME}`, 60);
    const failure = await http({ sign: () => url })
      .put(NAME, new Uint8Array(10))
      .catch((error) => error);
    expect([failure.code, failure.message]).toEqual([
      "permission",
      expect.stringContaining("the signature does not match the request; sign PUT"),
    ]);
  });
});
