import { expect, test } from "bun:test";
import { lookup, measurementOf } from "../../src/harness/results.ts";
import { filesTargets } from "../../src/suites/object-store/small-files.ts";

const MIB = 2 ** 20;
/** Seconds for 10,000 objects. */
const SECONDS = {
  "put, bare requests": 6,
  "get, bare requests": 4,
  "head, bare requests": 2,
  "put, command": 8,
  "get, command": 6,
  "ls --long, command": 1.5,
  "verify --server-checksums, command": 1.5,
};

function targets(
  slower: Partial<Record<keyof typeof SECONDS, number>>,
  {
    count = 10_000,
    rtt,
    peakRss = 200 * MIB,
  }: { count?: number; rtt?: number; peakRss?: number } = {},
) {
  const measurements = Object.entries({ ...SECONDS, ...slower }).map(([name, seconds]) =>
    measurementOf(
      { name, series: name },
      Array.from({ length: 5 }, () => ({ seconds, peakRss })),
    ),
  );
  return filesTargets(count, lookup(measurements), rtt);
}

const missed = (...given: Parameters<typeof targets>) =>
  targets(...given).flatMap(({ name, verdict }) => (verdict === "met" ? [] : [name]));

test("many files are compared with bare requests, and lists have a time", () => {
  expect(missed({})).toEqual([]);
  expect(missed({ "put, command": 13 })).toEqual(["put, command: rate to that of bare requests"]);
  expect(missed({ "get, command": 9 })).toEqual(["get, command: rate to that of bare requests"]);
  expect(missed({ "ls --long, command": 3.5 })).toEqual(["ls --long, command: time"]);
  expect(missed({ "verify --server-checksums, command": 3.5 })).toEqual([
    "verify --server-checksums, command: time",
  ]);
  expect(missed({ "verify --server-checksums, command": 5 })).toContain(
    "verify --server-checksums, command: rate to that of bare requests",
  );
});

test("of a few, only the memory is judged", () => {
  expect(targets({}, { count: 500 }).map(({ unit }) => unit)).toEqual(Array(4).fill("bytes"));
  expect(missed({}, { count: 500, peakRss: 257 * MIB })).toHaveLength(4);
});

test("far away, 500 have a second each way, and more or farther ones as much more", () => {
  const most = (count: number, rtt: number) => targets({}, { count, rtt })[0]!.most!;
  expect(targets({}, { count: 500, rtt: 50 })[0]).toMatchObject({ goal: 1, unit: "seconds" });
  expect(most(1000, 50)).toBe(2 * most(500, 50));
  expect(most(500, 100)).toBe(2 * most(500, 50));
  expect(most(20, 1)).toBe(most(500, 50));
  const times = { "put, command": 1.5, "get, command": 2.5 };
  expect(missed(times, { count: 500, rtt: 50 })).toEqual(["get, command: time"]);
});
