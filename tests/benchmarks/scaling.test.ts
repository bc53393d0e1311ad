import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const WAYS = ["put", "get"];

await acceptance("scaling", {
  targets: WAYS.flatMap((way) => [
    `${way}: CPU time by length: exponent`,
    `${way}: memory by length: exponent`,
    `${way}: highest peak of resident memory`,
    `${way}: CPU time by recipients: exponent`,
    `${way}: speed with 2 threads, to that without`,
    `${way}: share of the CPU time that 2 threads take over`,
  ]),
  checks: {
    "measures from 1 MiB to 256 MiB": ({ measurement }) => {
      for (const way of WAYS) {
        for (const size of ["1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB"]) {
          const { samples, peakRss } = measurement(`${way} ${size}`);
          expect(samples.length).toBeGreaterThanOrEqual(3);
          expect(peakRss).toBeGreaterThan(0);
        }
      }
    },
    "measures from 1 to 1024 recipients": ({ measurement }) => {
      for (const way of WAYS) {
        for (const count of [1, 4, 16, 64, 256, 1024]) {
          expect(measurement(`${way}, recipients: ${count}`).x?.value).toBe(count);
        }
      }
    },
  },
});
