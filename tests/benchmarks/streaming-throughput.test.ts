import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const SIZES = ["10 MB", "50 MB", "100 MB", "500 MB"];

await acceptance("streaming-throughput", {
  targets: [
    "round trips with equal SHA-256",
    "peak memory up: 500 MB to 100 MB",
    "peak memory down: 500 MB to 100 MB",
  ],
  checks: {
    "transfers every byte both ways": ({ measurement }) => {
      for (const size of SIZES) {
        const [up, down] = [measurement(`up ${size}`), measurement(`down ${size}`)];
        expect(up.bytesSent).toBeGreaterThan(up.bytesPerOperation!);
        expect(down.bytesReceived).toBe(up.bytesSent);
        expect(down.requests).toBe(up.requests);
      }
    },
    "samples the memory of each stream": ({ measurement }) => {
      for (const name of SIZES.flatMap((size) => [`up ${size}`, `down ${size}`])) {
        const { memory = [], peakRss = 0 } = measurement(name);
        expect(memory.length).toBeGreaterThan(2);
        expect(peakRss).toBeGreaterThanOrEqual(Math.max(...memory.map(({ rss }) => rss)));
      }
    },
    "adds up all sizes": ({ measurement }) => {
      for (const way of ["up", "down"]) {
        expect(measurement(`${way}, in total`).bytesPerOperation).toBe(660e6);
      }
    },
  },
});
