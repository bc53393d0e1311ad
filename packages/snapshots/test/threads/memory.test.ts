import { expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import { memoryKeeper, memoryOfRuntime } from "../../src/threads/memory.ts";

const MIB = 2 ** 20;

test("what is not needed is freed each time that memory has grown by 8 MiB", () => {
  let [used, garbage, frees] = [100, 0, 0];
  const memory = {
    used: () => (used + garbage) * MIB,
    free() {
      frees += 1;
      garbage = 0;
    },
  };
  const keep = memoryKeeper(memory, () => 0);
  const after = (more: { used?: number; garbage?: number }): number => {
    used += more.used ?? 0;
    garbage += more.garbage ?? 0;
    keep();
    return frees;
  };
  expect(after({ garbage: 7 })).toBe(0);
  expect(after({ garbage: 1 })).toBe(1);
  expect(after({ garbage: 7 })).toBe(1);
  // What stays in use is no reason to look again.
  expect(after({ used: 50 })).toBe(2);
  expect(after({})).toBe(2);
  // What was given back makes room for less than before.
  expect(after({ used: -30 })).toBe(2);
  expect(after({ garbage: 8 })).toBe(3);
  memoryKeeper(undefined)();
});

test("freeing takes a twentieth of the time at most", () => {
  let [used, now, frees] = [100 * MIB, 1000, 0];
  const memory = {
    used: () => used,
    free() {
      frees += 1;
      now += 10;
    },
  };
  const keep = memoryKeeper(memory, () => now);
  for (let at = 0; at < 1000; at += 1) {
    used += 16 * MIB;
    now += 1;
    keep();
  }
  expect(frees).toBe(5);
});

test("the runtime frees what nothing refers to", async () => {
  const memory = (await memoryOfRuntime())!;
  let freed = 0;
  const registry = new FinalizationRegistry(() => {
    freed += 1;
  });
  for (let i = 0; i < 100; i += 1) registry.register({}, i);
  memory.free();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(freed).toBeGreaterThan(50);
  expect(memory.used()).toBeGreaterThan(MIB);
});

test("the runtime gives back at once what is free", async () => {
  const memory = (await memoryOfRuntime())!;
  memory.free();
  const before = heapStats().heapCapacity;
  const fill = (): number => {
    const held = Array.from({ length: 300_000 }, (_, i) => ({ i, at: { i } }));
    return heapStats().heapCapacity - held.length + 300_000;
  };
  const full = fill();
  expect(full - before).toBeGreaterThan(16 * MIB);
  memory.free();
  expect(heapStats().heapCapacity - before).toBeLessThan((full - before) / 4);
});
