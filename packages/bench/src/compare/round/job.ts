/*
 * This folder measures both revisions: it is bundled into each checkout, and imports the library by name.
 *
 * A process receives its job from `jobProgram`. To count, it answers with the counts. To measure, it
 * prepares the work and prints a line. Each line of standard input is then a number of operations, which
 * it runs as a batch; it prints what the batch took, and the peak memory of the process so far. At the end
 * of the input it verifies and removes what it stored, and answers.
 */
import type { ObjectStoreAccess } from "../../suite.ts";

export interface Job {
  /** A name in the list of tasks. */
  readonly task: string;
  /** Counting costs time, so it has its own process. */
  readonly mode: "measure" | "count";
  /** An empty folder for the files of the task. */
  readonly folder: string;
  /** Where the task may store objects, if it needs a store; it removes them. */
  readonly store?: ObjectStoreAccess | undefined;
}

/**
 * What is counted, and the words for it, in the order of tables. Requests are those over HTTP, or the
 * equivalent calls of a backend that is not remote; a listing is a GET.
 */
export const COUNTER_WORDS = {
  GET: "GET requests",
  PUT: "PUT requests",
  HEAD: "HEAD requests",
  POST: "POST requests",
  DELETE: "DELETE requests",
  bytesSent: "bytes sent",
  bytesReceived: "bytes received",
  bytesHashed: "bytes hashed",
  bytesSealed: "bytes sealed",
  storedOverhead: "bytes stored beyond content",
  threads: "threads",
} as const;

export type CounterName = keyof typeof COUNTER_WORDS;

/**
 * Counts per operation. `threads` is the number of threads that a store starts by default. A counter is
 * absent if it does not apply: `storedOverhead` without a put, `threads` without threads, and
 * `bytesSealed` if the revision does not accept an implementation of NaCl.
 */
export type Counts = Readonly<Partial<Record<CounterName, number>>>;

/** The revision lacks an export or method that the task calls. */
export interface Lacking {
  readonly lacks: string;
}
