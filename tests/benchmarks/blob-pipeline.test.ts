import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const STAGES = ["read", "compress", "key", "encrypt", "encode", "write"];

await acceptance("blob-pipeline", {
  targets: ["random", "convergent"].map(
    (way) => `idk, ${way}: times the files/s of the classic pipeline`,
  ),
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
    "stores every file in at least one blob": ({ measurement }) => {
      for (const name of ["classic", "idk, random", "idk, convergent"]) {
        expect(measurement(name).requests).toBeGreaterThanOrEqual(263);
      }
    },
    "stores 25.1 MB in fewer bytes": ({ measurement }) => {
      for (const name of ["idk, random", "idk, convergent"]) {
        const { bytesSent = 0, bytesPerOperation = 0 } = measurement(name);
        expect(bytesPerOperation / 1e6).toBeCloseTo(25.1, 1);
        expect(bytesSent).toBeGreaterThan(0);
        expect(bytesSent).toBeLessThan(bytesPerOperation);
      }
    },
  },
});
