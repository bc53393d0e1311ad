import { MiB, sha256Of, testContent } from "./content.ts";
import { smallDisk, smallDiskMissing } from "../servers/small-disk.ts";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, within } from "./outcome.ts";
import { openBackend, storeOver } from "./stores.ts";
import { installedServers, startServer } from "../servers/server-process.ts";
import { skipIfMissing } from "../servers/require-server.ts";
import { newBucket } from "../servers/s3-servers.ts";
import { withRetry } from "@idk/storage";

setDefaultTimeout(240_000);

const kinds = installedServers();
const missing = [
  ...(kinds.length > 0 ? [] : ["executable of MinIO or versitygw"]),
  ...(await smallDiskMissing()),
];

skipIfMissing(missing)("a server whose disk is full", () => {
  describe.each(kinds)("%s", (kind) => {
    test("fails a put and loses no stored blob", async () => {
      await using disk = await smallDisk(96);
      const server = await startServer(kind, { data: disk.folder });
      try {
        const bucket = (await newBucket(server)).name;
        const backend = openBackend.s3({ endpoint: server.endpoint, bucket, keys: server });
        await using store = storeOver(withRetry(backend, { budgetMs: 5000 }), { chunkSize: MiB });
        const kept = testContent(8 * MiB, 5);
        const address = await store.put(kept.stream());
        const tooMuch = failureOf(store.put(testContent(200 * MiB, 6).stream()));
        expect(await within(60_000, "put", tooMuch)).toMatchObject({ code: "unavailable" });

        const old = new Set(await Array.fromAsync(store.treeAddresses(address)));
        let blobs = 0;
        for await (const blob of store.list()) {
          await store.verify(blob.address);
          if (old.delete(blob.address)) blobs += 1;
          else await store.delete(blob.address);
        }
        expect(blobs).toBeGreaterThan(8);
        expect(old.size).toBe(0);
        expect(await sha256Of((await store.get(address)).stream())).toBe(kept.sha256);

        // MinIO frees space with a delay.
        const end = Date.now() + 30_000;
        while ((await failureOf(store.put(kept.stream()))) !== undefined) {
          expect(Date.now()).toBeLessThan(end);
          await Bun.sleep(500);
        }
      } finally {
        await server.remove();
      }
    });
  });
});
