import { afterEach, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  openSnapshotBucket,
  type SnapshotBucket,
  type SnapshotFile,
} from "../../src/snapshot/open-snapshot-bucket.ts";

const TIME = Date.UTC(2026, 0, 1);
const opened: { readonly served: SnapshotBucket; readonly folder: string }[] = [];

afterEach(async () => {
  for (const { served, folder } of opened.splice(0)) {
    await served.close();
    await rm(folder, { recursive: true });
  }
});

async function open(
  files: () => AsyncIterable<SnapshotFile>,
  region?: string,
): Promise<{ readonly served: SnapshotBucket; readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "idk-snapshot-"));
  const served = await openSnapshotBucket(
    {
      bucket: "web",
      time: TIME,
      region,
      files,
      async *content(path) {
        yield new Uint8Array(path);
      },
    },
    folder,
  );
  opened.push({ served, folder });
  return { served, folder };
}

async function* filesOf(...paths: readonly (string | Uint8Array)[]): AsyncGenerator<SnapshotFile> {
  for (const path of paths) {
    const bytes = Buffer.from(path);
    yield { path: bytes, size: bytes.length, time: TIME, sha256: new Uint8Array(32) };
  }
}

async function keysOf({ catalog }: SnapshotBucket): Promise<readonly string[]> {
  const bucket = await catalog.findBucket("web");
  const { entries } = await catalog.listObjects({
    bucket: bucket!.id,
    prefix: Buffer.of(),
    limit: 100,
  });
  return entries.map(({ key }) => Buffer.from(key).toString());
}

test("files are listed in S3's order, but for those that cannot be keys", async () => {
  const notUtf8 = Buffer.of(0x61, 0xff);
  const paths = ["a/b", "a-b", "\uFEFFmark", "é", "k".repeat(1024)];
  const { served } = await open(() => filesOf(...paths, notUtf8, "k".repeat(1025)));
  expect(await served.listed).toEqual({ files: 5, skipped: 2 });
  const inOrder = paths.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect(await keysOf(served)).toEqual(inOrder);
});

test("the bucket has the region that the gateway has", async () => {
  const regions = [];
  for (const region of [undefined, "eu-test-1"]) {
    const { served } = await open(() => filesOf("a"), region);
    await served.listed;
    regions.push((await served.catalog.findBucket("web"))?.region);
  }
  expect(regions).toEqual(["us-east-1", "eu-test-1"]);
});

test("a file is read as a whole and by ranges", async () => {
  const { served } = await open(() => filesOf("path"));
  await served.listed;
  const bucket = await served.catalog.findBucket("web");
  const object = await served.catalog.openObject(bucket!.id, Buffer.from("path"));
  const pieces = await Array.fromAsync(served.objects.readObject(object!));
  expect(Buffer.concat(pieces).toString()).toBe("path");
});

test("it can be closed while files are listed, and leaves nothing", async () => {
  const first = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<SnapshotFile> {
    for (let index = 0; ; index += 1) {
      yield* filesOf(`${index}`);
      first.resolve();
      await Bun.sleep(1);
    }
  }
  const { served, folder } = await open(endless);
  await first.promise;
  await served.close();
  expect(await served.listed.catch((error: unknown) => error)).toBeInstanceOf(Error);
  expect(await readdir(folder)).toEqual([]);
});

test("an error while files are listed is not lost", async () => {
  async function* broken(): AsyncGenerator<SnapshotFile> {
    yield* filesOf("a");
    throw new Error("the store is gone");
  }
  const { served } = await open(broken);
  expect(await served.listed.catch((error: unknown) => error)).toEqual(
    new Error("the store is gone"),
  );
});
