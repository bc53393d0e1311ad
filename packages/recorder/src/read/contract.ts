import type { Store } from "@idk/storage";
import type { Exchange } from "../record/exchange.ts";
import type { SegmentMetadata } from "../segments/metadata.ts";

/** Which segments to read. */
export interface ReadSegmentsOptions {
  /** Milliseconds since 1970: only segments with an exchange that began at this time or later. */
  readonly from?: number | undefined;
  /** Only segments with an exchange that began before this time. */
  readonly to?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A root of the archive. Roots that are not segments, or are for others, are not yielded. */
export type ReadSegment =
  | {
      readonly address: string;
      readonly metadata: SegmentMetadata;
      readonly exchanges: readonly Exchange[];
      /** Numbers of the lines, from 0, that are not exchanges. */
      readonly damagedLines: readonly number[];
    }
  | { readonly address: string; readonly error: unknown };

/**
 * `readSegments(store, options)` of `read/segments.ts`: the segments of an archive, in order of completion.
 *
 * A segment is stored after its last exchange began, so that a listing that tells when blobs were
 * stored rules out those stored before `from`, less an hour for differences of clocks. A late upload
 * makes `storedAt` later, never earlier, so `to` is decided by the metadata.
 */
export type ReadSegments = (
  store: Store,
  options?: ReadSegmentsOptions,
) => AsyncIterable<ReadSegment>;
