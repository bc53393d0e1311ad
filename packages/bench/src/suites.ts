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
  lazy(
    {
      name: "streaming-throughput",
      title: "Streams up and down: speed beside bare requests, and memory",
      needsObjectStore: true,
      options: [
        {
          name: "partSize",
          kind: "text",
          description: "bytes of a chunk, such as 5MB,4MiB (rounded to a power of two)",
        },
        { name: "concurrency", kind: "text", description: "chunks in flight, such as 3,4" },
      ],
    },
    async () => (await import("./suites/streaming-throughput.ts")).streamingThroughput,
  ),
  lazy(
    {
      name: "many-small",
      title: "Many objects of 4 KiB: folders, and an object store beside bare requests",
      needsObjectStore: true,
      options: [{ name: "count", kind: "number", description: "number of objects" }],
    },
    async () => (await import("./suites/many-small.ts")).manySmall,
  ),
  lazy(
    {
      name: "transfer",
      title: "The backend beside bare requests, the AWS SDK and MinIO's client; a store over it",
      needsObjectStore: true,
    },
    async () => (await import("./suites/transfer.ts")).transfer,
  ),
  lazy(
    {
      name: "stores",
      title: "An object store, versitygw and a folder, beside the least that any store must do",
      needsObjectStore: true,
    },
    async () => (await import("./suites/stores.ts")).stores,
  ),
];
