import fc from "fast-check";
import { expect, test } from "bun:test";
import {
  along,
  amountAxis,
  linearAxis,
  logTicks,
  nonOverlapping,
} from "../../src/report/html/charts/axis.ts";
import { pushApart } from "../../src/report/html/charts/lines.ts";
import {
  tickBytes,
  tickChange,
  tickRate,
  tickSize,
  tickTime,
} from "../../src/report/html/tick-units.ts";

test("an axis starts at zero unless values span decades", () => {
  expect(amountAxis([40, 80, 100], 5)).toEqual({
    type: "linear",
    domain: [0, 106],
    ticks: [0, 25, 50, 75, 100],
  });
  const log = amountAxis([1e-6, 0.05], 7);
  expect(log.type).toBe("log");
  expect(log.ticks).toEqual([1e-6, 1e-5, 1e-4, 1e-3, 1e-2]);
});

test("ticks are round multiples of the unit", () => {
  const { ticks } = amountAxis([180 * 2 ** 20], 5, 2 ** 20);
  expect(ticks.map(tickBytes)).toEqual(["0", "50 MiB", "100 MiB", "150 MiB"]);
});

test("ticks are inside the axis, at least two, and at most as many as fit", () => {
  const range = fc.tuple(
    fc.double({ min: 1e-9, max: 1e9, noNaN: true }),
    fc.double({ min: 1.05, max: 1e9, noNaN: true }),
  );
  fc.assert(
    fc.property(range, fc.integer({ min: 2, max: 12 }), ([low, factor], most) => {
      const ticks = logTicks([low, low * factor], most);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThanOrEqual(most);
      for (const tick of ticks) expect(tick >= low && tick <= low * factor).toBe(true);
      const linear = linearAxis(-low, low * factor, most).ticks;
      expect(linear.length).toBeGreaterThan(0);
      expect(linear.length).toBeLessThanOrEqual(most + 1);
    }),
  );
});

test("overlapping tick labels are omitted, and names of lines are moved apart", () => {
  const axis = { type: "log", domain: [1, 1024], ticks: [] } as const;
  expect(along(axis, 32)).toBeCloseTo(0.5);
  expect(nonOverlapping(axis, [1, 2, 4, 1024, 8], 100, 25)).toEqual([1, 8, 1024]);
  expect(pushApart([50, 10, 52, 51], 10, 100)).toEqual([50, 10, 70, 60]);
  expect(pushApart([98, 99], 10, 100)).toEqual([90, 100]);
});

test("ticks are formatted with few digits", () => {
  expect([0, 2e-9, 0.0025, 1, 90].map(tickTime)).toEqual(["0", "2 ns", "2.5 ms", "1 s", "90 s"]);
  expect([-0.002, 0.9999].map(tickTime)).toEqual(["−2 ms", "1 s"]);
  expect([1e3, 1e6, 25.1e6, 65_536, 1_048_576].map(tickSize)).toEqual([
    "1 KB",
    "1 MB",
    "25.1 MB",
    "64 KiB",
    "1 MiB",
  ]);
  expect([5e5, 1e8, 2e9].map(tickRate)).toEqual(["500 KB/s", "100 MB/s", "2 GB/s"]);
  expect([-0.1, 0.025].map(tickChange)).toEqual(["−10 %", "+2.5 %"]);
});
