import {
  type Backend,
  type PutOptions,
  type PutReport,
  StorageError,
  type Store,
} from "../../../src/index.ts";
import { aliceStore, codeOf, random } from "../../support.ts";
import { describe, expect, test } from "bun:test";
import { attesting } from "../../backend/attesting.ts";
import { memory } from "../../../src/backend/memory.ts";

const MiB = 2 ** 20;
const CHUNK = 2 ** 18;

async function reportOf(
  store: Store,
  content: string | Uint8Array,
  options: PutOptions = {},
): Promise<PutReport> {
  const reports: PutReport[] = [];
  await store.put(content, {
    ...options,
    onReport: (report) => reports.push(report),
  });
  expect(reports).toHaveLength(1);
  return reports[0]!;
}

async function storedBytes(backend: Backend): Promise<number> {
  let bytes = 0;
  for await (const { size } of backend.list("")) bytes += size;
  return bytes;
}

describe("the report of a put", () => {
  test("counts inline content as no chunk and one blob sent", async () => {
    const backend = memory();
    expect(await reportOf(aliceStore({ backend }), random(1000))).toEqual({
      bytes: 1000,
      chunks: 0,
      newChunks: 0,
      newBytes: 1000,
      skippedChunks: 0,
      skippedBytes: 0,
      sentBlobs: 1,
      sentBytes: await storedBytes(backend),
    });
  });

  test("counts every leaf as new if the server does not verify checksums, and excludes padding", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK, dedupSecret: random(32) });
    const content = random(5 * CHUNK - 1);
    const first = {
      bytes: content.length,
      chunks: 5,
      newChunks: 5,
      newBytes: content.length,
      skippedChunks: 0,
      skippedBytes: 0,
      sentBlobs: 6,
      sentBytes: 0,
    };
    const report = await reportOf(store, content);
    expect(report).toEqual({ ...first, sentBytes: await storedBytes(backend) });
    expect(await reportOf(store, content)).toEqual(report);
  });

  test("counts leaves of padding alone as chunks without content", async () => {
    const backend = memory();
    const store = aliceStore({ backend, chunkSize: CHUNK });
    const content = random(32 * MiB + 1);
    const report = await reportOf(store, content);
    expect(report).toMatchObject({ bytes: content.length, newBytes: content.length });
    expect(report.chunks).toBe(report.newChunks);
    expect(report.chunks).toBeGreaterThan(129);
    expect(report.sentBlobs).toBe(report.chunks + 1);
    expect(report.sentBytes).toBe(await storedBytes(backend));
  });

  test("counts leaves, nodes and roots that the server has verified as skipped", async () => {
    const store = aliceStore({
      backend: attesting(),
      chunkSize: CHUNK,
      dedupSecret: random(32),
      padding: "none",
    });
    const content = random(4 * CHUNK + 10);
    await reportOf(store, content);
    expect(await reportOf(store, content)).toEqual({
      bytes: content.length,
      chunks: 5,
      newChunks: 0,
      newBytes: 0,
      skippedChunks: 5,
      skippedBytes: content.length,
      sentBlobs: 0,
      sentBytes: 0,
    });
    content[CHUNK] = content[CHUNK]! ^ 1;
    const changed = await reportOf(store, content);
    expect(changed).toMatchObject({
      newChunks: 1,
      newBytes: CHUNK,
      skippedChunks: 4,
      skippedBytes: 3 * CHUNK + 10,
      sentBlobs: 2,
    });
    expect(changed.sentBytes).toBeGreaterThan(CHUNK + 59);
    expect(changed.sentBytes).toBeLessThan(CHUNK + 59 + 1000);

    const small = random(100);
    expect(await reportOf(store, small)).toMatchObject({ newBytes: 100, sentBlobs: 1 });
    expect(await reportOf(store, small)).toMatchObject({
      newBytes: 0,
      skippedBytes: 100,
      sentBlobs: 0,
    });
  });

  test("is not made if the put fails", async () => {
    const refuse = async () => {
      throw new StorageError("permission", "not here");
    };
    const store = aliceStore({ backend: { ...memory(), put: refuse } });
    const failed = reportOf(store, "x").catch((error: unknown) => codeOf(error));
    expect(await failed).toBe("permission");
  });

  test("is part of each result of putMany", async () => {
    const store = aliceStore({
      backend: attesting(),
      chunkSize: CHUNK,
      dedupSecret: random(32),
    });
    const items = [random(10), random(2 * MiB)].map((content, key) => ({ key, content }));
    for (const skipped of [0, 1]) {
      for await (const result of store.putMany(items)) {
        if (!result.ok) throw result.error;
        expect(result.report.bytes).toBe(items[result.key]!.content.length);
        expect(result.report.skippedBytes).toBe(skipped * result.report.bytes);
      }
    }
  });
});
