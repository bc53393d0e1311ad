import { expect, test } from "bun:test";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { withFolder } from "../../src/harness/files.ts";
import { work } from "../../src/suites/processor/scaling.ts";
import { runTiny } from "./run-tiny.ts";
import { withWrongBytes } from "./wrong-bytes.ts";

const MIB = 2 ** 20;

test("measures every length, number of recipients and of threads, and has all targets", async () => {
  const large = new Uint8Array(600 * MIB).fill(1);
  const { measurements, targets, notes } = await runTiny("scaling", [MIB, 2 * MIB, 4 * MIB]);
  // Threads are not measured in a process that has the memory of other suites.
  const peak = measurements.find(({ name }) => name === "put, threads: 0")!.peakRss;
  expect(peak).toBeLessThan(large.length);
  const both = (what: string) => [`put${what}`, `get${what}`];
  expect(measurements.map(({ name }) => name)).toEqual([
    ...[" 1 MiB", " 2 MiB", " 4 MiB"].flatMap(both),
    ...[1, 8, 64].flatMap((count) => both(`, recipients: ${count}`)),
    ...[0, 2, 1, 4, 8].flatMap((count) => both(`, threads: ${count}`)),
  ]);
  expect(targets.map(({ name, most, least }) => [name, most ?? least])).toEqual([
    ["put: CPU time by length: exponent", 1.1],
    ["put: memory by length: exponent", 0.5],
    ["put: highest peak of resident memory", 256 * 2 ** 20],
    ["get: CPU time by length: exponent", 1.1],
    ["get: memory by length: exponent", 0.5],
    ["get: highest peak of resident memory", 256 * 2 ** 20],
    ["put: CPU time by recipients: exponent", 1.1],
    ["get: CPU time by recipients: exponent", 1.1],
    ["put: speed with 2 threads, to that without", 1.2],
    ["put: share of the CPU time that 2 threads take over", 0.4],
    ["get: speed with 2 threads, to that without", 1.2],
    ["get: share of the CPU time that 2 threads take over", 0.4],
  ]);
  for (const { name, value, verdict } of targets) {
    // What hardly grows over these sizes has an exponent around 0.
    const possible = name.endsWith("exponent") ? Number.isFinite(value) : value > 0;
    expect({ name, possible }).toEqual({ name, possible: true });
    // Peaks do not depend on the load of the machine.
    if (name.includes("peak")) expect(verdict).toBe("met");
  }
  expect(notes.filter((note) => note.includes("times the speed without threads"))).toHaveLength(2);
}, 120_000);

test("finds wrong bytes of a put to a backend that discards them", async () => {
  const identity = formatIdentity(await generateIdentity());
  await withFolder(async (folder) => {
    const put = () => work({ way: "put", mib: 1, folder, identity, warmUps: 0 });
    expect(await put()).toHaveProperty("increase");
    expect(await withWrongBytes(() => put().catch(String))).toContain("wrong bytes came back");
  });
});
