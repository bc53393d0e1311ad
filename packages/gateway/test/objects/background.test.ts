import { expect, test } from "bun:test";
import type { ObjectsContext } from "../../src/objects/context.ts";
import { createBackground } from "../../src/objects/background.ts";

const DAY = 24 * 60 * 60_000;

test.each([
  ["nothing has changed", 0],
  ["something has changed", 1],
] as const)("a snapshot is stored at the end unless %s", async (_, changes) => {
  let seq = 10;
  let snapshots = 0;
  const looked = Promise.withResolvers<void>();
  const catalog = {
    lineage: async () => ({ snapshot: { seq: 10, time: 0, name: "" } }),
    nextSeq: async () => ++seq,
    purge: async () => {},
  };
  const context = { catalog, now: () => 2 * DAY, warn: () => {} } as unknown as ObjectsContext;
  const background = createBackground(context, true, {
    collect: async () => {},
    storePending: async () => {
      setTimeout(looked.resolve, 5);
    },
    snapshot: async () => {
      snapshots += 1;
    },
  });
  // It has looked once, and taken a number for that.
  await looked.promise;
  expect([seq, snapshots]).toEqual([11, 0]);
  seq += changes;
  await background.close();
  expect(snapshots).toBe(changes);
});
