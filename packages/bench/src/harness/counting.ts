import type { Backend } from "@idk/storage";
import { type Tally, countingBackend, newTally } from "../compare/round/counting.ts";

/** Totals so far: backend calls, each listing being one, and bytes of blobs. */
export type Counts = Readonly<Pick<Tally, "requests" | "bytesSent" | "bytesReceived">>;

export interface CountingBackend {
  readonly backend: Backend;
  counts(): Counts;
}

/** Wraps a backend and counts its calls when they are made and its bytes when they have arrived. */
export function counting(inner: Backend): CountingBackend {
  const tally = newTally();
  return { backend: countingBackend(inner, tally), counts: () => ({ ...tally }) };
}
