import { expect, test } from "bun:test";
import { checkArchive } from "../../src/read/index.ts";
import type { SegmentMetadata } from "../../src/segments/metadata.ts";
import { DAY, exchange, identity, other, RUN, testArchive, totals } from "./support.ts";

test("an archive that is whole has no problems, and its runs are summed up", async () => {
  const archive = testArchive();
  const first = await archive.add([exchange(0, 0), exchange(1, 100)]);
  await archive.add([exchange(2, 200)], {
    seq: 1,
    prev: first,
    end: "closed",
    totals: totals({ seen: 10, stored: 3, notKept: 4, dropped: { queue: 2, spool: 1 } }),
  });
  const later = "e".repeat(32);
  await archive.add([], {
    run: later,
    seq: 7,
    from: DAY + 1,
    to: DAY + 1,
    end: "lost",
    totals: totals({ seen: 10, stored: 5, bodiesDropped: 1 }),
  });
  await archive.add([exchange(9, 9)], {}, other.recipient);
  await archive.store.put("not a segment", { recipients: [identity.recipient] });
  const report = await checkArchive(archive.store);
  expect(report).toMatchObject({ segments: 3, exchanges: 3, closed: 1, other: 1, problems: [] });
  expect(report.runs).toEqual([
    {
      run: RUN,
      from: DAY,
      to: DAY + 200,
      segments: 2,
      exchanges: 3,
      firstSeq: 0,
      totals: totals({ seen: 10, stored: 3, notKept: 4, dropped: { queue: 2, spool: 1 } }),
      lost: 0,
      end: "closed",
    },
    {
      run: later,
      from: DAY + 1,
      to: DAY + 1,
      segments: 1,
      exchanges: 0,
      firstSeq: 7,
      totals: totals({ seen: 10, stored: 5, bodiesDropped: 1 }),
      lost: 5,
      end: "lost",
    },
  ]);
});

test("segments that are missing between others are found", async () => {
  const archive = testArchive();
  const first = await archive.add([exchange(0, 0)], { seq: 2 });
  const second = await archive.add([exchange(1, 1)], { seq: 3, prev: first });
  const missing = await archive.add([exchange(2, 2)], { seq: 4, prev: second });
  await archive.add([exchange(3, 3)], { seq: 7, prev: missing });
  await archive.backend.delete(missing);
  const { problems, runs } = await checkArchive(archive.store);
  expect(problems).toEqual([{ kind: "gap", run: RUN, from: 4, to: 6 }]);
  expect(runs[0]).toMatchObject({ firstSeq: 2, end: "open", lost: 0 });
});

test("segments outside of the given times are no gap between others", async () => {
  const archive = testArchive();
  const first = await archive.add([exchange(0, 1000)], { from: DAY + 1000 });
  const early = await archive.add([exchange(1, 10)], {
    seq: 1,
    prev: first,
    from: DAY,
    to: DAY + 10,
  });
  const late = await archive.add([exchange(2, 1000)], { seq: 2, prev: early, from: DAY + 1000 });
  const times = { from: DAY + 500 };
  const { problems, runs, segments } = await checkArchive(archive.store, times);
  expect(problems).toEqual([]);
  expect(segments).toBe(2);
  expect(runs).toMatchObject([{ segments: 2, exchanges: 2, firstSeq: 0 }]);
  // What was stored before the first of them may be gone.
  await archive.add([exchange(4, 1000)], { seq: 4, prev: late, from: DAY + 1000 });
  expect((await checkArchive(archive.store, times)).problems).toEqual([
    { kind: "gap", run: RUN, from: 3, to: 3 },
  ]);
  await archive.backend.delete(early);
  expect((await checkArchive(archive.store, times)).problems).toEqual([
    { kind: "gap", run: RUN, from: 1, to: 1 },
    { kind: "gap", run: RUN, from: 3, to: 3 },
  ]);
  expect((await checkArchive(archive.store, { from: DAY + 5000 })).runs).toEqual([]);
});

test("the totals of a run do not depend on the order in which segments arrive", async () => {
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const archive = testArchive();
    const made: (readonly [number, Partial<SegmentMetadata>])[] = [
      [1, { seq: 1, end: "lost", totals: totals({ seen: 9 }) }],
      [2, { seq: 1, totals: totals({ seen: 2 }) }],
      [3, { seq: 1, totals: totals({ seen: 3 }) }],
    ];
    const addresses: string[] = [];
    for (const [number, metadata] of made) {
      addresses.push(await archive.add([exchange(number, 0)], metadata));
    }
    const { backend } = archive;
    const entries = await Array.fromAsync(backend.list(""));
    const inOrder = order.map((index) => entries.find(({ name }) => name === addresses[index])!);
    const sorted = testArchive({
      ...backend,
      list: async function* () {
        await Promise.resolve();
        yield* inOrder;
      },
    });
    const { runs } = await checkArchive(sorted.store);
    expect(runs[0]).toMatchObject({ end: "open", totals: { seen: 3 } });
  }
});

test("segments that were replaced or made up are found", async () => {
  const archive = testArchive();
  const first = await archive.add([exchange(0, 0)]);
  const forged = await archive.add([exchange(8, 0)]);
  const next = await archive.add([exchange(1, 1)], { seq: 1, prev: "0".repeat(64) });
  await archive.add([exchange(2, 2)], { seq: 2, prev: next });
  const { problems } = await checkArchive(archive.store);
  expect(problems).toHaveLength(2);
  expect(problems[0]).toMatchObject({ kind: "duplicate", run: RUN, seq: 0 });
  expect(problems[0]).toHaveProperty("addresses", expect.arrayContaining([first, forged]));
  expect(problems[1]).toEqual({ kind: "chain", run: RUN, seq: 1, address: next });
});

test("a run that goes on after it was taken for lost is no problem", async () => {
  const archive = testArchive();
  const first = await archive.add([exchange(0, 0)]);
  await archive.add([], { seq: 1, prev: first, end: "lost" });
  const resumed = await archive.add([exchange(1, 1)], { seq: 1, prev: first });
  await archive.add([exchange(2, 2)], { seq: 2, prev: resumed, end: "closed" });
  const { problems, runs } = await checkArchive(archive.store);
  expect(problems).toEqual([]);
  expect(runs[0]!.end).toBe("closed");
});

test("damaged segments and lines are found", async () => {
  const archive = testArchive();
  const lines = await archive.add([exchange(0, 0), "nonsense"], { count: 5 });
  const damaged = await archive.add([exchange(1, 1)], { seq: 1, prev: lines });
  await archive.backend.delete(damaged);
  await archive.backend.put(damaged, Buffer.from("rotten"));
  const { problems } = await checkArchive(archive.store);
  expect(problems).toHaveLength(2);
  expect(problems).toContainEqual({
    kind: "lines",
    address: lines,
    damaged: 1,
    count: 2,
    announced: 5,
  });
  const { error } = problems.find(({ kind }) => kind === "damaged") as unknown as {
    error: { code: string };
  };
  expect(error.code).toBe("address");
});
