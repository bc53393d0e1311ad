import { expect, test } from "bun:test";
import { cpus } from "node:os";
import { loadWhileIdle, watchLoad } from "../../src/harness/machine.ts";

test("the load of the machine is what others use, from 0 to 1", async () => {
  const spinning = cpus().map(() =>
    Bun.spawn([process.execPath, "-e", "setTimeout(() => process.exit(), 20_000); for (;;) {}"]),
  );
  try {
    // Until they have started. A container may have fewer cores than the machine.
    let load = 0;
    for (let i = 0; i < 50 && load < 0.4; i++) load = await loadWhileIdle();
    expect(load).toBeGreaterThanOrEqual(0.4);
    expect(load).toBeLessThanOrEqual(1);
    const watch = watchLoad();
    await watch.look();
    expect(watch.isBusy()).toBe(true);
  } finally {
    for (const each of spinning) each.kill();
  }
});

test("a process that is measured is no load of others", async () => {
  const source = "setTimeout(() => process.exit(), 20_000); for (;;) {}";
  const spinning = cpus().map(() => Bun.spawn([process.execPath, "-e", source]));
  try {
    const loads = async (measured?: number) => {
      const found: number[] = [];
      for (let i = 0; i < 9; i++) found.push(await loadWhileIdle(measured));
      return found.toSorted((a, b) => a - b)[4]!;
    };
    for (let i = 0; i < 50 && (await loadWhileIdle()) < 0.4; i++);
    // All but one of them, which has a core at best, and shares it with whatever else is running.
    expect(await loads(spinning[0]!.pid)).toBeLessThan((await loads()) - 0.1 / cpus().length);
  } finally {
    for (const each of spinning) each.kill();
  }
});
