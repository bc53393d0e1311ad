import { describe, expect, test } from "bun:test";
import { availableParallelism } from "node:os";
import type { LoadWatch } from "../../src/harness/machine.ts";
import { measurementOf } from "../../src/harness/results.ts";
import {
  exactTarget,
  exponentTarget,
  lackCores,
  ratioTarget,
  sampledTarget,
  timeTarget,
  unlessBusy,
  verdictOf,
} from "../../src/harness/targets.ts";
import type { Target } from "../../src/report/report.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";

const interval = (low: number, high: number) => ({ low, high, confidence: 0.99 });

describe("a verdict", () => {
  const at = (value: number, low: number, high: number, kind: "cpu" | "wall" = "wall") =>
    verdictOf({ value, interval: interval(low, high), kind, most: 1.1 });

  test("is clear if the whole interval is on one side of the bound", () => {
    expect(at(1, 0.5, 1.1)).toBe("met");
    expect(at(2, 1.11, 9)).toBe("missed");
  });

  test("is met inside a narrow interval by the value", () => {
    expect(at(1.05, 1, 1.15)).toBe("met");
    expect(at(1.12, 1, 1.15)).toBe("inconclusive");
  });

  test("is inconclusive if the interval is wide: noise does not pass", () => {
    expect(at(1.05, 0.2, 4.2)).toBe("inconclusive");
    expect(at(1.05, 1, 1.3)).toBe("met");
    expect(at(1.05, 1, 1.3, "cpu")).toBe("inconclusive");
    expect(at(1.05, 0.7, 1.12)).toBe("inconclusive");
  });

  test("judges a lower bound likewise", () => {
    const of = (value: number, low: number, high: number) =>
      verdictOf({ value, interval: interval(low, high), kind: "cpu", least: 0.9 });
    expect(of(0.8, 0.7, 0.85)).toBe("missed");
    expect(of(0.88, 0.7, 0.95)).toBe("inconclusive");
    expect(of(0.95, 0.88, 1)).toBe("met");
    expect(of(0.95, 0.19, 4.23)).toBe("inconclusive");
  });

  test("is decided by the value if there is no spread, and never met by NaN", () => {
    expect(exactTarget("a", 2, "count", { most: 2 }).verdict).toBe("met");
    expect(exactTarget("a", 3, "count", { most: 2 }).verdict).toBe("missed");
    expect(exactTarget("a", Number.NaN, "count", { most: 2 }).verdict).toBe("missed");
  });
});

const HOW = { unit: "seconds", kind: "wall" } as const;

test("too few samples do not meet a target, but can miss it", () => {
  const judge = (samples: number[]) => sampledTarget("a", samples, { most: 1 }, HOW).verdict;
  expect(judge([0.1, 0.1, 0.1, 0.1])).toBe("inconclusive");
  expect(judge([0.1, 0.1, 0.1, 0.1, 0.1])).toBe("met");
  expect(judge([2, 2, 2])).toBe("missed");
  expect(judge([])).toBe("missed");
});

const ROUNDS = 120;

/** Times of a busy machine: up to a third longer, and every tenth three times as long. */
function times(seconds: number, random: Random, rounds: number = ROUNDS) {
  const samples = Array.from({ length: rounds }, () => ({
    seconds: seconds * (1 + random() / 3) * (random() < 0.1 ? 3 : 1),
  }));
  return measurementOf({ name: "x", series: "x" }, samples);
}

function judged(ratio: number, seed: number, rounds: number = ROUNDS) {
  const random = seededRandom(seed);
  const to = [times(0.003, random, rounds), times(0.001, random, rounds)];
  const of = times(0.004 * ratio, random, rounds);
  return ratioTarget("whole to parts", { of, to }, { most: 1.1 });
}

const SEEDS = Array.from({ length: 6 }, (_, seed) => seed);

