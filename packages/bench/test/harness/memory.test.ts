import { expect, test } from "bun:test";
import { peakRss, watchMemory } from "../../src/harness/memory.ts";

test("records memory over time and its peak", async () => {
  // Memory that other tests left to this process would be used again, and would not show.
  Bun.gc(true);
  const stop = watchMemory(5);
  let memory: Uint8Array | undefined = new Uint8Array(200 * 2 ** 20).fill(1);
  await Bun.sleep(30);
  expect(memory[0]).toBe(1);
  memory = undefined;
  const { points, peak } = stop();
  expect(points.length).toBeGreaterThanOrEqual(3);
  expect(points[0]!.at).toBeLessThan(points.at(-1)!.at);
  expect(points[0]!.heap).toBeGreaterThan(1000);
  expect(peak - points[0]!.rss).toBeGreaterThan(100 * 2 ** 20);
});

test("keeps at most 500 points, the limit of a report", async () => {
  const stop = watchMemory(1);
  await Bun.sleep(700);
  expect(stop().points.length).toBeLessThanOrEqual(500);
});

const MIB = 2 ** 20;

test.skipIf(process.platform !== "linux")(
  "the peak of a process excludes that of its parent (Linux)",
  async () => {
    const large = new Uint8Array(400 * MIB).fill(1);
    const own = peakRss();
    expect(own).toBeGreaterThan(large.length);
    const script = `import { peakRss } from "${import.meta.dir}/../../src/harness/memory.ts"; console.log(peakRss());`;
    const child = Bun.spawn([process.execPath, "--eval", script], { stdout: "pipe" });
    const peak = Number(await new Response(child.stdout).text());
    expect(peak).toBeGreaterThan(10 * MIB);
    expect(peak).toBeLessThan(own - 200 * MIB);
  },
);
