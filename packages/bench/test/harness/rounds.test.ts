import { expect, test } from "bun:test";
import { run, runAside } from "../../src/harness/processes.ts";
import { sampleLanes } from "../../src/harness/rounds.ts";
import { ratioTarget } from "../../src/harness/targets.ts";
import { seededRandom } from "../../src/statistics/random.ts";

/** Two things in one lane, whose ratio is `of(round)`. */
function lane(of: (round: number) => number) {
  let round = 0;
  const labels = ["of", "to"].map((name) => ({ name, series: name }));
  return {
    labels,
    sample: async () => [{ seconds: of(round++) }, { seconds: 1 }],
  };
}

const most2 = (find: Parameters<NonNullable<Parameters<typeof sampleLanes>[2]>>[0]) => [
  ratioTarget("ratio", { of: find("of"), to: find("to") }, { most: 2 }, seededRandom(1)),
];

test("a lane takes a sample of each of its parts, without the warm-up", async () => {
  const options = { rounds: 5, warmups: 1 };
  const { measurements, targets } = await sampleLanes([lane((round) => round)], options, most2);
  expect(measurements.map(({ name, samples }) => [name, samples.slice(0, 5)])).toEqual([
    ["of", [1, 2, 3, 4, 5]],
    ["to", [1, 1, 1, 1, 1]],
  ]);
  expect(targets).toHaveLength(1);
});

test("noise adds rounds up to three times as many, clear results none", async () => {
  const noisy = await sampleLanes([lane((round) => (round % 2 ? 0.5 : 4))], { rounds: 4 }, most2);
  expect(noisy.targets[0]!.verdict).toBe("inconclusive");
  expect(noisy.measurements[0]!.samples).toHaveLength(12);
  const clear = await sampleLanes([lane(() => 1)], { rounds: 5 }, most2);
  expect(clear.targets[0]!.verdict).toBe("met");
  expect(clear.measurements[0]!.samples).toHaveLength(5);
});

test("a program that runs aside is not measured with the memory of this process", async () => {
  const large = new Uint8Array(400 * 2 ** 20).fill(1);
  const argv = ["bash", "-c", "echo $VALUE"];
  const aside = await runAside({ argv, env: { VALUE: "passed on" } });
  expect(aside.stdout).toBe("passed on\n");
  expect(aside.peakRss).toBeLessThan(200 * 2 ** 20);
  if (process.platform === "linux") {
    expect((await run({ argv })).peakRss).toBeGreaterThan(large.length);
  }
  expect(await runAside({ argv: ["false"] }).then(String, String)).toContain("false failed (1)");
});
