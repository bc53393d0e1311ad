import { expect, test } from "bun:test";
import { watchMemory } from "../../src/harness/memory.ts";

test("memory that came and went shows in the peak, and in time", async () => {
  const stop = watchMemory(5);
  let memory: Uint8Array | undefined = new Uint8Array(200 * 2 ** 20).fill(1);
  await Bun.sleep(30);
  expect(memory[0]).toBe(1);
  memory = undefined;
  const { points, peak } = stop();
  expect(points.length).toBeGreaterThanOrEqual(3);
  expect(points[0]!.at).toBeLessThan(points.at(-1)!.at);
  expect(peak - points[0]!.rss).toBeGreaterThan(100 * 2 ** 20);
});

test("a trace has at most as many points as a report", async () => {
  const stop = watchMemory(1);
  await Bun.sleep(700);
  expect(stop().points.length).toBeLessThanOrEqual(500);
});
