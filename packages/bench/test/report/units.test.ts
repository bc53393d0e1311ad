import { describe, expect, test } from "bun:test";
import type { Target } from "../../src/report/report.ts";
import {
  formatBound,
  formatBytes,
  formatChange,
  formatDelta,
  formatInterval,
  formatQuantity,
  formatRate,
  formatSpread,
  formatTime,
  formatValue,
} from "../../src/report/units.ts";

describe("formats", () => {
  test.each([
    [0, "0 s"],
    [1.5e-9, "1.50 ns"],
    [85e-9, "85.0 ns"],
    [999.9e-9, "1.00 µs"],
    [412e-6, "412 µs"],
    [0.00231, "2.31 ms"],
    [0.9999, "1.00 s"],
    [61.23, "61.2 s"],
    [4321, "4,321 s"],
  ])("time %p", (seconds, expected) => {
    expect(formatTime(seconds)).toBe(expected);
  });

  test("differences keep their sign", () => {
    expect([formatDelta(-0.0012), formatDelta(0.0012), formatDelta(0)]).toEqual([
      "−1.20 ms",
      "+1.20 ms",
      "+0 s",
    ]);
    expect([formatChange(-0.05), formatChange(0.4321)]).toEqual(["−5.0 %", "+43.2 %"]);
  });

  test("rates are in powers of ten, memory in powers of two", () => {
    expect([formatRate(454e6), formatRate(1_234e6), formatRate(1500)]).toEqual([
      "454 MB/s",
      "1,234 MB/s",
      "0.00150 MB/s",
    ]);
    expect([
      formatBytes(0),
      formatBytes(1000),
      formatBytes(1024),
      formatBytes(3 * 2 ** 30),
    ]).toEqual(["0 B", "1000 B", "1.00 KiB", "3.00 GiB"]);
  });

  test("formatSpread uses the farther end of the interval", () => {
    expect(formatSpread(2, { low: 1.9, high: 2.02, confidence: 0.95 })).toBe("± 5.0 %");
  });

  test.each<[Target["unit"], string]>([
    ["ratio", "1.25"],
    ["change", "+125.0 %"],
    ["seconds", "1.25 s"],
    ["bytes/s", "0.00000125 MB/s"],
    ["files/s", "1.25 files/s"],
    ["bytes", "1 B"],
    ["exponent", "1.25"],
    ["count", "1.25"],
  ])("a quantity in %s", (unit, expected) => {
    expect(formatQuantity(1.25, unit)).toBe(expected);
  });

  test("formatBound", () => {
    const target = { name: "x", value: 1, unit: "ratio", kind: "wall", verdict: "met" } as const;
    expect(formatBound({ ...target, least: 0.9 })).toBe("≥ 0.90");
    expect(formatBound({ ...target, most: 1.1 })).toBe("≤ 1.10");
    expect(formatBound({ ...target, least: 0.9, most: 1.1 })).toBe("0.90 to 1.10");
    const exactly = { ...target, unit: "bytes", least: 1_000_040, most: 1_000_040 } as const;
    expect(formatBound(exactly)).toBe("= 1,000,040 B");
  });

  test("a value just beyond its bound does not round to it", () => {
    const target = { name: "x", value: 0.8963, unit: "ratio", least: 0.9, kind: "wall" } as const;
    expect(formatValue({ ...target, verdict: "missed" })).toBe("0.89630");
    expect(formatValue({ ...target, value: 0.9049, verdict: "met" })).toBe("0.90");
    expect(formatValue({ ...target, value: 0.5, verdict: "missed" })).toBe("0.50");
    const bytes = { name: "x", value: 1_000_040, unit: "bytes", most: 1_000_000 } as const;
    expect(formatValue({ ...bytes, kind: "exact", verdict: "missed" })).toBe("1,000,040 B");
  });

  test("an exponent near 0 is 0, and a negative one has a minus sign", () => {
    expect(formatQuantity(-0.0049, "exponent")).toBe("0.00");
    expect(formatQuantity(-0.031, "exponent")).toBe("−0.03");
  });

  test("formatInterval is empty without an interval", () => {
    const target = {
      name: "x",
      value: 1,
      unit: "ratio",
      most: 1.1,
      kind: "wall",
      verdict: "met",
    } as const;
    expect(formatInterval(target)).toBe("");
    const interval = { low: 0.98, high: 1.12, confidence: 0.99 };
    expect(formatInterval({ ...target, interval })).toBe("0.98 to 1.12");
    const rates = { low: 92.1e6, high: 99e6, confidence: 0.99 };
    expect(formatInterval({ ...target, unit: "bytes/s", interval: rates })).toBe(
      "92.1 to 99.0 MB/s",
    );
    const times = { low: 0.9, high: 1.5, confidence: 0.99 };
    expect(formatInterval({ ...target, unit: "seconds", interval: times })).toBe(
      "900 ms to 1.50 s",
    );
  });
});
