/** All suites, in the order in which they run. */
import { type Findings, suiteResult } from "./harness/results.ts";
import type { Suite, SuiteContext } from "./suite.ts";

type Measure = (context: SuiteContext) => Promise<Findings>;

/** A suite whose code is loaded when it runs, so that `--list` loads no SDK. */
function lazy(
  about: Omit<Suite, "run" | "needsObjectStore"> & { readonly needsObjectStore?: true },
  load: () => Promise<Measure>,
): Suite {
  return {
    needsObjectStore: false,
    ...about,
    async run(context) {
      const measure = await load();
      const start = performance.now();
      return suiteResult(about, start, await measure(context));
    },
  };
}

export const suites: readonly Suite[] = [
  lazy(
    { name: "hash-perf", title: "SHA-256 of blobs, against a bare createHash" },
    async () => (await import("./suites/hash-perf.ts")).hashPerf,
  ),
  lazy(
    { name: "ciphers", title: "Sealing and opening with several ciphers and with age, by size" },
    async () => (await import("./suites/ciphers.ts")).ciphers,
  ),
  lazy(
    {
      name: "blob-pipeline",
      title: "A folder of mixed files, against a pipeline of LZ4, PBKDF2, AES-GCM and JSON",
    },
    async () => (await import("./suites/blob-pipeline.ts")).blobPipeline,
  ),
  lazy(
    {
      name: "scaling",
      title: "Growth of time and memory with content length and number of recipients",
    },
    async () => (await import("./suites/scaling.ts")).scaling,
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
      name: "sse-overhead",
      title: "Uploads and downloads with and without server-side encryption, in pairs",
      needsObjectStore: true,
      options: [
        {
          name: "download",
          kind: "boolean",
          description: "measure downloads as well as uploads (default: true)",
        },
        {
          name: "retries",
          kind: "number",
          description: "retries of a request after a transient error (default: 0)",
        },
      ],
    },
    async () => (await import("./suites/sse-overhead.ts")).sseOverhead,
  ),
  lazy(
    {
      name: "streaming-throughput",
      title: "Streaming uploads and downloads and their memory, one process each",
      needsObjectStore: true,
    },
    async () => (await import("./suites/streaming-throughput.ts")).streamingThroughput,
  ),
];
