/** All suites, in the order in which they run. */
import { type Findings, suiteResult } from "./harness/results.ts";
import type { Suite, SuiteContext } from "./suite.ts";
import { missingPeers } from "./suites/peer-programs.ts";

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
    {
      name: "counters",
      title: "Requests, bytes, threads and peak memory, exactly",
      needsObjectStore: true,
    },
    async () => (await import("./suites/object-store/counters.ts")).counters,
  ),
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
    async () => (await import("./suites/object-store/round-trip.ts")).encryptionPerf,
  ),
  lazy(
    {
      name: "decryption-perf",
      title: "Downloading and opening, against a bare download, SHA-256 and secretbox",
      needsObjectStore: true,
    },
    async () => (await import("./suites/object-store/round-trip.ts")).decryptionPerf,
  ),
  lazy(
    {
      name: "sse-overhead",
      title: "Uploads and downloads with and without server-side encryption, in pairs",
      needsObjectStore: true,
      options: [
        { name: "download", kind: "boolean", description: "also downloads (default true)" },
        { name: "retries", kind: "number", description: "retries of a request (default 5)" },
        {
          name: "baseDelayMs",
          kind: "number",
          description:
            "milliseconds before the first retry, doubled for each further one (default 500)",
        },
      ],
    },
    async () => (await import("./suites/object-store/sse-overhead.ts")).sseOverhead,
  ),
  lazy(
    {
      name: "blob-pipeline",
      title: "Files through every stage, against a classic pipeline with a password",
    },
    async () => (await import("./suites/blob-pipeline.ts")).blobPipeline,
  ),
  lazy(
    {
      name: "scaling",
      title: "How time and memory grow with length and recipients, and speed with threads",
    },
    async () => (await import("./suites/scaling.ts")).scaling,
  ),
  lazy(
    {
      name: "leaks",
      title: "Growth of memory over many rounds of put, get and delete",
      slow: true,
    },
    async () => (await import("./suites/leaks.ts")).leaks,
  ),
  lazy(
    {
      name: "large-files",
      title: "A large file to a folder and back, against cp and sha256sum",
      slow: true,
    },
    async () => (await import("./suites/large-files.ts")).largeFiles,
  ),
  lazy(
    { name: "cold-start", title: "Start-up of the command, against an empty Bun script" },
    async () => (await import("./suites/cold-start.ts")).coldStart,
  ),
  lazy(
    {
      name: "peers",
      title: "The command beside rclone crypt, age and restic",
      needsObjectStore: true,
      slow: true,
      missing: missingPeers,
    },
    async () => (await import("./suites/peers.ts")).peers,
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
    async () => (await import("./suites/object-store/streaming.ts")).streamingThroughput,
  ),
  lazy(
    {
      name: "many-small",
      title: "Many objects of 4 KiB: folders, and an object store beside bare requests",
      slow: true,
      needsObjectStore: true,
      options: [{ name: "count", kind: "number", description: "number of objects" }],
    },
    async () => (await import("./suites/object-store/many-small.ts")).manySmall,
  ),
  lazy(
    {
      name: "transfer",
      title: "The backend beside bare requests and the AWS SDK",
      slow: true,
      needsObjectStore: true,
    },
    async () => (await import("./suites/object-store/transfer.ts")).transfer,
  ),
  lazy(
    {
      name: "stores",
      title: "An object store, versitygw and a folder, beside the least that any store must do",
      slow: true,
      needsObjectStore: true,
    },
    async () => (await import("./suites/object-store/transfer.ts")).stores,
  ),
];
