/* A made-up comparison, like the report in sample.ts. */
import {
  type Attempt,
  COMPARISON_SCHEMA,
  type Comparison,
  type Side,
  type TaskComparison,
} from "../../src/compare/comparison.ts";
import { judge, verdictsOf } from "../../src/compare/decide.ts";
import { problemsOf } from "../../src/compare/render.ts";
import { type Random, seededRandom } from "../../src/statistics/random.ts";
import { sampleReport } from "./sample.ts";

export function sampleComparison(): Comparison {
  const random = seededRandom(7);
  const seal = () => attempt(random, 0.2, 0.02);
  const tasks = [
    task("seal-1mib", "Seal 1 MiB", [seal(), seal()]),
    task("put-memory", "Put 16 MiB into memory", [attempt(random, 0, 0.02)]),
    task("get-memory", "Get 16 MiB from memory", [attempt(random, -0.17, 0.02)]),
    task("put-store", "Put 8 MB into an object store", [attempt(random, 0.03, 0.2)]),
  ];
  return {
    schema: COMPARISON_SCHEMA,
    createdAt: "2026-03-01T14:30:00.000Z",
    seconds: 512,
    machine: sampleReport().machine,
    base: { name: "main", commit: "0123456789abcdef0123456789abcdef01234567" },
    head: { name: "faster-hash", commit: "89abcdef0123456789abcdef0123456789abcdef" },
    seed: 42,
    tasks,
    skipped: [{ task: "get-range", reason: "the base does not know it" }],
    ...problemsOf(tasks, false),
  };
}

function attempt(random: Random, shift: number, spread: number): Attempt {
  const noise = () => (random() + random() + random() - 1.5) * spread;
  const side = (shift: number): Side => {
    const own = shift + noise();
    const cpu = Array.from({ length: 10 }, () => 0.1 * Math.exp(own + noise() / 4));
    return { cpu, elapsed: cpu, memory: 80e6, memoryInTotal: 90e6 };
  };
  return judge(Array.from({ length: 6 }, () => ({ base: side(0), head: side(shift) })));
}

function task(name: string, title: string, attempts: readonly Attempt[]): TaskComparison {
  const verdicts = verdictsOf(attempts);
  const less = name === "put-store";
  const counters: TaskComparison["counters"] = [
    { name: "bytesHashed", base: 1_048_576, head: 1_048_576, change: "none" },
    {
      name: "storedOverhead",
      base: 1392,
      head: less ? 1360 : 1392,
      change: less ? "less" : "none",
    },
  ];
  const passed = !Object.values(verdicts).includes("worse");
  return { task: name, title, attempts, verdicts, counters, passed };
}
