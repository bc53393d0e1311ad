import { expect, test } from "bun:test";
import { type GateResult, type Measurer, compareTasks } from "../../src/compare/gate.ts";
import type { Counts } from "../../src/compare/round/job.ts";
import { TASKS, type TaskInfo } from "../../src/compare/round/task-list.ts";
import { describeProblem, problemsOf, subjectOf } from "../../src/report/outcome.ts";
import type { ProcessPair, ProcessSide } from "../../src/report/report.ts";
import { HEAD } from "../report/fixtures.ts";

const TASK = TASKS.find(({ name }) => name === "put-memory")!;
const OTHER = TASKS.find(({ name }) => name === "put-small")!;
const PLAN = { pairs: 6, maxPairs: 24 };
const COUNTS: Counts = { PUT: 3, HEAD: 0, bytesSent: 100, bytesReceived: 0, bytesHashed: 100 };

const side = (seconds: number): ProcessSide => ({
  cpu: [seconds],
  elapsed: [seconds],
  memory: 100,
});

/** A pair whose head takes so many times as long. */
const pair = (factor: number): ProcessPair => ({ base: side(1), head: side(factor) });

/** Equal revisions, except for the given parts. */
function measurer(parts: Partial<Measurer>): Measurer {
  return { pair: async () => pair(1), count: async () => COUNTS, ...parts };
}

const compared = (tasks: readonly TaskInfo[], parts: Partial<Measurer>) =>
  compareTasks(tasks, PLAN, measurer(parts), () => {});

/** The problems of a report, in one line each. */
function problemsIn({ compared }: GateResult, level: "failure" | "warning", strict = false) {
  const targets = compared.flatMap(({ quantities, changes }) => [...quantities, ...changes]);
  const parts = { measurements: [], pairs: [], counters: [], targets, notes: [] };
  const suites = [
    { suite: "compare", title: "", status: "completed" as const, seconds: 1, ...parts },
  ];
  return problemsOf({ ...HEAD, suites }, { strict, ci: true })
    .filter((problem) => problem.level === level)
    .map((problem) => `${subjectOf(problem)} ${describeProblem(problem)}`);
}

const failuresOf = (result: GateResult) => problemsIn(result, "failure");

const verdictsOf = ({ compared }: GateResult, i = 0) =>
  compared[i]!.quantities.map(({ verdict }) => verdict);

