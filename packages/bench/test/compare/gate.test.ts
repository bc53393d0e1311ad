import { expect, test } from "bun:test";
import type { Pair, Side } from "../../src/compare/comparison.ts";
import { type Measurer, compareTasks } from "../../src/compare/gate.ts";
import { problemsOf } from "../../src/compare/render.ts";
import type { Counts } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";

const TASK = TASKS.find(({ name }) => name === "put-memory")!;
const OTHER = TASKS.find(({ name }) => name === "put-small")!;
const PLAN = { pairs: 6, maxPairs: 24 };
const COUNTS: Counts = { PUT: 3, HEAD: 0, bytesSent: 100, bytesReceived: 0, bytesHashed: 100 };

const side = (seconds: number): Side => ({
  cpu: [seconds],
  elapsed: [seconds],
  memory: 100,
  memoryInTotal: 100,
});

/** A pair whose head takes so many times as long. */
const pair = (factor: number): Pair => ({ base: side(1), head: side(factor) });

/** Equal revisions, except for the given parts. */
function measurer(parts: Partial<Measurer>): Measurer {
  return { pair: async () => pair(1), count: async () => COUNTS, ...parts };
}

const compared = (tasks: readonly TaskInfo[], parts: Partial<Measurer>) =>
  compareTasks(tasks, PLAN, measurer(parts), () => {});

const failuresOf = ({ tasks }: Awaited<ReturnType<typeof compared>>) =>
  problemsOf(tasks, false).failures;

test("a task that is worse twice fails", async () => {
  const result = await compared([TASK], { pair: async () => pair(1.07) });
  const [task] = result.tasks;
  expect(task).toMatchObject({ passed: false });
  expect(task!.verdicts).toEqual({ cpu: "worse", elapsed: "same", memory: "same" });
  expect(task!.attempts).toHaveLength(2);
  expect(failuresOf(result)).toEqual([
    "put-memory: CPU time +7.0 % ± 0.0 %, worse in both measurements; at least +7.0 % with 99 % confidence, tolerance +2.5 %",
  ]);
});

test("a task that is worse only once passes, after a second measurement at the end", async () => {
  const order: string[] = [];
  const result = await compared([TASK, OTHER], {
    async pair({ name }) {
      order.push(name);
      return pair(name === TASK.name && order.length <= PLAN.pairs ? 1.5 : 1);
    },
  });
  expect(result.tasks[0]).toMatchObject({ verdicts: { cpu: "same" }, passed: true });
  expect(result.tasks[0]!.attempts.map(({ estimates }) => estimates[0]!.verdict)).toEqual([
    "worse",
    "same",
  ]);
  expect(order.indexOf(OTHER.name)).toBe(PLAN.pairs);
  expect(order.slice(-PLAN.pairs).every((name) => name === TASK.name)).toBe(true);
  expect(failuresOf(result)).toEqual([]);
});

test("an inconclusive task is measured up to the maximum, and warns", async () => {
  let measured = 0;
  const { tasks } = await compared([TASK], {
    pair: async () => pair(measured++ % 2 === 0 ? 0.5 : 2),
  });
  expect(measured).toBe(PLAN.maxPairs);
  expect(tasks[0]).toMatchObject({ passed: true, attempts: [{ pairs: { length: 24 } }] });
  const { failures, warnings } = problemsOf(tasks, false);
  expect(failures).toEqual([]);
  expect(warnings).toHaveLength(2);
  expect(warnings[0]).toStartWith("put-memory: CPU time ");
  expect(warnings[0]).toEndWith(", inconclusive");
  const strict = problemsOf(tasks, true);
  expect(strict.failures).toEqual([warnings[0]!]);
  expect(strict.warnings).toEqual([warnings[1]!]);
});

test("measurement ends as soon as all quantities are clear", async () => {
  let measured = 0;
  await compared([TASK], {
    pair: async () => pair(measured++ % 2 === 0 ? 0.93 : 1.05),
  });
  expect(measured).toBe(9);
});

test("a larger counter fails and shows both values; a smaller one passes", async () => {
  const count = (head: Counts) => async (_: TaskInfo, side: string) =>
    side === "head" ? head : COUNTS;
  const more = await compared([TASK], { count: count({ ...COUNTS, HEAD: 1 }) });
  expect(more.tasks[0]!.passed).toBe(false);
  expect(failuresOf(more)).toEqual(["put-memory: HEAD requests 0 → 1 per operation"]);
  const less = await compared([TASK], { count: count({ ...COUNTS, bytesHashed: 99 }) });
  expect(less.tasks[0]).toMatchObject({ passed: true });
  expect(less.tasks[0]!.counters.at(-1)).toMatchObject({ change: "less", base: 100, head: 99 });
});

test("fewer threads fail", async () => {
  const result = await compared([TASK], {
    count: async (_, side) => ({ ...COUNTS, threads: side === "head" ? 0 : 2 }),
  });
  expect(result.tasks[0]!.passed).toBe(false);
  expect(failuresOf(result)).toEqual(["put-memory: threads 2 → 0"]);
});

test("a counter that is larger only once, such as after a retry, passes", async () => {
  let counted = 0;
  const { tasks } = await compared([TASK], {
    async count(_, side) {
      counted += 1;
      return side === "head" && counted <= 2 ? { ...COUNTS, PUT: 4 } : COUNTS;
    },
  });
  expect(tasks[0]!.passed).toBe(true);
  expect(counted).toBe(4);
});

test("skips a task that the base cannot run, and fails if only the head cannot", async () => {
  const lacks = "Store.putMany";
  const { tasks, skipped } = await compared([TASK, OTHER], {
    count: async ({ name }, side) => (side === "base" && name === TASK.name ? { lacks } : COUNTS),
  });
  expect(tasks.map(({ task }) => task)).toEqual([OTHER.name]);
  expect(skipped).toEqual([{ task: TASK.name, reason: "the base lacks Store.putMany" }]);
  const head = compared([TASK], {
    count: async (_, side) => (side === "head" ? { lacks } : COUNTS),
  });
  expect(await head.catch(String)).toBe(
    "Error: the head lacks Store.putMany, which put-memory needs and the base has",
  );
});

test("an operation that fails ends the comparison", async () => {
  const failing = compared([TASK], {
    pair: async () => {
      throw new Error("put-memory failed at main: no");
    },
  });
  expect(await failing.catch(String)).toContain("put-memory failed at main");
});
