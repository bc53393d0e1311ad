import type { RunChange } from "../changes.ts";
import type { Dialect, NumberedRow, Reader } from "./port.ts";

/** A database with a catalog. All methods reject with `CatalogError`. */
export interface Database extends Reader {
  readonly dialect: Dialect;
  readonly write: RunChange;
  /** Takes the next number, and inserts a row with it. Both survive the process; SQLite's perhaps not the machine. */
  nextSeq(row?: NumberedRow): Promise<number>;
  /** Calls of `write` and `nextSeq` that are not settled yet. */
  queued(): number;
  close(): Promise<void>;
}
