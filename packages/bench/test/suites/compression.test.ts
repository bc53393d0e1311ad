import { expect, test } from "bun:test";
import { KINDS } from "../../src/suites/processor/mixed-files.ts";
import { runTiny } from "./run-tiny.ts";
import { withWrongBytes } from "./wrong-bytes.ts";

const CONTENTS = [...KINDS, "executable", "random bytes"];

test("stores each kind of content with each compression, and counts what is stored", async () => {
  const { measurements, targets, counters } = await runTiny("compression", [300_000]);
  expect(measurements).toHaveLength(6 * CONTENTS.length);
  for (const kind of CONTENTS) {
    const own = targets.filter(({ name }) => name.startsWith(`${kind}: `));
    expect(own).toHaveLength(kind === "random bytes" ? 4 : 3);
    expect(own.find(({ kind }) => kind === "exact")!.verdict).toBe("met");
  }
  // The same code always stores as many bytes.
  const again = await runTiny("compression", [300_000]);
  expect(again.counters).toEqual(counters);
  expect(counters).toHaveLength(4 * (CONTENTS.length - 1));
}, 60_000);

test("finds wrong bytes", async () => {
  const run = () => runTiny("compression", [300_000]).catch(String);
  expect(await withWrongBytes(run)).toContain("wrong bytes came back");
});
