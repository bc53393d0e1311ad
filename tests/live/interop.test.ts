import { type Bucket, minioServer, newBucket, versitygwServer } from "../servers/s3-servers.ts";
import { MiB, sha256Of, testContent } from "./content.ts";
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from "bun:test";
import { formatIdentity } from "@idk/storage";
import { identity, openBackend, storeOver } from "./stores.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { missingPython, referenceRead, s3Tool } from "./python/run.ts";
import { skipIfMissing, requireServer } from "../servers/require-server.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { z } from "zod";

setDefaultTimeout(90_000);

const Objects = z.array(
  z.object({ name: z.string(), size: z.number(), length: z.number(), sha256: z.string() }),
);

const SERVERS = [
  ["minio", minioServer],
  ["versitygw", versitygwServer],
] as const;

describe.each(SERVERS)("blobs on %s", (name, server) => {
  requireServer(name)("read by other programs", () => {
    skipIfMissing(missingPython)("boto3 and the reference reader", () => {
      let bucket: Bucket;
      let folder: string;
      const prefix = "some/folder";

      beforeAll(async () => {
        bucket = await newBucket(server());
        folder = await mkdtemp(join(tmpdir(), "idk-interop-"));
      });
      afterEach(() => rm(join(folder, "blobs"), { recursive: true, force: true }));
      afterAll(async () => {
        await bucket.remove();
        await rm(folder, { recursive: true });
      });

      test.each([0, 1000, 5 * MiB + 1])("read content of %d bytes", async (size) => {
        const content = testContent(size, 10);
        await using store = storeOver(
          openBackend.s3({
            endpoint: bucket.server.endpoint,
            bucket: bucket.name,
            prefix,
            keys: bucket.server,
          }),
          { chunkSize: MiB },
        );
        const address = await store.put(content.stream(), { metadata: { name: "a.bin" } });
        const names = await Array.fromAsync(store.treeAddresses(address));

        const blobs = join(folder, "blobs");
        const under = `${prefix}/`;
        const found = await s3Tool(bucket.server, "download", bucket.name, under, blobs);
        const objects = new Map(Objects.parse(found).map((object) => [object.name, object]));
        for (const name of names) {
          const { sha256, size, length } = objects.get(name)!;
          expect(sha256).toBe(name);
          expect(length).toBe(size);
        }
        for (const name of objects.keys()) expect(name).toMatch(/^[0-9a-f]{64}$/u);

        const out = join(folder, "out");
        const result = await referenceRead(blobs, address, formatIdentity(identity), out);
        expect(result).toMatchObject({ ok: true });
        expect(await sha256Of(Bun.file(out).stream())).toBe(content.sha256);
      });
    });
  });
});
