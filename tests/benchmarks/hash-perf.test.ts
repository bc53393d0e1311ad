import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const SIZES = ["1 MB", "10 MB", "50 MB", "100 MB"];

await acceptance("hash-perf", {
  targets: [
    "SHA-256, slowest size",
    ...SIZES.map((size) => `${size}: rate of addressOf to that of a bare createHash`),
    "spread of the rates of all sizes, to their median",
    "1 KB, median",
    "100 KB, median",
  ],
  checks: {
    "compares SHA-1, SHA-256 and SHA-512, whole and incremental": ({ measurement }) => {
      for (const size of SIZES) {
        for (const way of ["addressOf", "SHA-256 incremental", "SHA-1", "SHA-512"]) {
          const { samples, bytesPerOperation = 0 } = measurement(`${way} ${size}`);
          expect(samples.length).toBeGreaterThanOrEqual(10);
          expect(bytesPerOperation).toBe(Number.parseInt(size) * 1e6);
        }
      }
    },
  },
});
