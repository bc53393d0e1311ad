import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type BucketAccess, openBackend, storeOver } from "./stores.ts";
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  setSystemTime,
  test,
} from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { missingPython, s3Tool } from "./python/run.ts";
import { skipIfMissing, requireServer } from "../servers/require-server.ts";
import { MiB } from "./content.ts";
import { withRetry } from "@idk/storage";
import { z } from "zod";

setDefaultTimeout(90_000);

const ADAPTERS = ["s3", "minio", "b2"] as const;
const DEADLINE = 10_000;

/** Permanent errors: the retry decorator is there to show that it does not retry them. */
requireServer("minio")("a server that rejects requests", () => {
  let bucket: Bucket;
  let where: BucketAccess;
  let address: string;

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    where = { endpoint: bucket.server.endpoint, bucket: bucket.name, keys: bucket.server };
    await using store = storeOver(openBackend.s3(where));
    address = await store.put("stored before");
  });
  afterAll(() => bucket.remove());

  /** The failures of get, has, list, put and delete on one store, in this order. */
  const attempts = async (adapter: (typeof ADAPTERS)[number], given: Partial<BucketAccess>) => {
    await using store = storeOver(withRetry(openBackend[adapter]({ ...where, ...given })));
    const failures = [];
    for (const work of [
      () => store.get(address),
      () => store.has(address),
      () => Array.fromAsync(store.list()),
      () => store.put("new"),
      () => store.delete("0".repeat(64)),
    ]) {
      failures.push(await within(DEADLINE, work.toString(), failureOf(work())));
    }
    return failures;
  };

  describe.each(ADAPTERS)("%s", (adapter) => {
    test("reports a wrong secret key", async () => {
      const { accessKeyId } = bucket.server;
      const keys = { accessKeyId, secretAccessKey: "not-the-secret-key-of-this-server" };
      for (const failure of await attempts(adapter, { keys })) {
        expect(failure).toMatchObject({ code: "permission", transient: false });
        expect(failure!.message).not.toContain(keys.secretAccessKey);
      }
    });

    test("reports an unknown access key", async () => {
      const keys = { accessKeyId: "nobody", secretAccessKey: "0".repeat(40) };
      for (const failure of await attempts(adapter, { keys })) {
        expect(failure).toMatchObject({ code: "permission", transient: false });
      }
    });

    test("reports a missing bucket", async () => {
      const missing = "idk-test-no-such-bucket";
      for (const failure of await attempts(adapter, { bucket: missing })) {
        expect(failure).toMatchObject({ code: "unavailable", transient: false });
        expect(failure!.message).toContain(missing);
      }
    });

    test("reports a wrong clock", async () => {
      for (const hours of [-2, 2]) {
        setSystemTime(new Date(Date.now() + hours * 3_600_000));
        try {
          for (const failure of await attempts(adapter, {})) {
            expect(failure).toMatchObject({ code: "permission", transient: false });
            expect(failure!.message).toContain("the clock of this machine is");
          }
        } finally {
          setSystemTime();
        }
      }
    });
  });

  skipIfMissing(missingPython)("by policy or quota", () => {
    const Keys = z.object({
      accessKeyId: z.string(),
      secretAccessKey: z.string(),
      sessionToken: z.string(),
    });

    test("denies writes and allows reads", async () => {
      const resource = `arn:aws:s3:::${bucket.name}`;
      const policy = {
        Version: "2012-10-17",
        Statement: [
          {
            Effect: "Allow",
            Action: ["s3:GetObject", "s3:ListBucket"],
            Resource: [resource, `${resource}/*`],
          },
        ],
      };
      const credentials = await s3Tool(bucket.server, "assume-role", JSON.stringify(policy));
      const [get, has, list, ...writing] = await attempts("s3", { keys: Keys.parse(credentials) });
      expect([get, has, list]).toEqual([undefined, undefined, undefined]);
      for (const failure of writing) {
        expect(failure).toMatchObject({ code: "permission", transient: false });
      }
    });

    test("rejects a put over the bucket's quota", async () => {
      const full = await newBucket(minioServer());
      try {
        await using store = storeOver(withRetry(openBackend.s3({ ...where, bucket: full.name })));
        const small = await store.put("fits");
        await s3Tool(full.server, "quota", full.name, String(MiB));
        const put = failureOf(store.put(new Uint8Array(8 * MiB)));
        expect(await within(DEADLINE, "put", put)).toMatchObject({
          code: "unavailable",
          transient: false,
        });
        expect(await (await store.get(small)).text()).toBe("fits");
      } finally {
        await full.remove();
      }
    });
  });
});
