import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { reportSchema } from "../../src/report/report.ts";
import { runTiny } from "./run-tiny.ts";
import { withWrongBytes } from "./wrong-bytes.ts";

const MIB = 2 ** 20;
/** The least for which a store starts its threads. */
const LENGTH = 32 * MIB;

test("measures each way with threads and on one thread, against the serial bound", async () => {
  const { measurements, targets } = await runTiny("serial-bound", [LENGTH]);
  expect(measurements).toHaveLength(2 * (6 + 2));
  expect(targets).toHaveLength(6 + 6 + 6);
  const threads = targets.filter(({ unit }) => unit === "count");
  expect(threads).toHaveLength(6);
  // It is 1 without threads; a stream of unknown length starts them after 32 MiB.
  const few = threads.filter(({ value }) => value <= 1.5).map(({ name }) => name.split(":")[0]!);
  expect(few).toEqual(["put of a stream"]);
  expect(
    targets.slice(12).every(({ name, kind }) => name.includes("one thread") && kind === "cpu"),
  ).toBe(true);
}, 60_000);

test.skipIf(Bun.which("taskset") === null)(
  "one core has all targets, and misses none of elapsed time",
  async () => {
    const bench = [join(import.meta.dir, "../../src/main.ts"), "serial-bound", "--quick"];
    const flags = ["--iterations", "1", "--json", "-"];
    // The first of the cores that this process may use.
    const core = /^Cpus_allowed_list:\s*(\d+)/mu.exec(
      readFileSync("/proc/self/status", "utf8"),
    )![1]!;
    const argv = ["taskset", "-c", core, process.execPath, ...bench, ...flags];
    const output = await new Response(Bun.spawn(argv, { stderr: "inherit" }).stdout).json();
    const { machine, suites } = reportSchema.parse(output);
    expect(machine.cores).toBe(1);
    const { targets } = suites[0]!;
    expect(targets).toHaveLength(6 + 6 + 6);
    // One sample of CPU time may miss its target by chance; those of elapsed time must not be judged.
    const elapsed = targets.filter(({ kind }) => kind === "wall");
    expect(elapsed).toHaveLength(6);
    expect(elapsed.filter(({ verdict }) => verdict === "missed")).toEqual([]);
    const few = targets.filter(({ unit, value }) => unit === "count" && value <= 1.5);
    // Too short for threads, as above.
    expect(few.map(({ name }) => name.split(":")[0]!)).toEqual(["put of a stream"]);
  },
  60_000,
);

test("finds wrong bytes", async () => {
  const run = () => runTiny("serial-bound", [2 * MIB]).catch(String);
  expect(await withWrongBytes(run)).toContain("wrong bytes came back");
});