describe("a ratio", () => {
  const of = (samples: number[], cpu: number[] = samples) =>
    measurementOf(
      { name: "x", series: "x" },
      samples.map((seconds, i) => ({ seconds, cpuSeconds: cpu[i] })),
    );

  test("is the median over the rounds of the ratio to the sum of the parts", () => {
    const ratio = { of: of([4, 8, 30, 4, 4]), to: [of([1, 2, 2, 1, 1]), of([1, 2, 3, 1, 1])] };
    const target = ratioTarget("a", ratio, { most: 3 });
    expect(target).toMatchObject({ value: 2, unit: "ratio", most: 3, kind: "wall" });
    expect(target.interval!.low).toBe(2);
  });

  test("compares CPU time if asked to", () => {
    const ratio = { of: of([9, 9, 9], [2, 2, 2]), to: of([1, 1, 1]), kind: "cpu" } as const;
    expect(ratioTarget("a", ratio, { most: 3 })).toMatchObject({ value: 2 });
  });

  test("is always missed a fifth above the bound", () => {
    for (const seed of SEEDS) expect(judged(1.32, seed).verdict).toBe("missed");
  });

  test("is never missed just below the bound", () => {
    for (const seed of SEEDS) expect(judged(1.08, seed).verdict).not.toBe("missed");
  });

  test("is not met by a median above the bound", () => {
    for (const target of SEEDS.map((seed) => judged(1.15, seed, 8))) {
      if (target.value > 1.1) expect(target.verdict).not.toBe("met");
    }
  });

  test("requires the same number of samples of all measurements", () => {
    const random = seededRandom(1);
    const unequal = { of: times(1, random, 3), to: times(1, random, 4) };
    for (const ratio of [unequal, { ...unequal, to: [] }]) {
      expect(() => ratioTarget("a", ratio, { most: 1 })).toThrow(RangeError);
    }
    const noCpu = { of: times(1, random), to: times(1, random), kind: "cpu" } as const;
    expect(() => ratioTarget("a", noCpu, { most: 1 })).toThrow(RangeError);
  });
});

describe("a target of elapsed time on a busy machine", () => {
  const [low, high] = [0.15, 0.2];
  const target = (bound: { least: number } | { most: number }): Target => {
    const about = { value: 0.18, interval: interval(low, high), kind: "wall", ...bound } as const;
    return { name: "rate", unit: "ratio", ...about, verdict: verdictOf(about) };
  };

  test("is inconclusive if it would be missed, against the baseline too", () => {
    const [rate, time] = [{ least: 0.25 }, { most: 0.1 }].map((bound) => target(bound));
    for (const one of [rate!, time!]) {
      expect(unlessBusy(one, false)).toEqual(one);
      expect(one.verdict).toBe("missed");
      expect(unlessBusy(one, true)).toMatchObject({ value: 0.18, verdict: "inconclusive" });
    }
    expect(verdictOf({ ...unlessBusy(rate!, true), least: 0.3 })).toBe("inconclusive");
    expect(verdictOf({ ...unlessBusy(time!, true), most: 0.05 })).toBe("inconclusive");
  });

  test("is met if its whole interval keeps the bound, unless the samples are too few", () => {
    for (const one of [target({ least: 0.1 }), target({ most: 0.3 })]) {
      expect(unlessBusy(one, true).verdict).toBe("met");
      const few: Target = { ...one, verdict: "inconclusive" };
      expect(unlessBusy(few, true).verdict).toBe("inconclusive");
    }
  });
});

test("threads lack cores if work on one thread waits, if others use them, and on one core", () => {
  const alone = (seconds: number, cpuSeconds?: number) => {
    const samples = Array.from({ length: 5 }, () => ({ seconds, cpuSeconds }));
    return measurementOf({ name: "x", series: "x" }, samples);
  };
  const oneCore = availableParallelism() < 2;
  const watched = (isBusy: boolean): LoadWatch => ({ look: async () => {}, isBusy: () => isBusy });
  const idle = watched(false);
  expect(lackCores([alone(1.3, 1.1), alone(1.3, 1)], idle)).toBe(true);
  expect(lackCores([alone(1.3, 1.1)], idle)).toBe(oneCore);
  expect(lackCores([alone(1.3)], idle)).toBe(oneCore);
  // Another program on one core of two: the work found the other one.
  expect(lackCores([alone(1.3, 1.3)], watched(true))).toBe(true);
});

test("an absolute time is judged by its interval", () => {
  const random = seededRandom(1);
  expect(timeTarget("a", times(1, random), { most: 2 })).toMatchObject({
    verdict: "met",
    unit: "seconds",
  });
  expect(timeTarget("a", times(3, random), { most: 2 }).verdict).toBe("missed");
});

describe("an exponent", () => {
  const sizes = [1, 4, 16, 64, 256];
  const judge = (exponent: number, error = 0) => {
    const points = sizes.map(
      (x, i) => [x, x ** exponent * (1 + (i % 2 ? error : -error))] as const,
    );
    return exponentTarget("a", points, 1.1);
  };

  test("is judged with two standard errors", () => {
    expect(judge(1)).toMatchObject({ verdict: "met", unit: "exponent" });
    expect(judge(1.3).verdict).toBe("missed");
    expect(judge(1.05, 0.2).verdict).toBe("met");
    expect(judge(1.12, 0.1).verdict).toBe("inconclusive");
    expect(judge(1, 0.6).verdict).toBe("inconclusive");
  });

  test("is decided by the value with few sizes", () => {
    expect(exponentTarget("a", [[1, 1], [2, 4], [4, 16]], 1.1).verdict).toBe("missed"); // prettier-ignore
  });
});
