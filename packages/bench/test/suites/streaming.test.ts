import { expect, test } from "bun:test";
import { verdictOf } from "../../src/harness/targets.ts";
import type { Target } from "../../src/report/report.ts";
import { unlessBusy } from "../../src/suites/object-store/streaming.ts";

const slow: Target = {
  name: "down 10 MB: rate to that of bare requests",
  value: 0.18,
  interval: { low: 0.15, high: 0.2, confidence: 0.99 },
  unit: "ratio",
  least: 0.25,
  kind: "wall",
  verdict: "missed",
};

test("on a busy machine, a rate that is too low is inconclusive, against the baseline too", () => {
  const busy = unlessBusy(slow, 0.6);
  expect(busy).toMatchObject({ value: 0.18, verdict: "inconclusive" });
  expect(verdictOf({ ...busy, least: 0.3 })).toBe("inconclusive");
});

test("on a busy machine, too few samples stay inconclusive", () => {
  expect(unlessBusy({ ...slow, least: 0.1, verdict: "inconclusive" }, 0.6).verdict).toBe(
    "inconclusive",
  );
});

test("on a quiet machine it is missed, and a rate that is high enough is met on both", () => {
  expect(unlessBusy(slow, 0.1)).toEqual(slow);
  const fast: Target = { ...slow, least: 0.1, verdict: "met" };
  expect(unlessBusy(fast, 0.1).verdict).toBe("met");
  expect(unlessBusy(fast, 0.6).verdict).toBe("met");
});
