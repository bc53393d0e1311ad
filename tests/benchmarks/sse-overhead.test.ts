import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

await acceptance("sse-overhead", {
  targets: ["objects left behind"],
  checks: {
    "measures both ways in pairs": ({ result }) => {
      expect(result.pairs.map(({ base, head }) => [base, head])).toEqual(
        ["upload", "download"].map((way) => [`${way}, plain 8 MB`, `${way}, SSE 8 MB`]),
      );
      for (const { deltas } of result.pairs) expect(deltas.length).toBeGreaterThanOrEqual(30);
    },
    "says what the interval says": ({ result }) => {
      for (const { interval, meanDelta, verdict } of result.pairs) {
        expect(interval.confidence).toBe(0.95);
        expect(interval.low).toBeLessThanOrEqual(meanDelta);
        expect(interval.high).toBeGreaterThanOrEqual(meanDelta);
        const none = interval.low <= 0 && interval.high >= 0;
        expect(verdict.includes("no measurable difference")).toBe(none);
      }
    },
  },
});
