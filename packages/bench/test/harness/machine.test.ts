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
