/*
 * This folder measures both revisions. It is copied into each worktree, so it imports only built-in
 * modules, types, and the measured library by name.
 *
 * A process receives its job as one line of JSON on standard input. To count, it prints one reply and
 * ends. To measure, it prepares the work and prints `ready`; each further line `run N` makes it run a
 * batch of N operations and print what they took, and `end` makes it remove what it stored.
 */
import type { ObjectStoreAccess } from "../../suite.ts";

/**
 * The backend of a task. `discard` stores nothing, because the first use of new memory pages would cost
 * time.
 */
export type BackendKind = "memory" | "discard" | "folder" | "store";

export interface Job {
  readonly task: string;
  readonly backendKind: BackendKind;
  /** Whether the store has its default threads; otherwise it has none. */
  readonly threads: boolean;
  /** Counting costs time, so it has its own process. */
  readonly mode: "measure" | "count";
  /** An empty folder for the files of the task. */
  readonly folder: string;
  /** Where the task may store objects; it removes them. */
  readonly store?: ObjectStoreAccess | undefined;
}

/** Requests over HTTP, or the equivalent calls of a backend that is not remote; a listing is a GET. */
export type Method = "GET" | "PUT" | "HEAD" | "POST" | "DELETE";

export type CounterName =
  | Method
  | "bytesSent"
  | "bytesReceived"
  | "bytesHashed"
  | "bytesSealed"
  | "storedOverhead"
  | "threads";

/**
 * Counts per operation. `threads` is the number of threads that a store starts by default. A counter is
 * absent if it does not apply: `storedOverhead` without a put, `threads` without threads, and
 * `bytesSealed` if the revision does not accept an implementation of NaCl.
 */
export type Counts = Readonly<Partial<Record<CounterName, number>>>;

/** What one batch took. */
export interface Batch {
  /** Elapsed time. */
  readonly seconds: number;
  /** User and system time of all threads of the process. */
  readonly cpuSeconds: number;
  /** Peak resident memory of the process during the batch, in bytes. */
  readonly peakRss: number;
}

/** A line that a process prints. */
export type Reply =
  | { readonly kind: "ready" }
  | ({ readonly kind: "batch" } & Batch)
  /** `peakRss` is that of the whole process. */
  | { readonly kind: "end"; readonly peakRss: number }
  | { readonly kind: "count"; readonly counts: Counts }
  /** This revision lacks an export or method that the task calls. */
  | { readonly kind: "missing"; readonly what: string };
