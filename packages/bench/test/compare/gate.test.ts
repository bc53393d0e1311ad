import { expect, test } from "bun:test";
import { type Measurer, compareTasks } from "../../src/compare/gate.ts";
import { failuresOf } from "../../src/compare/render.ts";
import type { Counts } from "../../src/compare/round/job.ts";
import { TASKS } from "../../src/compare/round/task-list.ts";
import { seededRandom } from "../../src/statistics/random.ts";

const TASK = TASKS.find(({ name }) => name === "put-memory")!;
const OTHER = TASKS.find(({ name }) => name === "put-small")!;
const PLAN = { rounds: 20, maxRounds: 60, warmups: 0 };
const COUNTS: Counts = { requests: 3, bytesSent: 100, bytesReceived: 0, bytesHashed: 100 };

/** Equal revisions, except for the given parts. */
function measurer(parts: Partial<Measurer>): Measurer {
  return { time: async () => 1, count: async () => COUNTS, ...parts };
}

const compared = (tasks: typeof TASKS, parts: Partial<Measurer>) =>
  compareTasks(tasks, PLAN, seededRandom(5), measurer(parts), () => {});

test("a task that is slower twice fails", async () => {
  const { tasks } = await compared([TASK], {
    time: async (_, side) => (side === "head" ? 1.12 : 1),
  });
  expect(tasks[0]).toMatchObject({ verdict: "slower", passed: false });
  expect(tasks[0]!.attempts).toHaveLength(2);
  expect(failuresOf(tasks)).toEqual([
    "put-memory: +12.0 % in time, slower in both measurements; at least +12.0 % with 99 % confidence, tolerance +5.0 %",
  ]);
});

test("a task that is slower only once passes, after a second measurement at the end", async () => {
  const order: string[] = [];
  const { tasks } = await compared([TASK, OTHER], {
    async time({ name }, side) {
      order.push(name);
      const firstTime = order.filter((each) => each === name).length <= 60;
      return side === "head" && name === TASK.name && firstTime ? 1.5 : 1;
    },
  });
  expect(tasks[0]).toMatchObject({ verdict: "same", passed: true });
  expect(tasks[0]!.attempts.map(({ verdict }) => verdict)).toEqual(["slower", "same"]);
  expect(order.indexOf(OTHER.name)).toBe(60);
  expect(order.slice(-60).every((name) => name === TASK.name)).toBe(true);
  expect(failuresOf(tasks)).toEqual([]);
});

test("a larger counter fails and shows both values; a smaller one passes", async () => {
  const more = await compared([TASK], {
    count: async (_, side) => (side === "head" ? { ...COUNTS, requests: 4 } : COUNTS),
  });
  expect(more.tasks[0]!.passed).toBe(false);
  expect(failuresOf(more.tasks)).toEqual(["put-memory: requests 3 → 4 per operation"]);
  const less = await compared([TASK], {
    count: async (_, side) => (side === "head" ? { ...COUNTS, bytesHashed: 99 } : COUNTS),
  });
  expect(less.tasks[0]).toMatchObject({ passed: true });
  expect(less.tasks[0]!.counters.at(-1)).toMatchObject({ change: "less", base: 100, head: 99 });
});

test("a counter that is larger only once, such as after a retry, passes", async () => {
  let counted = 0;
  const { tasks } = await compared([TASK], {
    async count(_, side) {
      counted += 1;
      return side === "head" && counted === 2 ? { ...COUNTS, requests: 4 } : COUNTS;
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
    time: async () => {
      throw new Error("put-memory failed at main: no");
    },
  });
  expect(await failing.catch(String)).toContain("put-memory failed at main");
});
