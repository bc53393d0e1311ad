import { expect, test } from "bun:test";
import type { Backend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import {
  blobsOf,
  failureOf,
  bodyOf,
  bytesOf,
  CHUNK,
  collect,
  keyOf,
  openRig,
  put,
  read,
} from "../support.ts";

const MIB = 2 ** 20;
/** Room for one transfer of long content at a time. */
const memoryBytes = 1.25 * (2 * CHUNK + 2 * MIB);

test("an upload that stalls gives way, and goes on later", async () => {
  await using rig = await openRig({ memoryBytes });
  const slow = bytesOf(3 * MIB, 1);
  const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
  const { bytes, ...body } = bodyOf(slow);
  async function* stalling(): AsyncGenerator<Uint8Array> {
    let sent = 0;
    for await (const piece of bytes) {
      yield piece;
      sent += piece.length;
      if (sent > MIB && sent < MIB + 60_000) await pause;
    }
  }
  const given = { bucket: rig.bucket, key: keyOf("slow"), headers: {} };
  const putting = rig.objects.putObject({ ...given, body: { ...body, bytes: stalling() } });
  await Bun.sleep(20);
  await put(rig, "fast", bytesOf(2 * MIB, 2));
  expect(await read(rig, "fast")).toEqual(bytesOf(2 * MIB, 2));
  expect(rig.objects.metrics()).toMatchObject({ budgetUsed: 0, preemptions: 1 });
  goOn();
  await putting;
  const { contents } = (await rig.catalog.openObject(rig.bucket.id, keyOf("slow")))!;
  expect(contents).toHaveLength(2);
  expect(await read(rig, "slow")).toEqual(slow);
  expect(rig.objects.metrics().budgetUsed).toBe(0);
});

test("a download that stalls gives way, and goes on later where it was", async () => {
  await using rig = await openRig({ memoryBytes });
  const bytes = bytesOf(4 * MIB, 1);
  await put(rig, "k", bytes);
  const opened = (await rig.catalog.openObject(rig.bucket.id, keyOf("k")))!;
  // The limit is for what has released nothing yet.
  const limit = { memoryWaitMs: 1 };
  const reading = rig.objects.readObject(opened, undefined, limit)[Symbol.asyncIterator]();
  const pieces = [(await reading.next()).value as Uint8Array];
  await put(rig, "other", bytesOf(2 * MIB, 2));
  expect(rig.objects.metrics()).toMatchObject({ budgetUsed: 0, preemptions: 1 });
  const other = rig.objects.readObject(opened)[Symbol.asyncIterator]();
  await other.next();
  pieces.push(await collect({ [Symbol.asyncIterator]: () => reading }));
  expect(new Uint8Array(Buffer.concat(pieces))).toEqual(bytes);
  expect(rig.objects.metrics().budgetUsed).toBe(0);
});

test("a fast download gives way between two chunks to a call that has had no memory", async () => {
  await using rig = await openRig({ memoryBytes });
  const { objects } = rig;
  const bytes = bytesOf(4 * MIB, 1);
  await put(rig, "k", bytes);
  const opened = (await rig.catalog.openObject(rig.bucket.id, keyOf("k")))!;
  const pieces: Uint8Array[] = [];
  let position = 0;
  let putting: Promise<unknown> | undefined;
  let waiting: number | undefined;
  for await (const piece of objects.readObject(opened)) {
    putting ??= put(rig, "other", bytesOf(2 * MIB, 2));
    while (position === 0 && objects.metrics().budgetWaiting === 0) await Bun.sleep(1);
    pieces.push(piece);
    position += piece.length;
    if (position > CHUNK) waiting ??= objects.metrics().budgetWaiting;
  }
  expect(waiting).toBe(0);
  await putting;
  expect(new Uint8Array(Buffer.concat(pieces))).toEqual(bytes);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 0, preemptions: 0 });
});

