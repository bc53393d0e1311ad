import { expect, test } from "bun:test";
import { runTiny } from "./run-tiny.ts";

const MIB = 2 ** 20;

test("measures every length and number of recipients, and has all exponents", async () => {
  const { measurements, targets } = await runTiny("scaling", [MIB, 2 * MIB, 4 * MIB]);
  expect(measurements.map(({ name }) => name)).toEqual([
    "put 1 MiB",
    "put 2 MiB",
    "put 4 MiB",
    "get 1 MiB",
    "get 2 MiB",
    "get 4 MiB",
    "put, recipients: 1",
    "get, recipients: 1",
    "put, recipients: 8",
    "get, recipients: 8",
    "put, recipients: 64",
    "get, recipients: 64",
  ]);
  expect(targets).toHaveLength(6);
  for (const { unit, value, most } of targets) {
    expect({ unit, most, finite: Number.isFinite(value) }).toEqual({
      unit: "exponent",
      most: 1.1,
      finite: true,
    });
  }
}, 60_000);
