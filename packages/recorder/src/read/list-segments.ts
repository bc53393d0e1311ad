import type { StorageError, Store } from "@idk/storage";
import type { SegmentMetadata } from "../segments/metadata.ts";
import { archiveBlobs, type ReadSegmentsOptions, type Segment } from "./segments.ts";

/** What could not be read. */
export type ReadFault =
  | { readonly kind: "damaged"; readonly address: string; readonly error: StorageError }
  /** Lines that are not exchanges. */
  | { readonly kind: "lines"; readonly address: string; readonly count: number }
  /** Roots for other recipients, which may be segments; and how many segments were opened. */
  | { readonly kind: "closed"; readonly count: number; readonly opened: number };

/** Options of `listSegments`. */
export interface ListSegmentsOptions extends ReadSegmentsOptions {
  /** Told of what cannot be read; the rest is. */
  readonly onFault?: ((fault: ReadFault) => void) | undefined;
}

/** A segment, without its exchanges. */
export interface ListedSegment {
  readonly address: string;
  readonly metadata: SegmentMetadata;
  /** Bytes as stored. */
  readonly storedBytes: number;
}

/**
 * The segments of an archive by the times at which their first exchanges began.
 *
 * @throws StorageError `usage`, `key`, `permission`, `unavailable`, `aborted`
 */
export async function listSegments(
  store: Store,
  options: ListSegmentsOptions = {},
): Promise<ListedSegment[]> {
  return collectSegments(store, options, ({ address, metadata, storedBytes }) =>
    Promise.resolve({ address, metadata, storedBytes }),
  );
}

/**
 * Opens all segments and collects what is made of each, by time.
 *
 * @param take returns undefined to leave a segment out
 */
export async function collectSegments<T extends Pick<ListedSegment, "address" | "metadata">>(
  store: Store,
  options: ListSegmentsOptions,
  take: (segment: Segment) => Promise<T | undefined>,
): Promise<T[]> {
  const { onFault } = options;
  const found: T[] = [];
  let [opened, closed] = [0, 0];
  for await (const blob of archiveBlobs(store, options)) {
    if (blob.kind === "damaged") onFault?.(blob);
    else if (blob.kind === "closed") closed += 1;
    else if (blob.kind === "segment") {
      opened += 1;
      const taken = await take(blob);
      if (taken !== undefined) found.push(taken);
    }
  }
  if (closed > 0) onFault?.({ kind: "closed", count: closed, opened });
  return found.toSorted(
    (a, b) => a.metadata.from - b.metadata.from || compareText(a.address, b.address),
  );
}

/** By UTF-16 units, which does not depend on a locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
