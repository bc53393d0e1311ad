import { describe, expect, test } from "bun:test";
import { measurementOf } from "../../src/harness/results.ts";
import { isShownMissed, ratioTarget } from "../../src/harness/targets.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const ROUNDS = 120;

/** Times of a busy machine: up to a third longer, and every tenth three times as long. */
function times(seconds: number, random: Random, rounds: number = ROUNDS) {
  const samples = Array.from({ length: rounds }, () => ({
    seconds: seconds * (1 + random() / 3) * (random() < 0.1 ? 3 : 1),
  }));
  return measurementOf({ name: "x", series: "x" }, samples, random);
}

function judged(ratio: number, seed: number, rounds: number = ROUNDS) {
  const random = seededRandom(seed);
  const parts = [times(0.003, random, rounds), times(0.001, random, rounds)];
  const whole = times(0.004 * ratio, random, rounds);
  return ratioTarget("whole to parts", { whole, parts }, { most: 1.1 }, random);
}

const SEEDS = Array.from({ length: 6 }, (_, seed) => seed);

describe("ratioTarget", () => {
  test("is the median over the rounds of the ratio to the sum of the parts", () => {
    const of = (samples: number[]) =>
      measurementOf(
        { name: "x", series: "x" },
        samples.map((seconds) => ({ seconds })),
        seededRandom(1),
      );
    const timed = { whole: of([4, 8, 30]), parts: [of([1, 2, 2]), of([1, 2, 3])] };
    const target = ratioTarget("a", timed, { most: 3 }, seededRandom(1));
    expect(target).toMatchObject({ value: 2, unit: "ratio", most: 3, met: true });
    expect(target.interval).toEqual({ low: 2, high: 6, confidence: 0.99 });
  });

  test("is always shown missed a fifth above the bound", () => {
    for (const seed of SEEDS) expect(isShownMissed(judged(1.32, seed))).toBe(true);
  });

  test("is never shown missed just below the bound", () => {
    for (const seed of SEEDS) expect(isShownMissed(judged(1.08, seed))).toBe(false);
  });

  test("is not met by a median above the bound, even if not shown missed", () => {
    const unsure = SEEDS.map((seed) => judged(1.15, seed, 5)).filter(({ value }) => value > 1.1);
    expect(unsure.length).toBeGreaterThan(0);
    for (const target of unsure) expect(target.met).toBe(false);
    expect(unsure.some((target) => !isShownMissed(target))).toBe(true);
  });

  test("requires the same number of samples of all measurements", () => {
    const random = seededRandom(1);
    const timed = { whole: times(1, random, 3), parts: [times(1, random, 4)] };
    expect(() => ratioTarget("a", timed, { most: 1 }, random)).toThrow(RangeError);
    expect(() => ratioTarget("a", { ...timed, parts: [] }, { most: 1 }, random)).toThrow(
      RangeError,
    );
  });
});

test("without an interval, the value decides", () => {
  const target = { name: "a", value: 2, unit: "seconds" as const, most: 1 };
  expect(isShownMissed({ ...target, met: false })).toBe(true);
  expect(isShownMissed({ ...target, met: true })).toBe(false);
});

test("a lower bound is shown missed if the whole interval is below it", () => {
  const target = { name: "a", value: 0.8, unit: "ratio" as const, least: 0.9, met: false };
  const interval = (low: number, high: number) => ({ low, high, confidence: 0.99 });
  expect(isShownMissed({ ...target, interval: interval(0.7, 0.85) })).toBe(true);
  expect(isShownMissed({ ...target, interval: interval(0.7, 0.95) })).toBe(false);
});
