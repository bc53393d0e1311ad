import type { BackendKind } from "./job.ts";

/** A task that compares two revisions. */
export interface TaskInfo {
  /** The name on the command line. */
  readonly name: string;
  readonly title: string;
  /**
   * Which time is measured. `cpu`: user and system time of the process, which does not include waiting
   * for the processor. `io`: elapsed time, because these tasks measure waiting.
   */
  readonly bound: "cpu" | "io";
  readonly backendKind: BackendKind;
  /** Operations per process, enough to measure some tenths of a second. */
  readonly operations: number;
}

const sealing = { bound: "cpu", backendKind: "discard" } as const;
const opening = { bound: "cpu", backendKind: "memory" } as const;
const disk = { bound: "io", backendKind: "folder" } as const;
const network = { bound: "io", backendKind: "store" } as const;

export const TASKS: readonly TaskInfo[] = [
  { name: "put-memory", title: "seal and put 8 MiB, discarded", ...sealing, operations: 24 },
  { name: "get-memory", title: "get 8 MiB from memory", ...opening, operations: 24 },
  { name: "put-convergent", title: "put 8 MiB with a dedup secret", ...sealing, operations: 16 },
  { name: "put-small", title: "put 1 KiB, discarded", ...sealing, operations: 4000 },
  { name: "get-small", title: "get 1 KiB from memory", ...opening, operations: 4000 },
  { name: "keys-1", title: "rewrap and open for 1 recipient", ...opening, operations: 1000 },
  { name: "keys-64", title: "rewrap and open for 64 recipients", ...opening, operations: 50 },
  { name: "put-files", title: "put 8 MiB into a folder", ...disk, operations: 8 },
  { name: "get-files", title: "get 8 MiB from a folder", ...disk, operations: 24 },
  { name: "put-store", title: "put 1 MiB into the store", ...network, operations: 24 },
  { name: "get-store", title: "get 1 MiB from the store", ...network, operations: 24 },
  { name: "put-store-many", title: "put 64 KiB, 16 in flight", ...network, operations: 192 },
  { name: "get-store-many", title: "get 64 KiB, 16 in flight", ...network, operations: 192 },
];
