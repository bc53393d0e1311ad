import { expect, test } from "bun:test";
import { memoryTargets, plansFor } from "../../src/suites/object-store/streaming.ts";

test("100 MB is compared with bare requests at 4 MiB x 4 and x 3, and the longest are not", () => {
  const plans = plansFor({ quick: false }).map(({ setting, size, rounds, compared }) => [
    setting.concurrency,
    size / 1e6,
    rounds,
    compared,
  ]);
  expect(plans).toEqual([
    [4, 10, 5, true],
    [4, 50, 2, false],
    [4, 100, 5, true],
    [4, 500, 2, false],
    [3, 100, 5, true],
  ]);
});

test("the largest peak counts, and the exponent has an interval and weighs sizes equally", () => {
  const MIB = 2 ** 20;
  const streams = [10e6, 100e6, 500e6].map((size) => {
    const peaks = [180, 190, size === 500e6 ? 300 : 185].map((mib) => mib * MIB);
    const down = peaks.map((peakRss) => ({ seconds: 1, names: [], rss: 80 * MIB, peakRss }));
    return { size, samples: { up: [], down } };
  });
  const [, peak, growth, exponent] = memoryTargets("down", "down", streams, 4);
  expect(peak).toMatchObject({ value: 300 * MIB, verdict: "missed" });
  const eight = { most: (256 + 4 * 16) * MIB, goal: 256 * MIB, verdict: "met" };
  expect(memoryTargets("down", "down", streams, 8)[1]).toMatchObject(eight);
  expect(growth!.value).toBeCloseTo(190 / 185, 10);
  expect(exponent!.interval!.high).toBeGreaterThan(exponent!.value);
  const [short, ...rest] = streams;
  const more = {
    size: short!.size,
    samples: { up: [], down: short!.samples.down.concat(short!.samples.down) },
  };
  expect(memoryTargets("down", "down", [more, ...rest])[3]!.value).toBe(exponent!.value);
});
