import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRecentBlobs } from "../../src/spool/recent.ts";
import { createSpool } from "../../src/spool/spool.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-recorder-spool-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("no copy of a segment that is discarded stays, also if a file cannot be deleted", async () => {
  const recent = createRecentBlobs();
  const place = createSpool(folder, "a".repeat(32), 2 ** 20, recent).segment(0);
  for (const digit of ["1", "2"]) await place.put(digit.repeat(64), new Uint8Array(1000));
  const [first, second] = place.blobs.map(({ file }) => file) as [string, string];
  // A folder in its place cannot be deleted as a file.
  await rm(join(folder, first));
  await mkdir(join(folder, first));
  const thrown = await place.discard().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(Error);
  for (const file of [first, second]) expect(recent.take(file)?.length).toBeUndefined();
});
