/* A made-up comparison, like the report in sample.ts. */
import {
  type Attempt,
  COMPARISON_SCHEMA,
  type Comparison,
  type TaskComparison,
  type Verdict,
} from "../../src/compare/comparison.ts";
import { bootstrapInterval } from "../../src/statistics/bootstrap.ts";
import { median } from "../../src/statistics/describe.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";
import { sampleReport } from "./sample.ts";

export function sampleComparison(): Comparison {
  const random = seededRandom(7);
  const again = attempt(random, 0.21, 0.05, "slower");
  return {
    schema: COMPARISON_SCHEMA,
    createdAt: "2026-03-01T14:30:00.000Z",
    seconds: 512,
    machine: sampleReport().machine,
    base: { name: "main", commit: "0123456789abcdef0123456789abcdef01234567" },
    head: { name: "faster-hash", commit: "89abcdef0123456789abcdef0123456789abcdef" },
    seed: 42,
    tasks: [
      task("seal-1mib", "Seal 1 MiB", "cpu", [attempt(random, 0.2, 0.05, "slower"), again]),
      task("put-memory", "Put 16 MiB into memory", "cpu", [attempt(random, 0.003, 0.05, "same")]),
      task("get-memory", "Get 16 MiB from memory", "cpu", [attempt(random, -0.17, 0.05, "faster")]),
      task("put-store", "Put 8 MB into an object store", "io", [
        attempt(random, 0.02, 0.15, "same"),
      ]),
    ],
    skipped: [{ task: "get-range", reason: "the base does not know it" }],
    failures: ["Seal 1 MiB: 23 % slower (99 % sure of 17 % or more), tolerance 5.1 %"],
  };
}

function attempt(random: Random, shift: number, tolerance: number, verdict: Verdict): Attempt {
  const noise = () => (random() + random() + random() - 1.5) * tolerance;
  const rounds = Array.from({ length: 20 }, () => ({
    base: 0.1 * Math.exp(noise()),
    again: 0.1 * Math.exp(noise()),
    head: 0.1 * Math.exp(shift + noise()),
  }));
  const ratios = rounds.map(({ base, head }) => Math.log(head / base));
  const interval = bootstrapInterval(ratios, median, { random, confidence: 0.99 });
  return { rounds, ratios, median: median(ratios), interval, noise: 0.02, tolerance, verdict };
}

function task(
  name: string,
  title: string,
  bound: TaskComparison["bound"],
  attempts: readonly Attempt[],
): TaskComparison {
  const { verdict } = attempts.at(-1)!;
  const counters: TaskComparison["counters"] = [
    { name: "bytesHashed", base: 1_048_576, head: 1_048_576, change: "none" },
    {
      name: "storedOverhead",
      base: 1392,
      head: bound === "io" ? 1360 : 1392,
      change: bound === "io" ? "less" : "none",
    },
  ];
  return { task: name, title, bound, attempts, verdict, counters, passed: verdict !== "slower" };
}
