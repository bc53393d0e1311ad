import { expect, test } from "bun:test";
import { calibrate } from "../../src/harness/calibration.ts";

test("measures plausible rates of hashing, sealing and copying", async () => {
  const rates = Object.values(await calibrate());
  expect(rates).toHaveLength(3);
  for (const rate of rates) {
    expect(rate).toBeGreaterThan(1e6);
    expect(rate).toBeLessThan(1e12);
  }
});
