import { describe, expect, test } from "bun:test";
import {
  type Member,
  type Operation,
  fairShares,
  memberRate,
  providerRate,
  simulate,
} from "../../src/suites/shards/simulation.ts";
import { seededRandom } from "../../src/statistics/random.ts";
import { runTiny } from "./run-tiny.ts";

const SIZE = { blobs: 1e6, bytes: 1e6 };
const even: Member = { inFlight: 10, latency: 0.1, rate: 50e6, start: 2, spread: 0 };
const heads: Operation = { name: "heads", reads: 1, writes: 0, moves: false };
const gets: Operation = { ...heads, moves: true };
const copies: Operation = { name: "copies", reads: 1, writes: 1, moves: true };
const shared = { name: "small", reads: 1001, writes: 200, perShard: false };
const own = { ...shared, perShard: true };

describe("the rate of one machine", () => {
  const cases: [string, Operation, Member, number][] = [
    ["follows from requests in flight and their time", heads, even, 100],
    ["is limited by its bytes", gets, even, 50],
    ["is limited by pages that follow each other", heads, { ...even, inFlight: 5000 }, 10_000],
    ["is shared by a GET and a PUT", copies, { ...even, rate: Infinity }, 50],
  ];
  test.each(cases)("%s", (_, operation, member, rate) =>
    expect(memberRate(operation, SIZE, member)).toBeCloseTo(rate),
  );
});

test("a provider's rate is that of the requests of which it allows fewer", () => {
  expect(providerRate(heads, shared)).toBeCloseTo(1000);
  expect(providerRate(copies, shared)).toBe(200);
});

test("what some do not want, the others get", () => {
  expect(fairShares([1, 10, 10], 9)).toEqual([1, 4, 4]);
  expect(fairShares([1, 2, 3], Infinity)).toEqual([1, 2, 3]);
  expect(fairShares([6, 1], 4)).toEqual([3, 1]);
});

const seconds = (shards: number, provider = shared, member = even, operation = heads) =>
  simulate(operation, provider, SIZE, member, shards, seededRandom(1)) - member.start;

describe("shards", () => {
  test("are as many times as fast, until the provider's rate is reached", () => {
    expect(seconds(1)).toBeCloseTo(10_000, -2);
    // The largest of eight shares of names is a little larger than the mean.
    expect(seconds(1) / seconds(8)).toBeGreaterThan(7.9);
    expect(seconds(1) / seconds(8)).toBeLessThan(8);
    expect(seconds(1) / seconds(64)).toBeCloseTo(10, 0);
  });

  test("with a rate of their own go on", () => {
    expect(seconds(1, own) / seconds(64, own)).toBeGreaterThan(60);
  });

  test("wait for the slowest of them", () => {
    const mixed = { ...even, spread: 0.5 };
    expect(seconds(8, own, mixed)).toBeGreaterThan(1.3 * seconds(8, own));
  });

  test("take as long with the same seed", () => {
    const mixed = { ...even, spread: 0.5 };
    expect(seconds(256, shared, mixed)).toBe(seconds(256, shared, mixed));
  });
});

test("scaling --simulate shows the speed-up to 256 shards, and measures nothing", async () => {
  const { measurements, targets, notes } = await runTiny("scaling", undefined, {
    options: { simulate: true },
  });
  const names = targets.map(({ name }) => name);
  for (const operation of ["verify --server-checksums", "verify, check --read-data", "copy"]) {
    for (const count of [4, 16, 64, 256]) {
      expect(names).toContain(`speed-up, ${operation}: S3, one partition, ${count} shards`);
    }
  }
  expect(targets.filter(({ verdict }) => verdict !== "met")).toEqual([]);
  expect(measurements.every(({ x, cpuSamples }) => x?.unit === "shards" && !cpuSamples)).toBe(true);
  expect(notes.join("\n")).toContain(
    "verify --server-checksums: Backblaze B2, a new account: the provider's rate is that of 1 shard",
  );
});
