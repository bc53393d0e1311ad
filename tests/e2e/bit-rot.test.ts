import { type OwnServer, ownServerKinds, startOwnServer } from "../servers/own-server.ts";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { openers, storeOver } from "./stores.ts";
import { MiB, testContent } from "./content.ts";
import { failureOf } from "./outcome.ts";
import { join } from "node:path";
import { memory } from "@idk/storage/memory";
import { needing } from "../servers/needs.ts";
import { newBucket } from "../servers/s3-servers.ts";
import { replicate } from "@idk/storage";
import { tmpdir } from "node:os";

setDefaultTimeout(90_000);

const kinds = ownServerKinds();

/** What reading a blob gives whose bytes have changed on the server's disk. */
const READING = {
  // It checks what it reads, and answers as if it were busy.
  minio: "unavailable",
  versitygw: "address",
} as const;

needing(kinds.length > 0 ? [] : ["MinIO or versitygw whose files can be damaged"])(
  "a byte that changes on the server's disk",
  () => {
    describe.each(kinds)("%s", (kind) => {
      let own: OwnServer;
      let data: string;
      let bucket: string;
      const content = testContent(MiB + 1, 9);
      const dedupSecret = new Uint8Array(32).fill(7);

      beforeAll(async () => {
        data = await mkdtemp(join(tmpdir(), "idk-bit-rot-"));
        own = await startOwnServer(kind, { data });
        bucket = (await newBucket(own)).name;
      });
      afterAll(async () => {
        await own.remove();
        await rm(data, { recursive: true });
      });

      test("is found by reading alone, and mended by removing before putting again", async () => {
        const backend = openers.s3({ endpoint: own.endpoint, bucket, keys: own });
        await using store = storeOver(backend, { chunkSize: MiB / 4, dedupSecret });
        const root = await store.put(content.stream());
        const [chunk = ""] = await Array.fromAsync(store.treeAddresses(root));
        expect(await store.verify(chunk)).toMatchObject({ verifiedByServer: false });
        await flipByte(await fileOf(join(data, "objects", bucket), chunk));

        expect(await store.verify(chunk, { serverChecksums: true })).toMatchObject({
          verifiedByServer: true,
        });
        expect(await failureOf(store.verify(chunk))).toMatchObject({ code: READING[kind] });

        // A copy leaves it out, and brings all the others.
        const failures: string[] = [];
        const report = await replicate(backend, memory(), {
          onFailure: ({ name, error }) => failures.push(`${name} ${error.code}`),
        });
        expect(failures).toEqual([`${chunk} ${READING[kind]}`]);
        expect(report).toMatchObject({ copied: 5, failed: 1 });

        await store.put(content.stream());
        expect(await failureOf(store.verify(chunk))).toMatchObject({ code: READING[kind] });

        await store.delete(chunk);
        await store.put(content.stream());
        expect(await store.verify(chunk)).toMatchObject({
          address: chunk,
          verifiedByServer: false,
        });
      });

      // versitygw keeps the data and what it knows of it in one file.
      if (kind === "versitygw") return;
      test("and data that is gone attests as well", async () => {
        const backend = openers.s3({ endpoint: own.endpoint, bucket, keys: own });
        await using store = storeOver(backend, { chunkSize: MiB / 4 });
        const root = await store.put(content.stream());
        const [chunk = ""] = await Array.fromAsync(store.treeAddresses(root));
        expect(await store.verify(chunk)).toMatchObject({ verifiedByServer: false });
        await rm(await fileOf(join(data, "objects", bucket), chunk));
        expect(await store.verify(chunk, { serverChecksums: true })).toMatchObject({
          verifiedByServer: true,
        });
        expect(await failureOf(store.verify(chunk))).toMatchObject({ code: "unavailable" });
        const report = await replicate(backend, memory());
        expect(report).toMatchObject({ failed: 1, removed: 0 });
      });
    });
  },
);

/** Where a server keeps the bytes of an object: the largest file with its name in the path. */
async function fileOf(folder: string, name: string): Promise<string> {
  const paths = await readdir(folder, { recursive: true });
  const files = await Promise.all(
    paths
      .filter((path) => path.includes(name))
      .map(async (path) => ({ path, info: await stat(join(folder, path)) })),
  );
  const [largest] = files
    .filter(({ info }) => info.isFile())
    .toSorted((a, b) => b.info.size - a.info.size);
  if (largest === undefined) throw new Error(`no file of ${name}`);
  return join(folder, largest.path);
}

async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(file, bytes);
}
