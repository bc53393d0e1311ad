import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

await acceptance("encryption-perf", {
  targets: [
    "1 MB encrypted and uploaded",
    "10 MB encrypted and uploaded",
    "1 MB: put to bare PUT with kept checksum + secretbox + SHA-256",
  ],
  checks: {
    "a put up to 1 MB is one request, and 10 MB are three chunks and a root": ({ measurement }) => {
      expect(measurement("put 100 KB").requests).toBe(1);
      expect(measurement("put 1 MB").requests).toBe(1);
      expect(measurement("put 10 MB").requests).toBe(4);
    },
    "sends less than 1 KB more than the content": ({ measurement }) => {
      for (const size of ["100 KB", "1 MB", "10 MB"]) {
        const { bytesSent = 0, bytesPerOperation = 0 } = measurement(`put ${size}`);
        expect(bytesSent).toBeGreaterThan(bytesPerOperation);
        expect(bytesSent).toBeLessThan(bytesPerOperation + 1000);
      }
    },
    "times every part of every put": ({ measurement }) => {
      for (const size of ["100 KB", "1 MB", "10 MB"]) {
        for (const part of ["encrypt", "header", "hash", "upload"]) {
          expect(measurement(`${size}: ${part}`).distribution.least).toBeGreaterThan(0);
        }
      }
    },
  },
});
