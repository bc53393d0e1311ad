import { expect, test } from "bun:test";
import { printQueue, QUEUED_MAX } from "../../src/output/print-queue.ts";
import type { Meter } from "../../src/progress/meter.ts";
import type { Output } from "../../src/output/output.ts";
import { restoreReports } from "../../src/snapshots/progress/restore.ts";

test("what is queued is printed in order, and a caller that queues too much is asked to wait", async () => {
  const gate = Promise.withResolvers<void>();
  const printed: number[] = [];
  const queue = printQueue();
  const add = (each: number) =>
    queue.add(async () => {
      await gate.promise;
      printed.push(each);
    });
  for (let each = 0; each < QUEUED_MAX; each += 1) expect(add(each)).toBeUndefined();
  const waits = add(QUEUED_MAX);
  expect(waits).toBeInstanceOf(Promise);
  expect(printed).toEqual([]);
  gate.resolve();
  await waits;
  expect(printed).toEqual(Array.from({ length: QUEUED_MAX + 1 }, (_, at) => at));
  expect(add(0)).toBeUndefined();
  await queue.settled();
});

test("after a failure nothing more is printed, and only the end throws it", async () => {
  const printed: number[] = [];
  const queue = printQueue();
  for (let each = 0; each <= QUEUED_MAX; each += 1) {
    const waits = queue.add(async () => {
      if (each === 2) throw new Error("the pipe is closed");
      printed.push(each);
    });
    if (waits !== undefined) expect(await waits).toBeUndefined();
  }
  expect(printed).toEqual([0, 1]);
  expect(queue.settled()).rejects.toThrow("the pipe is closed");
});

test.each([true, false])(
  "a restore is asked to wait for the entries that it prints, with --json: %p",
  async (json) => {
    const gate = Promise.withResolvers<void>();
    const out = { json, report: () => gate.promise, result: () => gate.promise };
    const meter = { part: () => () => undefined } as unknown as Meter;
    const reports = restoreReports(
      meter,
      { out: out as unknown as Output },
      { target: "there", dryRun: true },
    );
    const path = Buffer.from("name");
    const entry = { kind: "entry", path, type: "file", action: "created" } as const;
    for (let each = 0; each < QUEUED_MAX; each += 1) {
      expect(reports.onEvent(each % 2 === 0 ? entry : { kind: "deleted", path })).toBeUndefined();
    }
    const waits = [reports.onEvent(entry), reports.onEvent({ kind: "deleted", path })];
    for (const each of waits) expect(each).toBeInstanceOf(Promise);
    gate.resolve();
    await Promise.all([...waits, reports.finish()]);
  },
);
