/*
 * This folder measures both revisions. It is copied into each worktree, so it imports only built-in
 * modules, and the measured library by name.
 */

/**
 * The backend of a task. `discard` stores nothing, because the first use of new memory pages would cost
 * time.
 */
export type BackendKind = "memory" | "discard" | "folder" | "store";

/** The job of one process, as JSON on its standard input. */
export interface Job {
  readonly task: string;
  readonly backendKind: BackendKind;
  /** Measured operations, after a few that warm up. */
  readonly operations: number;
  /** Counting costs time, so it has its own process. */
  readonly mode: "time" | "count";
  /** An empty folder for the files of the task. */
  readonly folder: string;
  /** Where the task may store objects; it removes them. */
  readonly store?: RoundStore | undefined;
}

/** The same shape as `ObjectStoreAccess`, which this folder cannot import. */
export interface RoundStore {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Counts per operation; `storedOverhead` exists if the task puts content. */
export interface Counts {
  readonly requests: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly bytesHashed: number;
  readonly storedOverhead?: number | undefined;
}

/** The result of a process, as JSON on its standard output. */
export type Outcome =
  | {
      readonly kind: "time";
      /** Elapsed time per operation. */
      readonly seconds: number;
      /** User and system time of all threads per operation. */
      readonly cpuSeconds: number;
    }
  | { readonly kind: "count"; readonly counts: Counts }
  /** This revision lacks an export or method that the task calls. */
  | { readonly kind: "missing"; readonly what: string };
