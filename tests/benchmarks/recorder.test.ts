/*
 * What recording costs, in CPU time, and that nothing is fast because it was not recorded: the suite fails
 * if an exchange or a byte of a body is missing in the archive. Latency is measured every night.
 */
import { problemsOf, describeProblem } from "@idk/bench";
import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { bench, readReport } from "./bench.ts";
import { join } from "node:path";
import { tmpdir } from "node:os";

const ROUNDS = 6;

const strict = process.env["IDK_BENCH_STRICT"] === "1";
const folder = await mkdtemp(join(tmpdir(), "idk-recorder-bench-"));
const file = join(folder, "report.json");
const args = ["recorder", "--cpuOnly", "--iterations", String(ROUNDS), "--baseline", "none"];
const run = await bench([...args, "--json", file, ...(strict ? ["--strict"] : [])]);
const report = await readReport(file, run);
await rm(folder, { recursive: true });
const [suite] = report.suites;
const problems = problemsOf(report, { strict, ci: Boolean(process.env["CI"]) });

describe("the recorder", () => {
  test("records every exchange, and every byte of whole bodies", () => {
    if (suite?.status !== "completed") throw new Error(`${suite?.status}: ${suite?.reason}`);
    const measured = new Map(suite.measurements.map(({ name, samples }) => [name, samples.length]));
    for (const name of [
      "simple, active",
      "sensitive, rules",
      "large, whole",
      "large-post, whole",
    ]) {
      expect({ name, rounds: measured.get(name) }).toEqual({ name, rounds: ROUNDS });
    }
  });

  for (const { name, kind } of suite?.targets ?? []) {
    test(`meets its target: ${name}`, () => {
      expect(kind).toBe("cpu");
      const problem = problems.find(({ target }) => target?.name === name);
      if (problem === undefined) return;
      const sentence = `${name} ${describeProblem(problem)}`;
      if (problem.level === "failure") throw new Error(sentence);
      console.warn(sentence);
    });
  }

  test("has the exit code of its verdicts", () => {
    expect(suite?.targets).toHaveLength(5);
    const failures = problems.filter(({ level }) => level === "failure");
    expect(run.code).toBe(failures.length > 0 ? 1 : 0);
  });
});
