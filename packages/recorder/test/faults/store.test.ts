import { expect, test } from "bun:test";
import { type Backend, StorageError } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recorder } from "../../src/index.ts";
import { SEGMENT_BYTES_MAX } from "../../src/segments/limits.ts";
import { exchangesIn, newArchive, segmentsIn } from "../support/archive.ts";
import { expectBalanced } from "../support/totals.ts";
import { until } from "../support/until.ts";

/** Answers so many requests, with bodies of so many bytes. */
async function answer(recorder: Recorder, count: number, bytes = 10): Promise<void> {
  const body = JSON.stringify("x".repeat(bytes));
  const handle = recorder.handler(
    () => new Response(body, { headers: { "content-type": "application/json" } }),
  );
  for (let i = 0; i < count; i++) {
    await handle(new Request(`http://a/${i}`)).text();
    // Bodies in memory are read beside.
    await new Promise(setImmediate);
  }
}

/** Only what a recorder needs; everything else is a fault of the test. */
function withPut(put: Backend["put"]): Backend {
  const refuse = async (): Promise<never> => {
    throw new StorageError("permission", "only puts are allowed");
  };
  return {
    description: "a store that can only be written",
    put,
    get: refuse,
    head: refuse,
    delete: refuse,
    // oxlint-disable-next-line require-yield -- it has none
    async *list() {
      await refuse();
    },
  };
}

async function blobsIn(spool: string): Promise<string[]> {
  return (await readdir(spool)).filter((file) => file.endsWith(".blob"));
}

test("credentials that can only put suffice, and nothing but puts is asked for", async () => {
  const store = memory();
  await using archive = newArchive({ backend: withPut(store.put) });
  await answer(archive.recorder, 3);
  expect(await archive.recorder.close()).toBe(true);
  expect(await exchangesIn(store)).toHaveLength(3);
  const [segment] = await segmentsIn(store);
  expect(segment?.metadata).toMatchObject({ count: 3, seq: 0, end: "closed" });
  expect(segment?.metadata.totals).toEqual({
    seen: 3,
    stored: 3,
    notKept: 0,
    bodiesDropped: 0,
    dropped: {},
  });
  // Nothing is left in the spool.
  expect(await readdir(archive.spool)).toEqual([]);
});

test.each([
  [
    "responses with 500",
    () => Promise.reject(new StorageError("unavailable", "500", { transient: true })),
  ],
  ["no permission", () => Promise.reject(new StorageError("permission", "403"))],
  ["hangs", () => new Promise<never>(() => {})],
])("a store that fails for a while gets everything later: %s", async (_, fail) => {
  const store = memory();
  let broken = true;
  const faults: string[] = [];
  const start = performance.now();
  let seconds = 0;
  await using archive = newArchive({
    backend: withPut(async (...given) => (broken ? fail() : store.put(...given))),
    limits: { segmentMs: 20, uploadMs: 50 },
    onError: ({ message }) => {
      faults.push(message);
      seconds = (performance.now() - start) / 1000;
    },
  });
  await answer(archive.recorder, 5);
  expect(await archive.recorder.flush(50)).toBe(false);
  await until(() => archive.recorder.stats().faults > 1);
  await answer(archive.recorder, 5);
  expect(archive.recorder.stats()).toMatchObject({ seen: 10, uploaded: 0 });
  broken = false;
  expect(await archive.recorder.flush(20_000)).toBe(true);
  expect(await exchangesIn(store)).toHaveLength(10);
  expectBalanced(archive.recorder.stats());
  expect(archive.recorder.stats()).toMatchObject({ stored: 10, spoolBytes: 0 });
  expect(faults[0]).toBe("an upload failed, and will be repeated");
  // At most one a second.
  expect(faults.length).toBeLessThanOrEqual(1 + seconds);
});

test("a blob that the store rejects does not hold up the others", async () => {
  const store = memory();
  let rejected: string | undefined;
  await using archive = newArchive({
    backend: withPut(async (address, ...rest) => {
      rejected ??= address;
      if (address === rejected) throw new StorageError("permission", "403");
      await store.put(address, ...rest);
    }),
    onError: () => {},
  });
  for (let i = 0; i < 4; i++) {
    await answer(archive.recorder, 1);
    expect(await archive.recorder.flush(1)).toBe(false);
    await until(() => archive.recorder.stats().stored === i + 1);
  }
  await until(() => archive.recorder.stats().uploaded === 3);
  expect(await exchangesIn(store)).toHaveLength(3);
});

test("what a closed recorder could not upload, the next one on its spool does", async () => {
  const store = memory();
  const spool = await mkdtemp(join(tmpdir(), "idk-recorder-"));
  try {
    const dead = newArchive({ backend: withPut(() => new Promise(() => {})), spool });
    await answer(dead.recorder, 4);
    const began = performance.now();
    expect(await dead.recorder.close(100)).toBe(false);
    expect(performance.now() - began).toBeLessThan(2000);
    expect(await readdir(spool)).toHaveLength(1);

    // A state that is damaged does not keep it from the others.
    await Bun.write(join(spool, `${"0".repeat(32)}.totals`), "null");
    const next = newArchive({ backend: store, spool, limits: { orphanMs: 90 } });
    await until(async () => (await readdir(spool)).length === 0);
    expect(await exchangesIn(store)).toHaveLength(4);
    await next.recorder.close();
    const segments = await segmentsIn(store);
    expect(segments.map(({ metadata }) => metadata.end)).toEqual(["closed"]);
  } finally {
    await rm(spool, { recursive: true });
  }
});

