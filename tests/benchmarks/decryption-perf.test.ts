import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

await acceptance("decryption-perf", {
  targets: [
    "1 MB downloaded and decrypted",
    "10 MB downloaded and decrypted",
    "1 MB: get to bare GET + SHA-256 + secretbox",
  ],
  checks: {
    "a get up to 1 MB is one request, and 10 MB are three chunks and a root": ({ measurement }) => {
      expect(measurement("get 100 KB").requests).toBe(1);
      expect(measurement("get 1 MB").requests).toBe(1);
      expect(measurement("get 10 MB").requests).toBe(4);
    },
    "times every part of every get": ({ measurement }) => {
      for (const size of ["100 KB", "1 MB", "10 MB"]) {
        for (const part of ["download", "parse", "hash", "decrypt"]) {
          expect(measurement(`${size}: ${part}`).distribution.least).toBeGreaterThan(0);
        }
      }
    },
    "compares a first read with repeated ones": ({ result }) => {
      expect(result.pairs.map(({ base, head }) => [base, head])).toEqual(
        ["100 KB", "1 MB", "10 MB"].map((size) => [`first get ${size}`, `get ${size}`]),
      );
    },
  },
});
