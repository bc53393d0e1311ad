import { expect, test } from "bun:test";
import { StorageError, wrapBackend } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { discard } from "../../src/objects/context.ts";
import { address } from "../catalog/behaviour/fixture.ts";

const BLOBS = Array.from({ length: 100 }, (_, index) => address(String(index)));

/** A store that refuses to delete, and how often it was asked to. */
function refusing(refusalOf: (name: string) => Error | undefined) {
  const asked: string[] = [];
  const backend = wrapBackend(memory(), {
    delete: () => async (name) => {
      asked.push(name);
      await Bun.sleep(1);
      const refusal = refusalOf(name);
      if (refusal !== undefined) throw refusal;
    },
  });
  return { backend, asked };
}

test("blobs are left to a sweep once the store is unavailable", async () => {
  const { backend, asked } = refusing(() => new StorageError("unavailable", "503"));
  expect(await discard({ backend }, BLOBS)).toBe(false);
  // What was in flight.
  expect(asked.length).toBeLessThanOrEqual(4);
});

test("a blob that may not be deleted stops no others", async () => {
  const locked = BLOBS[10]!;
  const refusal = new StorageError("permission", "locked");
  const { backend, asked } = refusing((name) => (name === locked ? refusal : undefined));
  expect(await discard({ backend }, BLOBS)).toBe(false);
  expect(asked.toSorted()).toEqual(BLOBS.toSorted());
});

test("no blob is deleted once the signal has fired", async () => {
  const stopped = new AbortController();
  const { backend, asked } = refusing((name) => {
    if (name === BLOBS[0]) stopped.abort();
    return undefined;
  });
  expect(await discard({ backend }, BLOBS, stopped.signal)).toBe(false);
  expect(asked.length).toBeLessThan(BLOBS.length);
});
