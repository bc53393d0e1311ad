import { expect, spyOn, test } from "bun:test";
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

test("a snapshot that fails is tried again after 1, 5 and 30 minutes, and then every hour", async () => {
  let seq = 10;
  let minute = 0;
  let fails = true;
  const attempts: number[] = [];
  const catalog = {
    lineage: async () => ({ snapshot: { seq: 10, time: 0, name: "" } }),
    nextSeq: async () => (seq += 2),
    purge: async () => {},
  };
  const context = { catalog, now: () => 2 * DAY, warn: () => {} } as unknown as ObjectsContext;
  const timer = spyOn(globalThis, "setInterval");
  const background = createBackground(context, true, {
    collect: async () => {},
    storePending: async () => {},
    snapshot: async () => {
      attempts.push(minute);
      if (fails) throw new Error("down");
    },
  });
  const [look, interval] = timer.mock.calls[0]!;
  timer.mockRestore();
  expect(interval).toBe(60_000);
  const pass = async (minutes: number): Promise<void> => {
    for (const end = minute + minutes; minute < end;) {
      await Bun.sleep(0);
      minute += 1;
      (look as () => void)();
    }
    await Bun.sleep(0);
  };
  await pass(200);
  expect(attempts).toEqual([0, 1, 6, 36, 96, 156]);
  // Once it succeeds, it begins anew.
  fails = false;
  await pass(16);
  fails = true;
  await pass(7);
  expect(attempts.slice(6)).toEqual([216, 217, 218, 223]);
  await background.close();
});