test("a damaged blob in the spool is deleted, and not uploaded", async () => {
  const store = memory();
  let broken = true;
  await using archive = newArchive({
    backend: withPut(async (...given) => {
      if (broken) throw new StorageError("unavailable", "down", { transient: true });
      return store.put(...given);
    }),
    onError: () => {},
  });
  await answer(archive.recorder, 2);
  await archive.recorder.flush(1);
  await until(() => archive.recorder.stats().faults > 0);
  const [file] = await blobsIn(archive.spool);
  const bytes = await Bun.file(join(archive.spool, file!)).bytes();
  bytes[bytes.length - 1]! ^= 1;
  await Bun.write(join(archive.spool, file!), bytes);
  broken = false;
  expect(await archive.recorder.flush()).toBe(true);
  expect(await exchangesIn(store)).toEqual([]);
  expect(await blobsIn(archive.spool)).toEqual([]);
});

test("a spool that cannot be written drops segments, counts them, and goes on", async () => {
  const store = memory();
  const faults: string[] = [];
  await using archive = newArchive({
    backend: store,
    // Not a folder, for root as well.
    spool: "/dev/null/spool",
    onError: ({ message }) => faults.push(message),
  });
  await answer(archive.recorder, 3);
  expect(await archive.recorder.flush()).toBe(true);
  expect(archive.recorder.stats()).toMatchObject({ seen: 3, stored: 0, dropped: { spool: 3 } });
  expectBalanced(archive.recorder.stats());
  expect(faults.join()).toContain("the spool");
});

test("a full spool drops what does not fit, and says so in the next segment", async () => {
  const store = memory();
  let broken = true;
  await using archive = newArchive({
    backend: withPut(async (...given) => {
      if (broken) throw new StorageError("unavailable", "down", { transient: true });
      return store.put(...given);
    }),
    limits: { spoolBytes: 2 ** 20, segmentBytes: 2 ** 18 },
    onError: () => {},
  });
  for (let i = 0; i < 12; i++) {
    await answer(archive.recorder, 10, 20_000);
    await archive.recorder.flush(1);
    await until(() => archive.recorder.stats().queued === 0);
  }
  const { dropped, spoolBytes } = archive.recorder.stats();
  expect(dropped.spool).toBeGreaterThan(0);
  expect(spoolBytes).toBeLessThanOrEqual(2 ** 20);
  broken = false;
  expect(await archive.recorder.flush()).toBe(true);
  await answer(archive.recorder, 1);
  await archive.recorder.close();
  expectBalanced(archive.recorder.stats());
  const segments = await segmentsIn(store);
  expect(segments.map(({ metadata }) => metadata.seq)).toEqual(segments.map((_, i) => i));
  expect(segments.at(-1)!.metadata.totals.dropped).toEqual({ spool: dropped.spool! });
  const stored = segments.reduce((sum, { metadata }) => sum + metadata.count, 0);
  expect(stored + dropped.spool!).toBe(121);
});

test("recipients can change by the day, and ones that fail drop the segment", async () => {
  const store = memory();
  const given = [new Date(0)];
  await using archive = newArchive({
    backend: store,
    recipients: (date) => {
      given.push(date);
      throw new Error("no key for this day");
    },
    onError: () => {},
  });
  await answer(archive.recorder, 2);
  expect(await archive.recorder.flush()).toBe(true);
  expect(given).toHaveLength(2);
  expect(Math.abs(given[1]!.getTime() - Date.now())).toBeLessThan(10_000);
  expect(archive.recorder.stats()).toMatchObject({ dropped: { seal: 2 }, stored: 0 });
  expectBalanced(archive.recorder.stats());
});

test("a line longer than a segment is stored, as a tree", async () => {
  const store = memory();
  await using archive = newArchive({ backend: store, limits: { bodyBytes: 4 * 2 ** 20 } });
  await answer(archive.recorder, 1);
  await answer(archive.recorder, 1, 3 * 2 ** 20);
  await answer(archive.recorder, 1);
  const sizes: number[] = [];
  await archive.recorder.flush();
  for await (const { size } of store.list("")) sizes.push(size);
  expect(Math.max(...sizes)).toBeGreaterThan(2 ** 20);
  expect(archive.recorder.stats()).toMatchObject({ stored: 3, dropped: {} });
});

test("segments after a long line are no longer than others, though its memory is used again", async () => {
  const store = memory();
  await using archive = newArchive({ backend: store, limits: { bodyBytes: 4 * 2 ** 20 } });
  await answer(archive.recorder, 1, 2 ** 21);
  await archive.recorder.flush();
  await answer(archive.recorder, 6, 2 ** 18);
  await archive.recorder.flush();
  const sizes: number[] = [];
  for await (const { size } of store.list("")) sizes.push(size);
  // A chunk and its root, and two segments of three lines each.
  const [chunk, ...others] = sizes.toSorted((a, b) => b - a);
  expect(chunk).toBeGreaterThan(2 ** 21);
  expect(others).toHaveLength(3);
  expect(others[0]).toBeLessThanOrEqual(SEGMENT_BYTES_MAX);
});

test("an archive that nobody recorded into has no segments", async () => {
  const store = memory();
  await using archive = newArchive({ backend: store });
  expect(await archive.recorder.flush()).toBe(true);
  expect(await archive.recorder.close()).toBe(true);
  expect(await segmentsIn(store)).toEqual([]);
});
