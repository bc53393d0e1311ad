import type { RunTotals } from "./segments/metadata.ts";

/** Counts of a recorder since it was created. `seen` = `open` + `queued` + stored, not kept, dropped. */
export interface RecorderStats extends RunTotals {
  /** Exchanges that are not over. */
  readonly open: number;
  /** Exchanges that are over, and not yet in a segment in the spool. */
  readonly queued: number;
  /** Bytes captured and not yet in the spool. */
  readonly queuedBytes: number;
  /** Bytes of sealed segments in the spool, with those of other processes. */
  readonly spoolBytes: number;
  /** Blobs uploaded, those that others left in the spool included. */
  readonly uploaded: number;
  /** Faults, whether or not they were reported. */
  readonly faults: number;
}
