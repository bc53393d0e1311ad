import { afterAll, beforeAll, test } from "bun:test";
import { b2RulesProxy, type B2RulesProxy } from "../../../../../tests/servers/b2-rules-proxy.ts";
import {
  type Bucket,
  newBucket,
  REGION,
  type S3Server,
} from "../../../../../tests/servers/s3-servers.ts";
import type { Backend } from "../../../src/backend/backend.ts";
import { b2 } from "../../../src/backend/b2.ts";
import { s3 } from "../../../src/backend/s3.ts";
import { withRetry } from "../../../src/backend/retry.ts";
import { backendConformance } from "../../../src/testing/index.ts";

/** The suite over S3 servers, for the test file of each server. */

const MORE_THAN_A_PAGE = 1100;

/** Runs all cases in one bucket, each under its own prefix, so that they also have neighbours. */
export function conforms(
  bucketOn: () => Promise<Bucket>,
  open: (bucket: Bucket, prefix: string) => Backend,
  listed: number = MORE_THAN_A_PAGE,
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
    const handle = () => withRetry(open(bucket, prefix), { budgetMs: 500, firstDelayMs: 50 });
    return { backend: handle(), reopen: handle };
  };
  for (const { name, run } of backendConformance({ open: fixture, listed }))
    test(name, run, 60_000);
}

export function overS3(bucket: Bucket, prefix: string): Backend {
  const { endpoint, accessKeyId, secretAccessKey } = bucket.server;
  return s3({
    bucket: bucket.name,
    prefix,
    endpoint,
    region: REGION,
    credentials: { accessKeyId, secretAccessKey },
  });
}

/** Runs the cases on a server behind a proxy that behaves like B2. */
export function conformsAsB2(serverOf: () => S3Server, region?: string): void {
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
