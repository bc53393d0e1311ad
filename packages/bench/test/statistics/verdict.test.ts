import { expect, test } from "bun:test";
import { verdictOf } from "../../src/statistics/verdict.ts";

const pair = { base: "plain", head: "encrypted" };
const interval = (low: number, high: number) => ({ low, high, confidence: 0.95 });

test("an interval that includes zero is no difference", () => {
  expect(
    verdictOf({ ...pair, meanDelta: 0.001, interval: interval(-0.0005, 0.0025), overhead: 0.01 }),
  ).toBe("the 95 % interval, −500 µs to 2.50 ms, includes zero: no measurable difference");
});

test("otherwise the slower one is named, and by how much of the faster one's time", () => {
  expect(
    verdictOf({ ...pair, meanDelta: 0.02, interval: interval(0.01, 0.03), overhead: 0.25 }),
  ).toBe(
    "encrypted is slower than plain by 20.0 ms on average, or 25.0 % (95 % interval of the difference: 10.0 ms to 30.0 ms)",
  );
  expect(
    verdictOf({ ...pair, meanDelta: -1.5, interval: interval(-2, -1), overhead: -0.2 }),
  ).toStartWith("plain is slower than encrypted by 1.50 s on average, or 25.0 %");
});
