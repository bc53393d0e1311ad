import { describe, expect, test } from "bun:test";
import pLimit from "p-limit";
import { untilAborted } from "../src/abort.ts";
import { inTurn } from "../src/queue.ts";
import { outcome } from "./support.ts";

/** A queue with one call in it, which ends when it is told to. */
function busyQueue() {
  const queue = pLimit(1);
  const held = Promise.withResolvers<void>();
  const first = queue(() => held.promise);
  return { queue, first, end: () => held.resolve() };
}

describe("a call in its turn", () => {
  test("begins when those before it have ended", async () => {
    const { queue, end } = busyQueue();
    const { signal } = new AbortController();
    const order: string[] = [];
    const all = ["a", "b", "c"].map((name) =>
      inTurn(queue, async () => order.push(name), name === "b" ? undefined : signal),
    );
    await Bun.sleep(1);
    expect(order).toEqual([]);
    end();
    await Promise.all(all);
    expect(order).toEqual(["a", "b", "c"]);
  });

  test("does not begin if it is aborted before, and leaves the queue to others", async () => {
    const { queue, end } = busyQueue();
    const controller = new AbortController();
    const waiting = inTurn(queue, async () => expect.unreachable(), controller.signal);
    const next = inTurn(queue, async () => "next", new AbortController().signal);
    controller.abort();
    expect(await outcome(waiting)).toBe("aborted");
    const late = inTurn(queue, async () => expect.unreachable(), controller.signal);
    expect(await outcome(late)).toBe("aborted");
    end();
    expect(await next).toBe("next");
  });

  test("is told of an abort in the moment in which it begins", async () => {
    const { queue, first, end } = busyQueue();
    end();
    await first;
    const controller = new AbortController();
    const begun = inTurn(queue, async () => controller.signal.aborted, controller.signal);
    controller.abort();
    expect(await begun).toBe(true);
  });

  test("is not kept after an abort", async () => {
    const { queue, end } = busyQueue();
    const abortOne = async (): Promise<WeakRef<object>> => {
      const content = { bytes: new Uint8Array(2 ** 20) };
      const controller = new AbortController();
      const call = inTurn(queue, async () => content.bytes[0], controller.signal);
      controller.abort();
      expect(await outcome(call)).toBe("aborted");
      return new WeakRef(content);
    };
    const refs = await Promise.all(Array.from({ length: 40 }, abortOne));
    // One collection: what is let go of only by it stays until the next.
    await Bun.sleep(1);
    Bun.gc(true);
    // The stack may still hold some.
    expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(20);
    end();
  });
});

test("a wait ends as the promise does, unless its signal has fired", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  const failed = untilAborted(Promise.reject(new Error("no")), signal);
  expect(await failed.catch((error: Error) => error.message)).toBe("no");
  const waiting = untilAborted(new Promise(() => {}), signal);
  const failing = Promise.withResolvers<never>();
  const lost = untilAborted(failing.promise, signal);
  controller.abort();
  expect(await outcome(waiting)).toBe("aborted");
  expect(await outcome(lost)).toBe("aborted");
  // Nobody waits for it any more, and it is no unhandled rejection.
  failing.reject(new Error("later"));
  await Bun.sleep(1);
  expect(await outcome(untilAborted(Promise.resolve(1), signal))).toBe("aborted");
});
