import { afterAll, beforeAll, test } from "bun:test";
import { b2RulesProxy, type B2RulesProxy } from "../../../../../tests/servers/b2-rules-proxy.ts";
import { requireServer } from "../../../../../tests/servers/require-server.ts";
import {
  type Bucket,
  minioServer,
  newBucket,
  REGION,
  type S3Server,
  versitygwServer,
} from "../../../../../tests/servers/s3-servers.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { b2 } from "../../../src/backend/b2.ts";
import { minio } from "../../../src/backend/minio.ts";
import { s3 } from "../../../src/backend/s3.ts";
import { withRetry } from "../../../src/backend/retry.ts";
import { backendConformance } from "../../../src/testing/index.ts";

const MORE_THAN_A_PAGE = 1100;

/** Runs all cases in one bucket, each under its own prefix, so that they also have neighbours. */
function conforms(
  bucketOn: () => Promise<Bucket>,
  open: (bucket: Bucket, prefix: string) => Backend,
  listed = MORE_THAN_A_PAGE,
): void {
  let bucket: Bucket;
  let count = 0;
  beforeAll(async () => {
    bucket = await bucketOn();
  });
  afterAll(async () => {
    await bucket.remove();
  }, 60_000);
  const fixture = () => {
    count += 1;
    const prefix = `case ${count}`;
    // Servers sometimes respond with 500, mostly if writers race. Retries are short, because an
    // upload with a wrong hash also fails with a transient error.
    const handle = () => withRetry(open(bucket, prefix), { budgetMs: 2000, firstDelayMs: 50 });
    return { backend: handle(), reopen: handle };
  };
  for (const { name, run } of backendConformance({ open: fixture, listed }))
    test(name, run, 60_000);
}

function overS3(bucket: Bucket, prefix: string): Backend {
  const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
  return s3({
    bucket: bucket.name,
    prefix,
    endpoint,
    region: REGION,
    credentials: { accessKeyId, secretAccessKey },
  });
}

requireServer("minio")("s3 on MinIO", () => {
  conforms(() => newBucket(minioServer()), overS3);
});

requireServer("minio")("s3 on MinIO with versions", () => {
  conforms(() => newBucket(minioServer(), { versioning: true }), overS3, 50);
});

requireServer("versitygw")("s3 on versitygw", () => {
  conforms(() => newBucket(versitygwServer()), overS3);
});

requireServer("versitygw")("s3 on versitygw with versions", () => {
  conforms(() => newBucket(versitygwServer(), { versioning: true }), overS3, 50);
});

requireServer("minio")("minio on MinIO", () => {
  conforms(
    () => newBucket(minioServer()),
    ({ name, server }, prefix) =>
      minio({
        bucket: name,
        prefix,
        endpoint: server.endpoint,
        accessKey: server.accessKeyId,
        secretKey: server.secretAccessKey,
        encryption: { type: "AES256" },
      }),
    50,
  );
});

/** Runs the cases on a server behind a proxy that behaves like B2. */
function conformsAsB2(serverOf: () => S3Server, region?: string): void {
  let front: B2RulesProxy;
  let server: S3Server;
  beforeAll(() => {
    server = serverOf();
    front = b2RulesProxy(server.endpoint, region === undefined ? {} : { region });
  });
  afterAll(() => front.stop());
  conforms(
    () => newBucket(serverOf(), { versioning: true }),
    ({ name }, prefix) =>
      b2({
        bucket: name,
        prefix,
        endpoint: front.endpoint,
        region: front.region,
        keyId: server.accessKeyId,
        applicationKey: server.secretAccessKey,
      }),
    50,
  );
}

requireServer("minio")("b2 on MinIO behind a B2-like proxy", () => conformsAsB2(minioServer));

// versitygw accepts signatures for its own region only.
requireServer("versitygw")("b2 on versitygw behind a B2-like proxy", () =>
  conformsAsB2(versitygwServer, REGION),
);
