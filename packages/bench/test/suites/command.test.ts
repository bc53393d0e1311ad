/* The suites that run the published command. */
import { expect, test } from "bun:test";
import { peakBound } from "../../src/harness/targets.ts";
import { runTiny } from "./run-tiny.ts";

const MIB = 2 ** 20;

test("large-files: the library and the command beside cp, and their peaks", async () => {
  const { measurements, targets } = await runTiny("large-files", [MIB]);
  expect(measurements.map(({ name }) => name)).toEqual([
    "cp, sha256sum, 1 MiB",
    "put, library, 1 MiB",
    "get, library, 1 MiB",
    "put, command, 1 MiB",
    "get, command, 1 MiB",
  ]);
  expect(targets.map(({ name, most }) => [name, most])).toEqual(
    ["put, library", "put, command", "get, library", "get, command"].flatMap((what) => [
      [`${what}, 1 MiB: time to that of cp and sha256sum`, 1.25],
      [`${what}, 1 MiB: peak of resident memory`, peakBound().most],
    ]),
  );
  for (const { unit, value, verdict } of targets) {
    if (unit !== "bytes") continue;
    expect(verdict).toBe("met");
    expect(value).toBeGreaterThan(20 * MIB);
  }
}, 120_000);

test("cold-start: each command, beside Bun, without the memory of this process", async () => {
  const large = new Uint8Array(400 * MIB).fill(1);
  const { measurements, targets } = await runTiny("cold-start");
  for (const { peakRss } of measurements) expect(peakRss!).toBeLessThan(large.length / 2);
  expect(measurements.map(({ name }) => name)).toEqual([
    "bun -e 0",
    "idk --help",
    "idk put",
    "idk get",
    "idk stat",
    "idk snapshots",
    "idk --help, executable",
    "idk put, executable",
    "idk get, executable",
    "idk stat, executable",
    "idk snapshots, executable",
    "put, from sources",
  ]);
  expect(targets.map(({ name, most }) => [name, most])).toEqual([
    ["idk --help: time to that of bun -e 0", 2.5],
    ["idk put: time to that of bun -e 0", 9],
    ["idk get: time to that of bun -e 0", 9],
    ["idk stat: time to that of bun -e 0", 9],
    ["idk snapshots: time to that of bun -e 0", 16],
    ["idk --help, executable: time to that of bun -e 0", 2],
    ["idk put, executable: time to that of bun -e 0", 6.5],
    ["idk get, executable: time to that of bun -e 0", 6.5],
    ["idk stat, executable: time to that of bun -e 0", 6.5],
    ["idk snapshots, executable: time to that of bun -e 0", 10],
  ]);
}, 120_000);
