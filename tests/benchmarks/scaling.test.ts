import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const WAYS = ["put", "get"];

await acceptance("scaling", {
  targets: WAYS.flatMap((way) => [
    `${way}: time by length: exponent`,
    `${way}: memory by length: exponent`,
    `${way}: time by recipients: exponent`,
  ]),
  checks: {
    "measures from 1 MiB to 1 GiB": ({ measurement }) => {
      for (const way of WAYS) {
        for (const size of ["1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB"]) {
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
