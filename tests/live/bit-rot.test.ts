import { type ServerProcess, installedServers, startServer } from "../servers/server-process.ts";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { openBackend, storeOver } from "./stores.ts";
import { MiB, testContent } from "./content.ts";
import { failureOf } from "./outcome.ts";
import { join } from "node:path";
import { memory } from "@idk/storage/memory";
import { skipIfMissing } from "../servers/require-server.ts";
import { newBucket } from "../servers/s3-servers.ts";
import { type Retry, replicate, withRetry } from "@idk/storage";
import { tmpdir } from "node:os";

setDefaultTimeout(90_000);

const kinds = installedServers();

skipIfMissing(kinds.length > 0 ? [] : ["executable of MinIO or versitygw"])(
  "a byte that changed on the server's disk",
  () => {
    describe.each(kinds)("%s", (kind) => {
      let server: ServerProcess;
      let data: string;
      let bucket: string;
      const content = testContent(MiB + 1, 9);
      const dedupSecret = new Uint8Array(32).fill(7);

      beforeAll(async () => {
        data = await mkdtemp(join(tmpdir(), "idk-bit-rot-"));
        server = await startServer(kind, { data });
        bucket = (await newBucket(server)).name;
      });
      afterAll(async () => {
        await server.remove();
        await rm(data, { recursive: true });
      });

      test("is detected only by reading, and repaired by the next put", async () => {
        const backend = openBackend.s3({ endpoint: server.endpoint, bucket, keys: server });
        await using store = storeOver(backend, { chunkSize: MiB / 4, dedupSecret });
        const root = await store.put(content.stream());
        const [chunk = ""] = await Array.fromAsync(store.treeAddresses(root));
        expect(await store.verify(chunk)).toMatchObject({ verifiedByServer: false });
        await flipByte(await fileOf(join(data, "objects", bucket), chunk));

        expect(await store.verify(chunk, { serverChecksums: true })).toMatchObject({
          verifiedByServer: true,
        });
        expect(await failureOf(store.verify(chunk))).toMatchObject({ code: "address" });

        // A copy skips the damaged blob and copies all others.
        const failures: string[] = [];
        const report = await replicate(backend, memory(), {
          onFailure: ({ name, error }) => failures.push(`${name} ${error.code}`),
        });
        expect(failures).toEqual([`${chunk} address`]);
        expect(report).toMatchObject({ copied: 5, failed: 1 });

        // A server that delivers damaged bytes may happen to deliver an undamaged part.
        if (kind === "versitygw") await store.delete(chunk);
        await store.put(content.stream());
        expect(await store.verify(chunk)).toMatchObject({
          address: chunk,
          verifiedByServer: false,
        });
      });

      test("beyond what the server reads ahead is reported once the server has said so twice, with the default retries", async () => {
        const backend = openBackend.s3({ endpoint: server.endpoint, bucket, keys: server });
        const retries: Retry[] = [];
        const retried = withRetry(backend, { onRetry: (retry) => void retries.push(retry) });
        await using store = storeOver(retried, { chunkSize: 4 * MiB });
        const root = await store.put(testContent(4 * MiB + 1, 5).stream());
        const [chunk = ""] = await Array.fromAsync(store.treeAddresses(root));
        await flipByte(await fileOf(join(data, "objects", bucket), chunk));
        expect(await failureOf(store.verify(chunk))).toMatchObject({ code: "address" });
        await store.delete(chunk);
        // How often MinIO breaks off before it says that is up to MinIO.
        expect(retries.filter(({ error }) => error.code === "address").length).toBeLessThanOrEqual(
          1,
        );
      });

      // versitygw stores data and checksum in one file.
      if (kind === "versitygw") return;
      test("leaves the checksum in place even if all data of the blob is lost", async () => {
        const backend = openBackend.s3({ endpoint: server.endpoint, bucket, keys: server });
        await using store = storeOver(backend, { chunkSize: MiB / 4 });
        const root = await store.put(content.stream());
        const [chunk = ""] = await Array.fromAsync(store.treeAddresses(root));
        expect(await store.verify(chunk)).toMatchObject({ verifiedByServer: false });
        await rm(await fileOf(join(data, "objects", bucket), chunk));
        expect(await store.verify(chunk, { serverChecksums: true })).toMatchObject({
          verifiedByServer: true,
        });
        expect(await failureOf(store.verify(chunk))).toMatchObject({ code: "address" });
        const report = await replicate(backend, memory());
        expect(report).toMatchObject({ failed: 1, removed: 0 });
      });
    });
  },
);

/** The file with the bytes of an object: the largest with the object's name in its path. */
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
