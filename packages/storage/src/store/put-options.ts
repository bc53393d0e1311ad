import type { Address } from "../content/address.ts";
import type { Content } from "../content/source.ts";
import type { Metadata } from "../format/metadata.ts";
import type { PutJournal } from "./journal.ts";
import type { CallOptions, Progress, WriteOptions } from "./options.ts";
import type { PutReport } from "./put-report.ts";

export interface PutOptions extends WriteOptions, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  readonly metadata?: Metadata | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Continues where an earlier put of the same content stopped: of the leaves that it noted, only
   * those are sent that the store lacks. With a dedup secret that is of use where the store attests
   * nothing, and a note counts only if it was made with the same secret. Content of up to 1 MiB has
   * no leaves.
   */
  readonly journal?: PutJournal | undefined;
  /** Called once, when everything is stored and before the put returns: what was new of it. */
  readonly onReport?: ((report: PutReport) => void) | undefined;
}

/** One of many contents to store. */
export interface PutItem<Key> {
  /** Whatever the caller tells the results apart by; it is handed back and otherwise left alone. */
  readonly key: Key;
  readonly content: Content;
  readonly options?:
    | Pick<PutOptions, "recipients" | "metadata" | "onProgress" | "journal">
    | undefined;
}

/** How all of the contents are cut and sealed; an item's own recipients go before these. */
export interface PutManyOptions extends Omit<WriteOptions, "concurrency">, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  /**
   * Contents in flight at once, 1 to 64, by default 16. How many chunks of one content are in
   * flight, the store's own option says.
   */
  readonly concurrency?: number | undefined;
}

export type PutResult<Key> =
  | {
      readonly ok: true;
      readonly key: Key;
      readonly address: Address;
      readonly report: PutReport;
    }
  | FailedItem<Key>;

/** An item that failed, with what `put` or `get` threw. */
export interface FailedItem<Key> {
  readonly ok: false;
  readonly key: Key;
  readonly error: unknown;
}
