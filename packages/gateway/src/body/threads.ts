import type { DigestName } from "./algorithms.ts";

/** Digests in progress over the bytes of one body. */
export interface Digester {
  /** Adds bytes, which the caller may reuse at once. Resolves when more may be added. */
  update(bytes: Uint8Array): Promise<void> | void;
  /** Ends it. */
  digest(): Promise<ReadonlyMap<DigestName, Uint8Array>>;
  /** Ends it without a result. Does nothing after `digest`. */
  abandon(): void;
}

/** Threads that compute digests of large bodies, started when they are first needed. */
export interface DigestThreads {
  begin(names: readonly DigestName[]): Digester;
  /** Ends the threads. Digests in progress fail. */
  close(): Promise<void>;
}

/** @param threads 1 or more */
export function createDigestThreads(_threads: number): DigestThreads {
  throw new Error("not written yet");
}
