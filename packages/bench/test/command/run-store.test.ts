import { randomBytes } from "node:crypto";
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  HeadBucketCommand,
  ListObjectVersionsCommand,
  ListObjectsV2Command,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openRunStore } from "../../src/command/run-store.ts";
import type { ObjectStoreAccess } from "../../src/suite.ts";
import { bench, fakeSuite } from "./fake-context.ts";

const given = process.env["IDK_TEST_MINIO"];
if (given) describe("openRunStore", () => tests(new URL(given)));
else if (process.env["CI"]) throw new Error("IDK_TEST_MINIO is not set: script/minio starts one");
else test.skip("openRunStore: no MinIO (script/minio run COMMAND… starts one)", () => {});

function tests(url: URL): void {
  const server = {
    endpoint: url.origin,
    region: "us-east-1",
    accessKeyId: decodeURIComponent(url.username),
    secretAccessKey: decodeURIComponent(url.password),
  };
  const env = {
    MINIO_ENDPOINT: server.endpoint,
    MINIO_ACCESS_KEY: server.accessKeyId,
    MINIO_SECRET_KEY: server.secretAccessKey,
  };
  const client = new S3Client({ ...server, credentials: server, forcePathStyle: true });
  const bucket = `idk-test-${randomBytes(8).toString("hex")}`;
  const put = ({ bucket: Bucket, prefix }: ObjectStoreAccess, name: string) =>
    client.send(new PutObjectCommand({ Bucket, Key: `${prefix}${name}`, Body: "x" }));
  const keys = async (): Promise<string[]> => {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    return Contents.map(({ Key }) => Key!);
  };

  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    await put({ ...server, bucket, prefix: "" }, "other/theirs");
  });
  afterAll(async () => {
    for (const Key of await keys()) {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
    }
    await client.send(new DeleteBucketCommand({ Bucket: bucket }));
    client.destroy();
  });

  test("uses a new prefix in a given bucket, and removes nothing else", async () => {
    const access = { ...server, bucket, prefix: "other/" };
    const store = await openRunStore({ kind: "bucket", access }, "deeper/");
    expect(store.access.prefix).toMatch(/^other\/deeper\/idk-bench-[0-9a-f]{12}\/$/u);
    await put(store.access, "a");
    await put(store.access, "b/c");
    expect((await keys()).length).toBe(3);
    await store.close();
    expect(await keys()).toEqual(["other/theirs"]);
  });

  test("creates and deletes a bucket on a given server", async () => {
    const store = await openRunStore({ kind: "server", server });
    await put(store.access, "left behind");
    await store.close();
    const gone = client.send(new HeadBucketCommand({ Bucket: store.access.bucket }));
    expect(await gone.catch((error: Error) => error.name)).toBe("NotFound");
  });

  test("removes all versions of what is left on B2, which keeps them", async () => {
    const Bucket = `${bucket}-b2`;
    await client.send(new CreateBucketCommand({ Bucket }));
    const VersioningConfiguration = { Status: "Enabled" as const };
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
    const access = { ...server, bucket: Bucket, prefix: "", provider: "b2" as const };
    const store = await openRunStore({ kind: "bucket", access });
    await put(store.access, "twice");
    await put(store.access, "twice");
    await put(store.access, "hidden");
    const Key = `${store.access.prefix}hidden`;
    await client.send(new DeleteObjectCommand({ Bucket, Key }));
    await store.close();
    const { Versions, DeleteMarkers } = await client.send(
      new ListObjectVersionsCommand({ Bucket }),
    );
    expect([Versions, DeleteMarkers]).toEqual([undefined, undefined]);
    await client.send(new DeleteBucketCommand({ Bucket }));
  });

  test("says what to do if the bucket does not exist", async () => {
    const access = { ...server, bucket: `${bucket}-no`, prefix: "" };
    const opened = openRunStore({ kind: "bucket", access });
    expect(await opened.catch((error: Error) => error.message)).toContain("idk store init");
  });

  test("is passed to suites, and is removed when they fail", async () => {
    const stores: ObjectStoreAccess[] = [];
    const leaves = fakeSuite("leaves", {
      needsObjectStore: true,
      run: async ({ store }) => {
        stores.push(store!);
        await put(store!, "left behind");
        throw new Error("in the middle of it");
      },
    });
    const args = ["--store", `minio:///${bucket}`, "--prefix", "p"];
    for (const flags of [args, []]) {
      const { code, stdout, stderr } = await bench(flags, { suites: [leaves], env });
      expect([code, stderr]).toEqual([1, expect.not.stringContaining("may be left")]);
      expect(stdout).toContain("in the middle of it");
    }
    expect(stores[0]).toMatchObject({ bucket, prefix: expect.stringMatching(/^p\/idk-bench-/u) });
    expect(stores[1]).toMatchObject({ bucket: expect.stringMatching(/^idk-bench-/u), prefix: "" });
    expect(await keys()).toEqual(["other/theirs"]);
  });
}
