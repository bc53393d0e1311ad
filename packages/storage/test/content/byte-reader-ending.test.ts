import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Readable } from "node:stream";
import { byteReader } from "../../src/content/byte-reader.ts";
import { rejects } from "../format/fails.ts";
import { never, piece, watched, yielding } from "./sources.ts";

const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown) => unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", onUnhandled);
});

afterEach(async () => {
  // Unhandled rejections are reported after the microtasks have run.
  await sleep(1);
  process.off("unhandledRejection", onUnhandled);
  expect(unhandled).toEqual([]);
});

const room = () => new Uint8Array(10);

/** The error that a call fails with. */
function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "the call succeeded",
    (error: unknown) => error,
  );
}

describe("an error of the source", () => {
  const broken = new Error("the disk is gone");

  test.each([
    [
      "a generator",
      async function* () {
        yield Uint8Array.of(1);
        throw broken;
      },
    ],
    [
      "a web stream",
      () =>
        new ReadableStream<Uint8Array>({
          pull(controller) {
            controller.error(broken);
          },
        }),
    ],
    [
      "a Node stream",
      () =>
        new Readable({
          read() {
            this.destroy(broken);
          },
        }),
    ],
    ["an iterator", () => watched(() => Promise.reject(broken))],
  ])("of %s is passed on unchanged", async (_name, make) => {
    expect(await failure(byteReader(make()).lookAhead(10))).toBe(broken);
    const reader = byteReader(make());
    expect(await failure(reader.fill(room()))).toBe(broken);
    reader.cancel();
  });

  test("is passed on even if there is a signal", async () => {
    const { signal } = new AbortController();
    const content = watched(() => Promise.reject(broken));
    expect(await failure(byteReader(content, signal).fill(room()))).toBe(broken);
  });
});

describe("cancelling", () => {
  test("closes the source once", async () => {
    const content = watched(async (count) => piece(count));
    const reader = byteReader(content);
    await reader.fill(new Uint8Array(2));
    reader.cancel();
    reader.cancel();
    expect(content.asked).toEqual({ next: 2, return: 1 });
  });

  test("closes a source that was never read", () => {
    const content = watched(never);
    byteReader(content).cancel();
    expect(content.asked).toEqual({ next: 0, return: 1 });
  });

  test("does not close a source that has ended", async () => {
    const content = watched(async () => ({ done: true, value: undefined }));
    const reader = byteReader(content);
    expect(await reader.fill(room())).toBe(0);
    reader.cancel();
    expect(content.asked).toEqual({ next: 1, return: 0 });
  });

  test("stops reading from the source", async () => {
    const content = watched(async (count) => piece(count));
    const reader = byteReader(content);
    reader.cancel();
    expect(await reader.fill(room())).toBe(0);
    expect(content.asked.next).toBe(0);
  });

  test("runs the clean-up of a generator", async () => {
    let cleaned = 0;
    async function* content() {
      try {
        for (;;) yield Uint8Array.of(1);
      } finally {
        cleaned += 1;
      }
    }
    const reader = byteReader(content());
    await reader.fill(new Uint8Array(1));
    reader.cancel();
    await sleep(1);
    expect(cleaned).toBe(1);
  });

  test("cancels a web stream once", async () => {
    let cancelled = 0;
    const content = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(Uint8Array.of(1)),
      cancel() {
        cancelled += 1;
      },
    });
    const reader = byteReader(content);
    await reader.fill(new Uint8Array(1));
    reader.cancel();
    reader.cancel();
    await sleep(1);
    expect(cancelled).toBe(1);
  });

  test("destroys a Node stream", async () => {
    const content = new Readable({
      read() {
        this.push(Buffer.of(1));
      },
    });
    const reader = byteReader(content);
    await reader.fill(new Uint8Array(1));
    reader.cancel();
    await sleep(5);
    expect(content.destroyed).toBe(true);
  });

  test.each([
    ["never responds", () => watched(never, never)],
    ["fails to end", () => watched(never, () => Promise.reject(new Error("too late")))],
    [
      "throws when it is closed",
      () =>
        watched(never, () => {
          throw new Error("too late");
        }),
    ],
    [
      "returns no promise when it is closed",
      () => watched(never, () => ({ done: true, value: undefined }) as unknown as Promise<never>),
    ],
    [
      "cannot be closed",
      () => ({ [Symbol.asyncIterator]: () => ({ next: never }) as AsyncIterator<Uint8Array> }),
    ],
    [
      "is a web stream that never responds",
      () => new ReadableStream<Uint8Array>({ pull: never, cancel: never }),
    ],
    [
      "is a web stream that fails to end",
      () =>
        new ReadableStream<Uint8Array>({
          pull: never,
          cancel() {
            throw new Error("too late");
          },
        }),
    ],
  ])("does not wait for a source that %s, and does not fail", async (_name, make) => {
    const reader = byteReader(make());
    const reading = reader.fill(room());
    reading.catch(() => {});
    await sleep(1);
    expect(() => reader.cancel()).not.toThrow();
  });

  test("does nothing for content in memory", async () => {
    const reader = byteReader("text");
    reader.cancel();
    reader.cancel();
    expect(await reader.fill(room())).toBe(4);
  });
});

describe("a signal", () => {
  test.each(["lookAhead", "fill"] as const)(
    "that fires while %s waits ends the waiting at once, with the reason as cause",
    async (call) => {
      for (const content of [watched(never), new ReadableStream<Uint8Array>({ pull: never })]) {
        const controller = new AbortController();
        const reader = byteReader(content, controller.signal);
        const waiting = call === "fill" ? reader.fill(room()) : reader.lookAhead(10);
        await sleep(1);
        const reason = new Error("the user closed the window");
        const start = performance.now();
        controller.abort(reason);
        const error = await rejects(waiting, "aborted");
        expect(error.cause).toBe(reason);
        expect(performance.now() - start).toBeLessThan(5000);
        reader.cancel();
      }
    },
  );

  test("that has already fired fails the read of a stream", async () => {
    const reader = byteReader(watched(never), AbortSignal.abort());
    await rejects(reader.fill(room()), "aborted");
    reader.cancel();
  });

  test("that fires suppresses a later error of the source", async () => {
    const controller = new AbortController();
    const source = Promise.withResolvers<IteratorResult<Uint8Array>>();
    const waiting = byteReader(
      watched(() => source.promise),
      controller.signal,
    ).fill(room());
    controller.abort();
    await rejects(waiting, "aborted");
    source.reject(new Error("too late"));
  });

  test("that fires after the end changes nothing", async () => {
    const controller = new AbortController();
    const reader = byteReader(yielding([Uint8Array.of(1, 2)]), controller.signal);
    expect(await reader.fill(room())).toBe(2);
    controller.abort();
    await sleep(1);
    expect(await reader.fill(room())).toBe(0);
  });

  test("accumulates no listeners during a long read", async () => {
    const { signal } = new AbortController();
    const pieces = Array.from({ length: 100 }, () => Uint8Array.of(1));
    const reader = byteReader(yielding(pieces), signal);
    expect(await reader.fill(new Uint8Array(50))).toBe(50);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    const waiting = byteReader(watched(never), signal).fill(room());
    waiting.catch(() => {});
    await sleep(1);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
  });

  test("works for a source that does not return promises", async () => {
    const content = watched((count) =>
      count === 0
        ? (piece(1, 2) as unknown as Promise<IteratorResult<Uint8Array>>)
        : Promise.resolve({ done: true, value: undefined }),
    );
    const { signal } = new AbortController();
    expect(await byteReader(content, signal).fill(room())).toBe(2);
  });
});
