import { acceptance } from "./acceptance.ts";
import { expect } from "bun:test";

const CIPHERS = [
  "XSalsa20-Poly1305, native",
  "XSalsa20-Poly1305, portable",
  "AES-256-GCM",
  "ChaCha20-Poly1305",
  "age",
];

/** No targets: which cipher is faster depends on the machine. */
await acceptance("ciphers", {
  targets: [],
  checks: {
    "seals and opens with each cipher at each size": ({ result, measurement }) => {
      const missing = CIPHERS.filter((cipher) =>
        result.notes.some((note) => note.startsWith(`not measured: ${cipher}`)),
      );
      // Some runtimes lack ChaCha20-Poly1305; all others must be present.
      expect(missing.filter((cipher) => cipher !== "ChaCha20-Poly1305")).toEqual([]);
      for (const cipher of CIPHERS.filter((cipher) => !missing.includes(cipher))) {
        for (const size of ["1 KB", "100 KB", "1 MB", "16 MB"]) {
          for (const way of ["seal", "open"]) {
            const { samples, bytesPerOperation = 0 } = measurement(`${cipher}, ${way} ${size}`);
            expect(samples.length).toBeGreaterThanOrEqual(10);
            expect(bytesPerOperation).toBeGreaterThanOrEqual(1000);
          }
        }
      }
    },
  },
});
