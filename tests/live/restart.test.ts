import { type ServerProcess, installedServers, startServer } from "../servers/server-process.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openBackend, storeOver } from "./stores.ts";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, until, within } from "./outcome.ts";
import { createHash } from "node:crypto";
import { skipIfMissing } from "../servers/require-server.ts";
import { newBucket } from "../servers/s3-servers.ts";
import { withRetry } from "@idk/storage";

setDefaultTimeout(600_000);

const kinds = installedServers();
const slow = process.env["IDK_TEST_SLOW"] === "1";
const size = (slow ? 500 : 48) * MiB;
const DEADLINE = slow ? 240_000 : 90_000;

skipIfMissing(kinds.length > 0 ? [] : ["executable of MinIO or versitygw"])(
  "a server that is killed",
  () => {
    describe.each(kinds)("%s", (kind) => {
      let server: ServerProcess;
      let bucket: string;
      const content = testContent(size, 4);

      beforeAll(async () => {
        server = await startServer(kind);
        bucket = (await newBucket(server)).name;
      });
      afterAll(() => server.remove());

      const open = () => openBackend.s3({ endpoint: server.endpoint, bucket, keys: server });

      test("and restarted interrupts neither a put nor a get with retries", async () => {
        let retries = 0;
        const backend = withRetry(open(), { onRetry: () => (retries += 1) });
        await using store = storeOver(backend, { chunkSize: MiB });
        const restarts: Promise<void>[] = [];
        const put = store.put(content.stream(), {
          onProgress({ bytes }) {
            if (bytes > content.size / 3 && restarts.length === 0) {
              restarts.push(killAndRestart(server));
            }
          },
        });
        await within(DEADLINE, "put", Promise.allSettled([put]));
        // Even if the put failed, so that no restart overlaps the next test.
        await Promise.all(restarts);
        const address = await put;
        expect(retries).toBeGreaterThan(0);
        retries = 0;

        const hash = createHash("sha256");
        let length = 0;
        const blob = await store.get(address);
        await within(
          DEADLINE,
          "get",
          (async () => {
            for await (const piece of blob.stream()) {
              hash.update(piece);
              length += piece.length;
              if (length > content.size / 3 && restarts.length === 1) {
                restarts.push(killAndRestart(server));
              }
            }
          })(),
        );
        await Promise.all(restarts);
        expect(restarts.length).toBe(2);
        expect(retries).toBeGreaterThan(0);
        expect(hash.digest("hex")).toBe(content.sha256);
      });

      test("leaves only whole blobs, and the put fails", async () => {
        await using store = storeOver(open(), { chunkSize: MiB });
        let stored = 0;
        const put = failureOf(
          store.put(content.stream(), { onProgress: ({ chunks }) => (stored = chunks) }),
        );
        await Promise.race([put, until(() => stored >= 8, 30_000)]);
        expect(stored).toBeGreaterThanOrEqual(8);
        await server.kill();
        expect(await within(DEADLINE, "put", put)).toMatchObject({
          code: "unavailable",
          transient: true,
        });
        await server.start();
        await using after = storeOver(withRetry(open()), { chunkSize: MiB });
        let blobs = 0;
        for await (const { address } of after.list()) {
          await after.verify(address);
          blobs += 1;
        }
        expect(blobs).toBeGreaterThanOrEqual(stored);
        const again = await within(DEADLINE, "put", after.put(content.stream()));
        expect(await sha256Of((await after.get(again)).stream())).toBe(content.sha256);
      });
    });
  },
);

async function killAndRestart(server: ServerProcess): Promise<void> {
  await server.kill();
  await Bun.sleep(700);
  await server.start();
}
