import { expect, test } from "bun:test";
import { TASKS } from "../../src/compare/round/task-list.ts";
import { findingsOf } from "../../src/suites/object-store/counters.ts";

const find = (name: string) => TASKS.find((task) => task.name === name)!;

test.each([
  ["put-store-64m", 1, 0],
  ["put-store-64m", 2, 2],
  ["get-memory-64m", 6, 6],
  ["stream-up-64m", 64, 8],
  ["put-store-8m", 64, 0],
])("%s has its threads, on %d cores %d: no fewer, no more", (name, cores, expected) => {
  const of = (threads: number) => findingsOf(find(name), { threads }, cores).targets[0]!.verdict;
  expect([expected, expected - 1, expected + 1].map(of)).toEqual(["met", "missed", "missed"]);
  expect(findingsOf(find(name), { threads: 1 }, cores).counters).toEqual([]);
});

test("bytes hashed over a store may differ by those of signatures, and no other counts", () => {
  const of = (name: string) => findingsOf(find(name), { PUT: 1, bytesHashed: 68_000 }, 2).counters;
  expect(of("put-store-many").map(({ tolerance }) => tolerance)).toEqual([undefined, 0.01]);
  expect(of("put-memory").map(({ tolerance }) => tolerance)).toEqual([undefined, undefined]);
  expect(findingsOf(find("maintain-store"), { bytesReceived: 1 }, 2).counters).toEqual([]);
});
