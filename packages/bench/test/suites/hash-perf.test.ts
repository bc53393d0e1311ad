import { expect, test } from "bun:test";
import { runTiny } from "./run-tiny.ts";

test("every size is hashed in each way, and small blobs besides", async () => {
  const { measurements, targets } = await runTiny("hash-perf", [200_000, 300_000]);
  expect(measurements.map(({ name }) => name)).toEqual([
    "addressOf 200 KB",
    "bare createHash 200 KB",
    "SHA-256 incremental 200 KB",
    "SHA-1 200 KB",
    "SHA-512 200 KB",
    "addressOf 300 KB",
    "bare createHash 300 KB",
    "SHA-256 incremental 300 KB",
    "SHA-1 300 KB",
    "SHA-512 300 KB",
    "addressOf 1 KB",
    "addressOf 100 KB",
  ]);
  expect(targets).toHaveLength(6);
  expect(measurements[0]!.samples).toHaveLength(2);
});
