import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

await acceptance("sse-overhead", {
  targets: ["objects left behind"],
  checks: {
    "measures uploads and downloads in pairs": ({ result }) => {
      expect(result.pairs.map(({ base, head }) => [base, head])).toEqual(
        ["upload", "download"].map((way) => [`${way}, plain 8 MB`, `${way}, SSE 8 MB`]),
      );
      for (const { deltas } of result.pairs) expect(deltas.length).toBeGreaterThanOrEqual(30);
    },
    "reports a verdict that agrees with the interval": ({ result }) => {
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
