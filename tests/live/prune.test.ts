/* Prune on MinIO. Only what time it is is shifted: the times of what is stored are the server's own. */
import {
  backup,
  check,
  createRepository,
  forget,
  openRepository,
  openSnapshot,
  ownerKeyOf,
  prune,
  volatileHeadMemory,
} from "@idk/snapshots";
import { contents, expected } from "../../packages/snapshots/test/write/support.ts";
import { countVersions, minioServer, newBucket } from "../servers/s3-servers.ts";
import { expect, test } from "bun:test";
import { identity, later, optionsOf } from "../../packages/snapshots/test/faults/kill-support.ts";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import type { Backend } from "@idk/storage";
import { join } from "node:path";
import { minio } from "@idk/storage/minio";
import { randomBytes } from "node:crypto";
import { requireServer } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

const NONE = { markers: 0, blobs: 0, bytes: 0 };

requireServer("minio")("prune on MinIO", () => {
  test.each([false, true])(
    "frees what only forgotten snapshots need, a grace period later (versions: %p)",
    async (versioning) => {
      const work = realpathSync(mkdtempSync(join(tmpdir(), "idk-prune-minio-")));
      const bucket = await newBucket(minioServer(), { versioning });
      try {
        const { endpoint, accessKeyId: accessKey, secretAccessKey: secretKey } = bucket.server;
        const backend = minio({
          bucket: bucket.name,
          prefix: "repo/",
          endpoint,
          accessKey,
          secretKey,
        });
        const source = join(work, "source");
        mkdirSync(source);
        const owner = ownerKeyOf(identity);
        const recipients = [identity.recipient];
        const pinned = await createRepository({ backend, owner, recipients, graceSeconds: 3600 });
        const open = (over: Backend = backend) =>
          openRepository({
            backend: over,
            identities: [identity],
            writer: owner,
            pinned,
            memory: volatileHeadMemory(),
          });
        const names = async () => {
          const blobs = await Array.fromAsync(backend.list(""));
          const markers = await Array.fromAsync(backend.listMarkers!(""));
          return [...blobs, ...markers].map(({ name }) => name);
        };

        writeFileSync(join(source, "kept"), randomBytes(100_000));
        for (let version = 0; version < 4; version += 1) {
          writeFileSync(join(source, "changing"), randomBytes(50_000));
          await backup(await open(), optionsOf({ work, source }));
        }
        await forget(await open(), { policy: { last: 1 }, recipients });
        const before = await names();
        expect((await prune(await open())).deleted).toEqual(NONE);
        expect(await names()).toEqual(before);

        const { deleted } = await prune(await open(later(backend)));
        const after = await names();
        expect(before.length - after.length).toBe(deleted.blobs + deleted.markers);
        expect(deleted.markers).toBe(3);
        // The first version shares its pack with what is kept.
        expect(deleted.bytes).toBeGreaterThan(2 * 50_000);
        expect((await prune(await open(later(backend)))).deleted).toEqual(NONE);
        // In a bucket with versions, they are gone, too.
        expect(await countVersions(bucket)).toBe(after.length);

        const repository = await open();
        const { problems } = await check(repository, { readData: 1 });
        expect(Object.entries(problems).filter(([, count]) => count > 0)).toEqual([]);
        const [newest, ...others] = await Array.fromAsync(repository.snapshots("home"));
        expect(others).toEqual([]);
        expect(await contents(await openSnapshot(repository, newest!), source)).toEqual(
          expected(source),
        );
      } finally {
        await bucket.remove();
        rmSync(work, { recursive: true });
      }
    },
    120_000,
  );
});
