import { expect, test } from "bun:test";
import { runTiny } from "./run-tiny.ts";

test("reads back every content, traces memory, and judges each use", async () => {
  const { measurements, targets } = await runTiny("leaks");
  expect(measurements.map(({ name }) => name)).toEqual([
    "10 rounds, one by one",
    "10 rounds, compressed",
    "10 rounds, many small",
    "10 rounds, with threads",
  ]);
  for (const { memory } of measurements) expect(memory).toHaveLength(10);
  expect(targets.map(({ name, most }) => [name, most])).toEqual([
    ["one by one: growth in each round", 2048],
    ["compressed: growth in each round", 2048],
    ["many small: growth in each round", 2048],
    ["with threads: growth in each round", 40_960],
  ]);
}, 120_000);
