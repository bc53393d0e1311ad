import { type Bucket, minioServer, newBucket } from "../servers/s3-servers.ts";
import { type Where, openers, storeOver } from "./stores.ts";
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
import { missingPython, s3Tool } from "./python.ts";
import { needing, needs } from "../servers/needs.ts";
import { MiB } from "./content.ts";
import { withRetry } from "@idk/storage";
import { z } from "zod";

setDefaultTimeout(90_000);

const ADAPTERS = ["s3", "minio", "b2"] as const;
const DEADLINE = 10_000;

/** Refusals that no retry helps against: the decorator is there to show that it does not try. */
needs("minio")("a store that refuses", () => {
  let bucket: Bucket;
  let where: Where;
  let address: string;

  beforeAll(async () => {
    bucket = await newBucket(minioServer());
    where = { endpoint: bucket.server.endpoint, bucket: bucket.name, keys: bucket.server };
    await using store = storeOver(openers.s3(where));
    address = await store.put("stored before");
  });
  afterAll(() => bucket.remove());

  /** Get, has, list, put and delete of one store, in this order. */
  const attempts = async (adapter: (typeof ADAPTERS)[number], given: Partial<Where>) => {
    await using store = storeOver(withRetry(openers[adapter]({ ...where, ...given })));
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
    test("a wrong secret key", async () => {
      const { accessKeyId } = bucket.server;
      const keys = { accessKeyId, secretAccessKey: "not-the-secret-key-of-this-server" };
      for (const failure of await attempts(adapter, { keys })) {
        expect(failure).toMatchObject({ code: "permission", transient: false });
        expect(failure!.message).not.toContain(keys.secretAccessKey);
      }
    });

    test("an unknown access key", async () => {
      const keys = { accessKeyId: "nobody", secretAccessKey: "0".repeat(40) };
      for (const failure of await attempts(adapter, { keys })) {
        expect(failure).toMatchObject({ code: "permission", transient: false });
      }
    });

    test("a bucket that does not exist", async () => {
      const missing = "idk-test-no-such-bucket";
      for (const failure of await attempts(adapter, { bucket: missing })) {
        expect(failure).toMatchObject({ code: "unavailable", transient: false });
        expect(failure!.message).toContain(missing);
      }
    });

    test("a clock that is wrong", async () => {
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

  needing(missingPython)("by its policy", () => {
    const Keys = z.object({
      accessKeyId: z.string(),
      secretAccessKey: z.string(),
      sessionToken: z.string(),
    });

    test("writing, while reading works", async () => {
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
      const answer = await s3Tool(bucket.server, "assume-role", JSON.stringify(policy));
      const [get, has, list, ...writing] = await attempts("s3", { keys: Keys.parse(answer) });
      expect([get, has, list]).toEqual([undefined, undefined, undefined]);
      for (const failure of writing) {
        expect(failure).toMatchObject({ code: "permission", transient: false });
      }
    });

    test("more than a bucket may hold", async () => {
      const full = await newBucket(minioServer());
      try {
        await using store = storeOver(withRetry(openers.s3({ ...where, bucket: full.name })));
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
