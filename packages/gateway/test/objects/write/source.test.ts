import { expect, test } from "bun:test";
import { failureOf } from "../support.ts";
import { createSource } from "../../../src/objects/write/source.ts";

/** A body that gives what the test sends. */
function controlled() {
  type Pull = ReturnType<typeof Promise.withResolvers<IteratorResult<Uint8Array>>>;
  const waiting: Pull[] = [];
  let returned = false;
  const bytes: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const pull = Promise.withResolvers<IteratorResult<Uint8Array>>();
        waiting.push(pull);
        return pull.promise;
      },
      return: async () => {
        returned = true;
        return { done: true, value: undefined };
      },
    }),
  };
  const pull = () => waiting.shift()!;
  return {
    bytes,
    pulls: () => waiting.length,
    send: (...piece: number[]) => pull().resolve({ done: false, value: Uint8Array.from(piece) }),
    end: () => pull().resolve({ done: true, value: undefined }),
    fail: (error: Error) => pull().reject(error),
    returned: () => returned,
  };
}

test("an interrupted pull goes on, and the next call gets its piece", async () => {
  const body = controlled();
  const source = createSource(body.bytes);
  const first = source.next();
  source.interrupt();
  expect(await first).toBeUndefined();
  expect([source.hasEnded(), body.pulls()]).toEqual([false, 1]);
  body.send(1, 2);
  expect(await source.next()).toEqual(Uint8Array.of(1, 2));
  const end = source.next();
  body.end();
  expect([await end, source.hasEnded()]).toEqual([undefined, true]);
});

test("a body that fails while nobody waits does not pass for one that ended", async () => {
  const body = controlled();
  const source = createSource(body.bytes);
  const first = source.next();
  source.interrupt();
  await first;
  body.fail(new Error("BadDigest"));
  await Bun.sleep(1);
  for (let i = 0; i < 2; i++) {
    expect((await failureOf(source.next())).message).toContain("BadDigest");
    expect((await failureOf(source.gather(1))).message).toContain("BadDigest");
  }
  expect(source.hasEnded()).toBe(false);
});

test("bytes are held until they are taken, and pieces that follow pass through", async () => {
  const body = controlled();
  const source = createSource(body.bytes);
  const gathering = source.gather(3);
  body.send(1, 2);
  await Bun.sleep(1);
  body.send(3, 4);
  await gathering;
  expect(source.held()).toBe(4);
  expect(source.take()).toEqual(Uint8Array.of(1, 2, 3, 4));
  expect(source.held()).toBe(0);
  const next = source.next();
  body.send(5);
  expect(await next).toEqual(Uint8Array.of(5));
});

test("a signal rejects the call that waits, and cancelling ends the body", async () => {
  const body = controlled();
  const controller = new AbortController();
  const source = createSource(body.bytes, controller.signal);
  const next = source.next();
  controller.abort(new Error("gone"));
  expect((await failureOf(next)).message).toContain("gone");
  expect((await failureOf(source.next())).message).toContain("gone");
  source.cancel();
  expect(body.returned()).toBe(true);
});
