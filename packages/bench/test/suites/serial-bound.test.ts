import { expect, test } from "bun:test";
import { join } from "node:path";
import { reportSchema } from "../../src/report/report.ts";
import { runTiny } from "./run-tiny.ts";
import { withWrongBytes } from "./wrong-bytes.ts";

const MIB = 2 ** 20;
/** The least for which a store starts its threads. */
const LENGTH = 32 * MIB;

test("measures each way with threads and on one thread, against the serial bound", async () => {
  const { measurements, targets } = await runTiny("serial-bound", [LENGTH], { iterations: 1 });
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
  "one core has all targets, and misses none",
  async () => {
    const bench = [join(import.meta.dir, "../../src/main.ts"), "serial-bound", "--quick"];
    const flags = ["--iterations", "1", "--json", "-"];
    const argv = ["taskset", "-c", "0", process.execPath, ...bench, ...flags];
    const output = await new Response(Bun.spawn(argv, { stderr: "ignore" }).stdout).json();
    const { machine, suites } = reportSchema.parse(output);
    expect(machine.cores).toBe(1);
    const { targets } = suites[0]!;
    expect(targets).toHaveLength(6 + 6 + 6);
    const missed = targets.filter(({ verdict }) => verdict === "missed").map(({ name }) => name);
    // Too short for threads, as above.
    expect(missed).toEqual([
      "put of a stream: seconds of all threads per second of the calling one",
    ]);
  },
  60_000,
);

test("finds wrong bytes", async () => {
  const run = () => runTiny("serial-bound", [2 * MIB], { iterations: 1 }).catch(String);
  expect(await withWrongBytes(run)).toContain("wrong bytes came back");
});
