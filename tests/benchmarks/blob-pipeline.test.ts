import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const STAGES = ["read", "compress", "key", "encrypt", "write"];
const WAYS = ["random", "convergent"];

await acceptance("blob-pipeline", {
  targets: WAYS.flatMap((way) => [
    `idk, ${way}: times the files/s of the classic pipeline`,
    `idk, ${way}: time to that of the classic pipeline without its keys`,
  ]),
  checks: {
    "times each stage of each file for both pipelines": ({ measurement }) => {
      for (const stage of STAGES) {
        for (const who of ["idk", "classic"]) {
          const { samples } = measurement(`${who}, a file: ${stage}`);
          expect(samples.length % 263).toBe(0);
          expect(samples.length).toBeGreaterThan(0);
        }
      }
    },
    "stores every file in at least one blob, and 25.1 MB in fewer bytes": ({ result }) => {
      for (const way of WAYS) {
        const counter = (what: string) =>
          result.counters.find(({ name }) => name === `idk, ${way}: ${what}`)!.value;
        expect(counter("blobs")).toBeGreaterThanOrEqual(263);
        expect(counter("bytes stored")).toBeLessThan(25.1e6);
      }
    },
  },
});