test("a task that is worse twice fails", async () => {
  const result = await compared([TASK], { pair: async () => pair(1.07) });
  expect(verdictsOf(result)).toEqual(["missed", "met", "met"]);
  expect(result.compared[0]!.attempts).toHaveLength(2);
  expect(failuresOf(result)).toEqual([
    "compare: put-memory: CPU time missed its target: +7.0 % (+7.0 to +7.0 %), ≤ +2.5 %",
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
  expect(verdictsOf(result)).toEqual(["met", "met", "met"]);
  expect(result.compared[0]!.attempts.map(({ pairs }) => pairs.length)).toEqual([6, 6]);
  expect(order.indexOf(OTHER.name)).toBe(PLAN.pairs);
  expect(order.slice(-PLAN.pairs).every((name) => name === TASK.name)).toBe(true);
  expect(failuresOf(result)).toEqual([]);
});

test("an inconclusive task is measured up to the maximum, and warns", async () => {
  let measured = 0;
  const result = await compared([TASK], {
    pair: async () => pair(measured++ % 2 === 0 ? 0.5 : 2),
  });
  expect(measured).toBe(PLAN.maxPairs);
  expect(result.compared[0]).toMatchObject({ attempts: [{ pairs: { length: 24 } }] });
  expect(failuresOf(result)).toEqual([]);
  const [cpu, elapsed, ...others] = problemsIn(result, "warning");
  expect(cpu).toStartWith("compare: put-memory: CPU time is inconclusive: ");
  expect(others).toEqual([]);
  expect(problemsIn(result, "failure", true)).toEqual([cpu!]);
  expect(problemsIn(result, "warning", true)).toEqual([elapsed!]);
});

test("memory that is inconclusive warns, even if the run is strict", async () => {
  let measured = 0;
  const result = await compared([TASK], {
    pair: async () => ({ base: side(1), head: { ...side(1), memory: measured++ % 2 ? 60 : 140 } }),
  });
  expect(verdictsOf(result)).toEqual(["met", "met", "inconclusive"]);
  expect(problemsIn(result, "failure", true)).toEqual([]);
  expect(problemsIn(result, "warning", true)).toHaveLength(1);
});

/** Pairs of which only memory is unclear. */
function withNoisyMemory(factor: (pair: number) => number): Measurer["pair"] {
  let measured = 0;
  return async () => {
    const { base, head } = pair(factor(measured++));
    return { base, head: { ...head, memory: measured % 2 ? 60 : 140 } };
  };
}

test("a task that is worse needs no more pairs, whatever is unclear, in both measurements", async () => {
  const result = await compared([TASK], { pair: withNoisyMemory(() => 1.5) });
  expect(verdictsOf(result)).toEqual(["missed", "missed", "inconclusive"]);
  expect(result.compared[0]!.attempts.map(({ pairs }) => pairs.length)).toEqual([6, 6]);
});

test("what the first measurement met does not end the second, and fails nothing", async () => {
  let measured = 0;
  const result = await compared([TASK], {
    async pair() {
      const isFirst = measured++ < PLAN.pairs;
      const [cpu, elapsed] = isFirst ? [1.07, 1] : [1, 1.5];
      const memory = measured % 2 ? 60 : 140;
      return { base: side(1), head: { cpu: [cpu], elapsed: [elapsed], memory } };
    },
  });
  expect(verdictsOf(result)).toEqual(["met", "inconclusive", "inconclusive"]);
  expect(result.compared[0]!.attempts.map(({ pairs }) => pairs.length)).toEqual([6, 24]);
});

test("what was unclear when a miss ended the first measurement can fail in the second", async () => {
  let measured = 0;
  const result = await compared([TASK], {
    async pair() {
      const isFirst = measured++ < PLAN.pairs;
      const memory = isFirst ? (measured % 2 ? 60 : 140) : 150;
      return { base: side(1), head: { ...side(isFirst ? 1.07 : 1), memory } };
    },
  });
  expect(verdictsOf(result)).toEqual(["met", "met", "missed"]);
});

test("prints what got worse as soon as it is known, because a run may be cut off", async () => {
  const lines: string[] = [];
  const parts = {
    pair: async () => pair(1.07),
    count: async (_: TaskInfo, side: string) => (side === "head" ? { ...COUNTS, PUT: 4 } : COUNTS),
  };
  await compareTasks([TASK], PLAN, measurer(parts), (line) => lines.push(line));
  expect(lines[0]).toBe(
    "put-memory: CPU time missed (+7.0 %), elapsed time met, peak memory met after 6 pairs; " +
      "put-memory: PUT requests, against the base 4, not 3",
  );
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
  expect(failuresOf(more)).toEqual([
    "compare: put-memory: HEAD requests, against the base missed its target: 1, ≤ 0",
  ]);
  // It would be the same the second time.
  expect(more.compared[0]!.attempts).toHaveLength(1);
  const less = await compared([TASK], { count: count({ ...COUNTS, bytesHashed: 99 }) });
  expect(failuresOf(less)).toEqual([]);
  expect(less.compared[0]!.changes).toMatchObject([{ value: 99, most: 100, verdict: "met" }]);
  expect(less.compared[0]!.counters.at(-1)).toMatchObject({ value: 99 });
});

test("fewer threads fail", async () => {
  const result = await compared([TASK], {
    count: async (_, side) => ({ ...COUNTS, threads: side === "head" ? 0 : 2 }),
  });
  expect(failuresOf(result)).toEqual([
    "compare: put-memory: threads, against the base missed its target: 0, = 2",
  ]);
});

test("a counter that is larger only once, such as after a retry, passes", async () => {
  let counted = 0;
  const result = await compared([TASK], {
    async count(_, side) {
      counted += 1;
      return side === "head" && counted <= 2 ? { ...COUNTS, PUT: 4 } : COUNTS;
    },
  });
  expect(failuresOf(result)).toEqual([]);
  expect(counted).toBe(4);
});

test("skips a task that the base cannot run, and fails if only the head cannot", async () => {
  const lacks = "putMany of Store";
  const { compared: done, skipped } = await compared([TASK, OTHER], {
    count: async ({ name }, side) => (side === "base" && name === TASK.name ? { lacks } : COUNTS),
  });
  expect(done.map(({ task }) => task)).toEqual([OTHER]);
  expect(skipped).toEqual(["put-memory was skipped: the base lacks putMany of Store"]);
  const head = compared([TASK], {
    count: async (_, side) => (side === "head" ? { lacks } : COUNTS),
  });
  expect(await head.catch(String)).toBe(
    "Error: the head lacks putMany of Store, which put-memory needs and the base has",
  );
});

test("nothing is being counted when the comparison fails", async () => {
  let counting = 0;
  const comparing = compared([TASK], {
    async count(_, side) {
      counting += 1;
      if (side === "head") await Bun.sleep(10);
      counting -= 1;
      throw new Error(`${side} was stopped`);
    },
  });
  expect(await comparing.catch(String)).toContain("base was stopped");
  expect(counting).toBe(0);
});

test("an operation that fails ends the comparison", async () => {
  const failing = compared([TASK], {
    pair: async () => {
      throw new Error("put-memory failed at main: no");
    },
  });
  expect(await failing.catch(String)).toContain("put-memory failed at main");
});
