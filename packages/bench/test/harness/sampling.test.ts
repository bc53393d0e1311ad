import { describe, expect, spyOn, test } from "bun:test";
import { interleave } from "../../src/harness/interleave.ts";
import { type Task, sampleInterleaved, sampleLanes } from "../../src/harness/sampling.ts";
import { ratioTarget } from "../../src/harness/targets.ts";

const signal = new AbortController().signal;

describe("interleaving", () => {
  test("rotates the tasks in every round, including warm-ups", async () => {
    const order: string[] = [];
    const each = async (task: string, round: number) => order.push(`${task}${round}`);
    await interleave(["a", "b", "c"], { rounds: 2, warmups: 2 }, each);
    expect(order.join(" ")).toBe("a-2 b-2 c-2 b-1 c-1 a-1 c0 a0 b0 a1 b1 c1");
    await interleave([], { rounds: 2 }, () => Promise.reject(new Error("there is no task")));
  });

  test("stops between two tasks on abort", async () => {
    const aborter = new AbortController();
    const done: string[] = [];
    const run = interleave(["a", "b"], { rounds: 9, signal: aborter.signal }, async (task) => {
      done.push(task);
      aborter.abort(new Error("enough"));
    });
    expect(await run.catch(String)).toBe("Error: enough");
    expect(done).toEqual(["a"]);
  });
});

