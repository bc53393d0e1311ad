/*
 * This folder is what both revisions are measured with: it is copied into the worktree of each, and
 * so imports nothing but Node's own modules, and by name what it measures.
 */

/**
 * What a task's backend is: memory; `discard`, which keeps nothing of a put, because memory that
 * grows costs its first touch; a folder; an object store.
 */
export type BackendKind = "memory" | "discard" | "folder" | "store";

/** What a process of one round is told, as JSON on its standard input. */
export interface Job {
  readonly task: string;
  readonly backendKind: BackendKind;
  /** Operations that are measured, after a few that warm up. */
  readonly operations: number;
  /** Counting costs time, so that it has a process of its own. */
  readonly mode: "time" | "count";
  /** Empty; for what the task keeps in files. */
  readonly folder: string;
  /** Where the task may keep objects; it removes them. */
  readonly store?: RoundStore | undefined;
}

/** As `ObjectStoreAccess`. */
export interface RoundStore {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** For each operation; `storedOverhead` is there where content is put. */
export interface Counts {
  readonly requests: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly bytesHashed: number;
  readonly storedOverhead?: number | undefined;
}

/** What it answers, as JSON on its standard output. */
export type Outcome =
  | {
      readonly kind: "time";
      /** That passed, for each operation. */
      readonly seconds: number;
      /** User and system time of all threads of the process, for each operation. */
      readonly cpuSeconds: number;
    }
  | { readonly kind: "count"; readonly counts: Counts }
  /** This revision lacks what the task calls. */
  | { readonly kind: "missing"; readonly what: string };
