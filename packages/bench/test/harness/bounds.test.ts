import { expect, test } from "bun:test";
import { boundsFor, calibrate } from "../../src/harness/bounds.ts";

test("seals, opens and hashes, and checks what it opens", async () => {
  const { seal, open, hash } = await boundsFor(1000);
  for (const work of [seal, open, hash]) work();
});

test("calibrates in rates that a machine can have", async () => {
  for (const rate of Object.values(await calibrate())) {
    expect(rate).toBeGreaterThan(1e6);
    expect(rate).toBeLessThan(1e12);
  }
});
