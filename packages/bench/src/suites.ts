import type { Suite } from "./suite.ts";
import { missingPeers } from "./suites/command/peer-programs.ts";
import { missingPython } from "./suites/gateway/python.ts";
import { missingTaskset } from "./suites/limits/cores.ts";

/** By name. The code of a suite is loaded when it runs, so that `--list` loads none of it. */
const byName: Readonly<Record<string, Omit<Suite, "name">>> = {
  counters: {
    title: "Requests, bytes, threads and peak memory, exactly",
    needsObjectStore: true,
    run: async (context) => (await import("./suites/object-store/counters.ts")).counters(context),
  },
  "hash-perf": {
    title: "SHA-256 of blobs, against a bare createHash",
    run: async (context) => (await import("./suites/processor/hash-perf.ts")).hashPerf(context),
  },
  ciphers: {
    title: "XSalsa20-Poly1305 against libsodium and other ciphers, by size",
    run: async (context) => (await import("./suites/processor/ciphers.ts")).ciphers(context),
  },
  primitives: {
    title: "Headers, keys and wrapping, against libsodium and node:crypto",
    run: async (context) => (await import("./suites/processor/primitives.ts")).primitives(context),
  },
  compression: {
    title: "Puts with each compression, against the bare codecs",
    run: async (context) =>
      (await import("./suites/processor/compression.ts")).compression(context),
  },
  "serial-bound": {
    title: "Long contents in memory, against secretbox and SHA-256 on one thread",
    run: async (context) =>
      (await import("./suites/processor/serial-bound.ts")).serialBound(context),
  },
  "encryption-perf": {
    title: "Sealing and uploading, against a bare upload, secretbox and SHA-256",
    needsObjectStore: true,
    run: async (context) =>
      (await import("./suites/object-store/round-trip.ts")).encryptionPerf(context),
  },
  "decryption-perf": {
    title: "Downloading and opening, against a bare download, SHA-256 and secretbox",
    needsObjectStore: true,
    run: async (context) =>
      (await import("./suites/object-store/round-trip.ts")).decryptionPerf(context),
  },
  "sse-overhead": {
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
    run: async (context) =>
      (await import("./suites/object-store/sse-overhead.ts")).sseOverhead(context),
  },
  "blob-pipeline": {
    title: "Files through every stage, against a classic pipeline with a password",
    run: async (context) =>
      (await import("./suites/processor/blob-pipeline.ts")).blobPipeline(context),
  },
  scaling: {
    title: "How time and memory grow with length and recipients, and speed with threads",
    options: [
      {
        name: "simulate",
        kind: "boolean",
        description: "only simulate shards of a whole store, by documented rates of providers",
      },
    ],
    run: async (context) => (await import("./suites/processor/scaling.ts")).scaling(context),
  },
  leaks: {
    title: "Growth of memory over many rounds of put, get and delete",
    slow: true,
    run: async (context) => (await import("./suites/processor/leaks.ts")).leaks(context),
  },
  "large-files": {
    title: "A large file to a folder and back, against cp and sha256sum",
    slow: true,
    run: async (context) => (await import("./suites/command/large-files.ts")).largeFiles(context),
  },
  "cold-start": {
    title: "Start-up of the command, against an empty Bun script",
    run: async (context) => (await import("./suites/command/cold-start.ts")).coldStart(context),
  },
  peers: {
    title: "The command beside rclone crypt, age and restic",
    needsObjectStore: true,
    slow: true,
    missing: missingPeers,
    run: async (context) => (await import("./suites/command/peers.ts")).peers(context),
  },
  limits: {
    title: "The bounds of put, get, verify and restore on 1 and 2 cores, and what is beyond them",
    needsObjectStore: true,
    slow: true,
    missing: missingTaskset,
    run: async (context) => (await import("./suites/limits/limits.ts")).limits(context),
  },
  "snapshots-peers": {
    title: "Backups by the command beside restic and kopia",
    needsObjectStore: true,
    slow: true,
    options: [
      { name: "parts", kind: "text", description: "small,large,wide,deep,pruning (default all)" },
      {
        name: "manyFiles",
        kind: "number",
        description: "files of the parts small and pruning (100000)",
      },
    ],
    missing: missingPeers,
    run: async (context) => (await import("./suites/snapshots/peers.ts")).snapshotsPeers(context),
  },
  "streaming-throughput": {
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
    run: async (context) =>
      (await import("./suites/object-store/streaming.ts")).streamingThroughput(context),
  },
  recorder: {
    title: "CPU time and latency of a server that records what it answers",
    slow: true,
    options: [
      { name: "cpuOnly", kind: "boolean", description: "without latency, in less than a minute" },
      { name: "endpoints", kind: "text", description: "such as simple,large-post (default all)" },
    ],
    run: async (context) => (await import("./suites/recorder/recorder.ts")).recorder(context),
  },
  "recorder-store": {
    title: "The same with an archive in an object store, beside one in a folder",
    needsObjectStore: true,
    slow: true,
    run: async (context) => (await import("./suites/recorder/recorder.ts")).recorderStore(context),
  },
  "recorder-outage": {
    title: "Memory of a server that records while its store does not answer",
    slow: true,
    options: [{ name: "seconds", kind: "number", description: "without an answer (default 60)" }],
    run: async (context) => (await import("./suites/recorder/outage.ts")).recorderOutage(context),
  },
  snapshots: {
    title: "Backups of many small files: requests, bytes, and time against the least work",
    needsObjectStore: true,
    options: [{ name: "files", kind: "number", description: "number of files of 4 KiB" }],
    run: async (context) => (await import("./suites/snapshots/snapshots.ts")).snapshots(context),
  },
  gateway: {
    title: "The S3 gateway beside its store: boto3, small requests, listings, memory",
    needsObjectStore: true,
    missing: missingPython,
    run: async (context) => (await import("./suites/gateway/gateway.ts")).gateway(context),
  },
  "gateway-scale": {
    title: "The S3 gateway with larger contents, more keys and longer streams",
    needsObjectStore: true,
    slow: true,
    missing: missingPython,
    run: async (context) => (await import("./suites/gateway/gateway.ts")).gatewayScale(context),
  },
  "many-small": {
    title: "Many objects of 4 KiB: folders, and an object store beside bare requests",
    slow: true,
    needsObjectStore: true,
    options: [{ name: "count", kind: "number", description: "number of objects" }],
    run: async (context) =>
      (await import("./suites/object-store/many-small.ts")).manySmall(context),
  },
  transfer: {
    title: "The backend beside bare requests and the AWS SDK",
    slow: true,
    needsObjectStore: true,
    run: async (context) => (await import("./suites/object-store/transfer.ts")).transfer(context),
  },
  stores: {
    title: "An object store, versitygw and a folder, beside the least that any store must do",
    slow: true,
    needsObjectStore: true,
    // A run at home may do without it; in CI, nobody would notice.
    missing: ({ CI, IDK_TEST_VERSITYGW }) =>
      CI && !IDK_TEST_VERSITYGW
        ? "IDK_TEST_VERSITYGW not set: run script/versitygw run script/minio run script/idk bench stores"
        : undefined,
    run: async (context) => (await import("./suites/object-store/transfer.ts")).stores(context),
  },
};

/** All suites, in the order in which they run. */
export const suites: readonly Suite[] = Object.entries(byName).map(([name, suite]) =>
  Object.assign(suite, { name }),
);
