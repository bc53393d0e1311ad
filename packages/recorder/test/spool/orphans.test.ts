import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCounters, totalsOf } from "../../src/queue/counters.ts";
import { createFaults } from "../../src/queue/faults.ts";
import { createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { blobFile, totalsFile, writeWhole } from "../../src/spool/files.ts";
import { createOrphans } from "../../src/spool/orphans.ts";

const DEAD = "d".repeat(32);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-orphans-"));
  const totals = JSON.stringify(totalsOf(createCounters()));
  const state = JSON.stringify({ beat: 1, seq: 3, totals });
  await writeWhole(folder, totalsFile(DEAD), Buffer.from(state));
});
afterEach(() => rm(folder, { recursive: true }));

test("the end of a run is sealed once, however long that takes", async () => {
  const seal = Promise.withResolvers<boolean>();
  const begun = Promise.withResolvers<void>();
  const sealed: number[] = [];
  const orphans = createOrphans({
    folder,
    run: "0".repeat(32),
    orphanMs: 0,
    faults: createFaults(undefined),
    onOtherBytes: () => {},
    adopt: () => {},
    sealLost(_, { seq }) {
      sealed.push(seq);
      begun.resolve();
      return seal.promise;
    },
  });
  await orphans.look();
  const slow = orphans.look();
  await begun.promise;
  const next = orphans.look();
  // Both end whether or not the second one seals, too.
  await Promise.race([next, Bun.sleep(200)]);
  seal.resolve(false);
  await Promise.all([slow, next]);
  expect(sealed).toEqual([3]);
  // What could not be sealed is tried again.
  await orphans.look();
  expect(sealed).toEqual([3, 3]);
  expect(await readdir(folder)).toEqual([totalsFile(DEAD)]);
});

test.each([
  ["chunks and its root, is complete", true],
  ["chunks without its root, does not exist", false],
])("a segment of which there are %s", async (_, hasRoot) => {
  const backend = memory();
  const { recipient } = await generateIdentity();
  const sealing = createStore({ backend, recipients: [recipient] });
  const root = await sealing.put(new Uint8Array(2 ** 20 + 1), { chunkSize: 2 ** 20 });
  const chunks: string[] = [];
  for await (const { address } of sealing.list()) if (address !== root) chunks.push(address);
  expect(chunks.length).toBeGreaterThan(0);
  const left = hasRoot ? [...chunks, root] : chunks;
  for (const [part, address] of left.entries()) {
    const buffer = new Uint8Array(2 ** 21);
    const bytes = buffer.subarray(0, await backend.get(address, buffer));
    await writeWhole(folder, blobFile(DEAD, 3, part, address), bytes);
  }
  const sealed: { seq: number; prev: string | undefined }[] = [];
  const orphans = createOrphans({
    folder,
    run: "0".repeat(32),
    orphanMs: 0,
    faults: createFaults(undefined),
    onOtherBytes: () => {},
    adopt: () => {},
    async sealLost(__, { seq, prev }) {
      sealed.push({ seq, prev });
      return true;
    },
  });
  await orphans.look();
  await orphans.look();
  expect(sealed).toEqual([hasRoot ? { seq: 4, prev: root } : { seq: 3, prev: undefined }]);
});
