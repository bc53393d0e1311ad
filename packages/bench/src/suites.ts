/** All suites, in the order in which they run. */
import { type Findings, suiteResult } from "./harness/results.ts";
import type { Suite, SuiteContext } from "./suite.ts";

type Measure = (context: SuiteContext) => Promise<Findings>;
type About = Pick<Suite, "name" | "title" | "options" | "missing"> &
  Partial<Pick<Suite, "needsObjectStore" | "slow">>;

/** A suite whose code is loaded when it runs, so that `--list` loads none of it. */
function lazy(about: About, load: () => Promise<Measure>): Suite {
  return {
    needsObjectStore: false,
    slow: false,
    ...about,
    async run(context) {
      const measure = await load();
      const start = performance.now();
      const findings = await measure(context);
      return suiteResult(about, (performance.now() - start) / 1000, findings);
    },
  };
}

export const suites: readonly Suite[] = [
  lazy(
    { name: "hash-perf", title: "SHA-256 of blobs, against a bare createHash" },
    async () => (await import("./suites/hash-perf.ts")).hashPerf,
  ),
  lazy(
    { name: "ciphers", title: "XSalsa20-Poly1305 against libsodium and other ciphers, by size" },
    async () => (await import("./suites/ciphers.ts")).ciphers,
  ),
  lazy(
    { name: "primitives", title: "Headers, keys and wrapping, against libsodium and node:crypto" },
    async () => (await import("./suites/primitives.ts")).primitives,
  ),
  lazy(
    { name: "compression", title: "Puts with each compression, against the bare codecs" },
    async () => (await import("./suites/compression.ts")).compression,
  ),
  lazy(
    {
      name: "serial-bound",
      title: "Long contents in memory, against secretbox and SHA-256 on one thread",
    },
    async () => (await import("./suites/serial-bound.ts")).serialBound,
  ),
  lazy(
    {
      name: "encryption-perf",
      title: "Sealing and uploading, against a bare upload, secretbox and SHA-256",
      needsObjectStore: true,
    },
    async () => (await import("./suites/encryption-perf.ts")).encryptionPerf,
  ),
  lazy(
    {
      name: "decryption-perf",
      title: "Downloading and opening, against a bare download, SHA-256 and secretbox",
      needsObjectStore: true,
    },
    async () => (await import("./suites/decryption-perf.ts")).decryptionPerf,
  ),
];
