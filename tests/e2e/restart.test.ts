import { type OwnServer, ownServerKinds, startOwnServer } from "../servers/own-server.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import { openers, storeOver } from "./stores.ts";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf, until, within } from "./outcome.ts";
import { createHash } from "node:crypto";
import { needing } from "../servers/needs.ts";
import { newBucket } from "../servers/s3-servers.ts";
import { withRetry } from "@idk/storage";

setDefaultTimeout(600_000);

const kinds = ownServerKinds();
const slow = process.env["IDK_TEST_SLOW"] === "1";
const size = (slow ? 500 : 96) * MiB;
const DEADLINE = slow ? 240_000 : 90_000;

needing(kinds.length > 0 ? [] : ["MinIO or versitygw to be killed"])(
  "a server that is killed",
  () => {
    describe.each(kinds)("%s", (server) => {
      let own: OwnServer;
      let bucket: string;
      const content = testContent(size, 4);

      beforeAll(async () => {
        own = await startOwnServer(server);
        bucket = (await newBucket(own)).name;
      });
      afterAll(() => own.remove());

      const open = () => openers.s3({ endpoint: own.endpoint, bucket, keys: own });

      test("and started again does not disturb a put and a get", async () => {
        await using store = storeOver(withRetry(open()));
        const restarts: Promise<void>[] = [];
        const put = store.put(content.stream(), {
          onProgress({ bytes }) {
            if (bytes > content.size / 3 && restarts.length === 0) {
              restarts.push(killAndRestart(own));
            }
          },
        });
        await within(DEADLINE, "put", Promise.allSettled([put]));
        // Also where the put failed, so that no restart runs into the next test.
        await Promise.all(restarts);
        const address = await put;

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
                restarts.push(killAndRestart(own));
              }
            }
          })(),
        );
        await Promise.all(restarts);
        expect(restarts.length).toBe(2);
        expect(hash.digest("hex")).toBe(content.sha256);
      });

      test("leaves whole blobs alone, and a put that fails", async () => {
        await using store = storeOver(open(), { chunkSize: MiB });
        let stored = 0;
        const put = failureOf(
          store.put(content.stream(), { onProgress: ({ chunks }) => (stored = chunks) }),
        );
        await Promise.race([put, until(() => stored >= 8, 30_000)]);
        expect(stored).toBeGreaterThanOrEqual(8);
        await own.kill();
        expect(await within(DEADLINE, "put", put)).toMatchObject({
          code: "unavailable",
          transient: true,
        });
        await own.start();
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

async function killAndRestart(own: OwnServer): Promise<void> {
  await own.kill();
  await Bun.sleep(700);
  await own.start();
}
