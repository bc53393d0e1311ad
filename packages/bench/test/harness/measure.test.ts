import { expect, test } from "bun:test";
import {
  type Sample,
  interleavedSamples,
  isMet,
  spread,
  summarize,
} from "../../src/harness/measure.ts";

test("spread formats the median with the least and the greatest value", () => {
  expect(spread([3, 1, 2], 1)).toBe("2.0 (1.0 to 3.0)");
});

test("summarize takes each median separately", () => {
  const samples = [
    { seconds: 1, cpuSeconds: 30, peakRss: 200 },
    { seconds: 2, cpuSeconds: 10, peakRss: 300 },
    { seconds: 3, cpuSeconds: 20, peakRss: 100 },
  ];
  expect(summarize(samples)).toEqual({
    seconds: 2,
    cpuSeconds: 20,
    peakRss: 200,
    all: [1, 2, 3],
  });
});

test("interleavedSamples rotates the tasks and does not count the warm-up", async () => {
  const order: string[] = [];
  const task =
    (name: string) =>
    async (round: number): Promise<Sample> => {
      order.push(`${name}${round}`);
      return { seconds: round, cpuSeconds: 0, peakRss: 0 };
    };
  const samples = await interleavedSamples(2, { a: task("a"), b: task("b") });
  expect(order).toEqual(["a-1", "b-1", "b0", "a0", "a1", "b1"]);
  expect(samples.a.map(({ seconds }) => seconds)).toEqual([0, 1]);
  expect(samples.b).toHaveLength(2);
});

test("a value equal to its bound meets the target", () => {
  expect(isMet({ name: "", value: 2, least: 2 })).toBe(true);
  expect(isMet({ name: "", value: 1.99, least: 2 })).toBe(false);
  expect(isMet({ name: "", value: 1.25, most: 1.25 })).toBe(true);
  expect(isMet({ name: "", value: 1.26, most: 1.25 })).toBe(false);
  expect(isMet({ name: "", value: Number.NaN, least: 2 })).toBe(false);
});