test("a copy of a part gives way to nobody but others", async () => {
  await using rig = await openRig({ memoryBytes });
  const { catalog, bucket, objects } = rig;
  const bytes = bytesOf(4 * MIB, 1);
  await put(rig, "k", bytes);
  const source = (await catalog.openObject(bucket.id, keyOf("k")))!;
  const about = { owner: "", time: 0, headers: {}, tags: [], options: {} };
  const upload = (await catalog.createUpload({ bucket: bucket.id, key: keyOf("c"), ...about }))!;
  const range = { start: 5, end: 3 * MIB };
  await objects.copyPart({ upload, number: 1, source, range });
  // In one piece: what it reads takes nothing from what it writes.
  expect((await catalog.openUpload(upload)).contents).toMatchObject([{ size: 3 * MIB - 5 }]);
  expect(objects.metrics()).toMatchObject({ budgetUsed: 0, preemptions: 0 });
});

test("a reader that leaves gives its memory back", async () => {
  await using rig = await openRig({ memoryBytes });
  await put(rig, "k", bytesOf(4 * MIB, 1));
  const opened = (await rig.catalog.openObject(rig.bucket.id, keyOf("k")))!;
  for await (const piece of rig.objects.readObject(opened)) {
    expect(piece.length).toBeGreaterThan(0);
    break;
  }
  expect(rig.objects.metrics().budgetUsed).toBe(0);
  const controller = new AbortController();
  const reading = rig.objects.readObject(opened, undefined, { signal: controller.signal });
  const all = collect(
    (async function* () {
      for await (const piece of reading) {
        controller.abort(new Error("gone"));
        yield piece;
      }
    })(),
  );
  expect((await failureOf(all)).message).not.toContain("nothing was thrown");
  expect(rig.objects.metrics().budgetUsed).toBe(0);
});

test("what waits too long for memory is told to slow down, and leaves nothing behind", async () => {
  await using rig = await openRig({ memoryBytes });
  const { catalog, bucket, objects } = rig;
  const bytes = bytesOf(3 * MIB, 1);
  await put(rig, "k", bytes);
  const opened = (await catalog.openObject(bucket.id, keyOf("k")))!;
  const about = { owner: "", time: 0, headers: {}, tags: [], options: {} };
  const upload = (await catalog.createUpload({ bucket: bucket.id, key: keyOf("u"), ...about }))!;
  const before = await blobsOf(rig.backend);
  const holding = objects.readObject(opened)[Symbol.asyncIterator]();
  await holding.next();
  const limit = { memoryWaitMs: 20 };
  const condition = { ifNoneMatch: ["*"] };
  const target = { bucket, key: keyOf("new"), headers: {}, condition };
  const calls = [
    objects.putObject({ ...target, ...limit, body: bodyOf(bytes) }),
    objects.putPart({ upload, number: 1, ...limit, body: bodyOf(bytes) }),
    collect(objects.readObject(opened, undefined, limit)),
  ];
  for (const error of await Promise.all(calls.map(failureOf))) {
    expect(error).toMatchObject({ code: "SlowDown" });
  }
  await holding.return?.();
  expect(await blobsOf(rig.backend)).toEqual(before);
  // No claim of the key is left, which would refuse this one.
  await objects.putObject({ ...target, ...limit, body: bodyOf(bytes) });
  expect(await read(rig, "new")).toEqual(bytes);
});

test("a slow store is waited for by those that have memory", async () => {
  const store = memory();
  const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
  const { promise: isReached, resolve: reach } = Promise.withResolvers<void>();
  let isSlow = false;
  const backend: Backend = {
    ...store,
    async put(...given) {
      if (isSlow) {
        reach();
        await pause;
      }
      await store.put(...given);
    },
  };
  await using rig = await openRig({ memoryBytes, backend, now: Date.now });
  const { bucket, objects } = rig;
  isSlow = true;
  const bytes = bytesOf(3 * MIB, 1);
  const given = { bucket, headers: {}, memoryWaitMs: 20 };
  const first = objects.putObject({ ...given, key: keyOf("k"), body: bodyOf(bytes) });
  await isReached;
  const second = objects.putObject({ ...given, key: keyOf("other"), body: bodyOf(bytes) });
  expect(await failureOf(second)).toMatchObject({ code: "SlowDown" });
  goOn();
  await first;
  expect(await read(rig, "k")).toEqual(bytes);
});