describe("sampling", () => {
  const task = (name: string, run: () => unknown, more: Partial<Task> = {}): Task => ({
    name,
    series: "s",
    run,
    ...more,
  });

  test("takes one sample per task and round, and none for warm-ups", async () => {
    const events: string[] = [];
    const tasks = [
      task("a", () => events.push("a"), {
        check: () => events.push("check a"),
        x: { value: 5, unit: "bytes" },
        bytesPerOperation: 5,
        prepare: () => events.push("prepare a"),
      }),
      task("b", async () => events.push("b")),
    ];
    const { measurements } = await sampleInterleaved(tasks, { rounds: 3, warmups: 1, signal });
    const [a, b] = measurements;
    expect(a).toMatchObject({ name: "a", series: "s", x: { value: 5 }, bytesPerOperation: 5 });
    expect(a!.samples).toHaveLength(3);
    expect(b!.samples).toHaveLength(3);
    expect(b!.cpuSamples).toHaveLength(3);
    expect(b!.peakRss).toBeGreaterThan(2 ** 20);
    expect(events.slice(0, 4)).toEqual(["prepare a", "a", "check a", "b"]);
    expect(events.filter((event) => event === "a")).toHaveLength(4);
  });

  test("measures the time and memory of the run alone", async () => {
    let memory: Uint8Array | undefined;
    const mib = 200;
    const { measurements } = await sampleInterleaved(
      [
        task("large", () => (memory = new Uint8Array(mib * 2 ** 20).fill(1))),
        task("small", () => 0, {
          prepare: async () => {
            memory = undefined;
            await Bun.sleep(30);
          },
        }),
      ],
      { rounds: 1, warmups: 0, signal },
    );
    const [large, small] = measurements;
    expect(memory).toBeUndefined();
    expect(small!.samples[0]).toBeLessThan(0.03);
    expect(large!.peakRss! - small!.peakRss!).toBeGreaterThan((mib / 2) * 2 ** 20);
  });

  test("stops if an operation fails", async () => {
    let runs = 0;
    const failing = task("f", () => {
      if (++runs === 2) throw new Error("disk is full");
    });
    const sampling = sampleInterleaved([failing], { rounds: 5, warmups: 0, signal });
    expect(await sampling.catch(String)).toBe("Error: disk is full");
    expect(runs).toBe(2);
  });

  test("passes each result to its check, and fails if the check throws", async () => {
    let result = 0;
    const wrong = task("w", async () => ++result, {
      check(found) {
        if (found === 3) throw new Error("wrong bytes came back");
      },
    });
    const sampling = sampleInterleaved([wrong], { rounds: 5, warmups: 0, signal });
    expect(await sampling.catch(String)).toBe("Error: wrong bytes came back");
    expect(result).toBe(3);
  });

  test("repeats a short operation, and samples are the mean of its calls", async () => {
    let [calls, checks] = [0, 0];
    const nap = task("nap", () => Bun.sleepSync(++calls % 2), {
      calls: 20,
      check: () => checks++,
    });
    const { measurements } = await sampleInterleaved([nap], { rounds: 2, warmups: 0, signal });
    expect([calls, checks]).toEqual([40, 2]);
    const [first, second] = measurements[0]!.samples as [number, number];
    expect(Math.min(first, second)).toBeGreaterThanOrEqual(0.0005);
    expect(Math.min(first, second)).toBeLessThan(0.005);
    expect(measurements[0]!.cpuSamples![0]!).toBeLessThan(0.001);
  });

  test("adds rounds while a target is inconclusive, up to three times as many", async () => {
    const judged = async (conclusiveFrom: number, rounds = 4) => {
      const { measurements, targets } = await sampleInterleaved(
        [task("t", () => 0)],
        { rounds, signal },
        (of) => [
          {
            name: "a",
            value: 1,
            unit: "ratio",
            kind: "cpu",
            verdict: of("t").samples.length >= conclusiveFrom ? "met" : "inconclusive",
          },
        ],
      );
      return [measurements[0]!.samples.length, targets[0]!.verdict];
    };
    expect(await judged(0)).toEqual([4, "met"]);
    expect(await judged(5)).toEqual([6, "met"]);
    expect(await judged(100)).toEqual([12, "inconclusive"]);
    // Three samples are too few for a verdict, six are not.
    expect(await judged(100, 1)).toEqual([1, "inconclusive"]);
    expect(await judged(100, 2)).toEqual([6, "inconclusive"]);
  });

  test("returns memory to the system before each run on many bytes, and otherwise if it has grown", async () => {
    const gc = spyOn(Bun, "gc");
    const collections = async (bytesPerOperation?: number) => {
      gc.mockClear();
      const tasks = ["a", "b", "c"].map((name) => task(name, () => 0, { bytesPerOperation }));
      await sampleInterleaved(tasks, { rounds: 5, warmups: 1, signal });
      return gc.mock.calls;
    };
    try {
      expect(await collections()).toEqual([[true]]);
      expect(await collections(1e6)).toHaveLength(1);
      expect(await collections(1e7)).toHaveLength(18);
    } finally {
      gc.mockRestore();
    }
  });

  test("no run pays for the garbage of another", async () => {
    let kept = new WeakRef({});
    const found: boolean[] = [];
    const tasks = [
      task("makes", () => void (kept = new WeakRef({ garbage: Array(1000).fill(0) }))),
      task("finds none", () => void found.push(kept.deref() === undefined)),
    ];
    await sampleInterleaved(tasks, { rounds: 20, warmups: 0, signal });
    expect(found.filter(Boolean).length).toBeGreaterThanOrEqual(18);
  });
});

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
  ratioTarget("ratio", { of: find("of"), to: find("to") }, { most: 2 }),
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

test("noise adds rounds up to three times as many or by its budget, clear results none", async () => {
  const noisy = await sampleLanes([lane((round) => (round % 2 ? 0.5 : 4))], { rounds: 4 }, most2);
  expect(noisy.targets[0]!.verdict).toBe("inconclusive");
  expect(noisy.measurements[0]!.samples).toHaveLength(12);
  const limits = { rounds: 4, budget: 1.5 };
  const limited = await sampleLanes([lane((round) => (round % 2 ? 0.5 : 4))], limits, most2);
  expect(limited.measurements[0]!.samples).toHaveLength(6);
  const clear = await sampleLanes([lane(() => 1)], { rounds: 5 }, most2);
  expect(clear.targets[0]!.verdict).toBe("met");
  expect(clear.measurements[0]!.samples).toHaveLength(5);
});
