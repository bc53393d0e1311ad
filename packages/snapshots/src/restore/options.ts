import type { Address } from "@idk/storage";
import type { Entry } from "../format/tree/entry.ts";

/** What a restore does with a file that exists. */
export type Overwrite = "always" | "if-changed" | "never";

/** Options of `restore`. */
export interface RestoreOptions {
  /**
   * The folder to restore into, as text or bytes. It is made if it does not exist, and so are those
   * above. Links in this path are followed; no link below it is.
   */
  readonly target: string | Uint8Array;
  /**
   * A path in the snapshot; by default everything. The entries of a folder go into the target; anything
   * else goes into the target under its own name.
   */
  readonly path?: string | Uint8Array | undefined;
  /**
   * Restores only what matches one of these patterns, and what lies below. Patterns are those of
   * `compileExcludes`, and match paths as they are below the target.
   */
  readonly include?: readonly string[] | undefined;
  /** Leaves out what matches, and what lies below. The last pattern that matches decides. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * `always`, the default, writes every file anew. `if-changed` leaves a file that has the same size and
   * time, and one that has the same size and, by its hash, the same content; its attributes are set. One
   * with other names, of which some may be outside the target, is replaced if an attribute would change.
   * `never` leaves every file that exists, whatever it contains. Folders that exist are always merged.
   */
  readonly overwrite?: Overwrite | undefined;
  /**
   * Deletes from restored folders what the snapshot does not have, at and below the paths that were backed
   * up: folders above these keep what else is in them. What `include` and `exclude` leave out stays, and what
   * the backup left out by a pattern. So does, with a warning, what is in folders on other file systems than
   * the target, and in those that are empty in a snapshot with errors, which may not have been listed. It also
   * allows a file to replace a folder that is not empty.
   */
  readonly delete?: boolean | undefined;
  /**
   * Reads back every file that is written, and every file that `if-changed` would leave, and compares its
   * hash. Files that `never` leaves are not read.
   */
  readonly verify?: boolean | undefined;
  /** Changes nothing and fetches no data pack: events and summary are of what would be done. */
  readonly dryRun?: boolean | undefined;
  /** Sets owner and group by name, or by number if this host does not have the name. */
  readonly owner?: boolean | undefined;
  /** Sets owner and group by number. If root asks for it, `setId` and `devices` are on as well. */
  readonly numericOwner?: boolean | undefined;
  /**
   * Sets set-user-id and set-group-id bits, though only on entries that have their owner and group from
   * the snapshot, and the extended attributes `security.*` and `trusted.*`.
   */
  readonly setId?: boolean | undefined;
  /** Makes devices. */
  readonly devices?: boolean | undefined;
  /**
   * Threads that open packs and write files, 0 to 64; by default one for each core, at most 4, and none on
   * a single core or where the host lacks native calls.
   */
  readonly workers?: number | undefined;
  /**
   * If it returns a promise, the restore reads no further entries of the snapshot until that is resolved,
   * and fails if it is rejected. At most 32,768 entries that were read before may be reported meanwhile,
   * and what is deleted of their folders.
   */
  readonly onEvent?: ((event: RestoreEvent) => unknown) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * What was done with an entry. `created`: there was nothing of this name. `linked`: it is one more name
 * of a file restored before. `unchanged`: left as it was, because of `if-changed`. `kept`: left as it
 * was, because of `never`. `skipped`: a device that was not asked for.
 */
export type RestoreAction = "created" | "replaced" | "linked" | "unchanged" | "kept" | "skipped";

/** Cumulative numbers. */
export interface RestoreCounts {
  /** Entries other than folders that are now as in the snapshot. */
  readonly files: number;
  readonly directories: number;
  /** Of files, written. */
  readonly bytes: number;
  /** Of `files`: left as they were. */
  readonly unchanged: number;
  /** Left as they were though they may differ, because of `never`. */
  readonly kept: number;
  /** Devices that were not asked for. */
  readonly skipped: number;
  readonly deleted: number;
  readonly errors: number;
  readonly warnings: number;
}

/** A path is in bytes, relative to the target, without a slash before or after. */
export type RestoreEvent =
  /**
   * Once, first.
   *
   * `announced`: what the whole snapshot claims to have. A stranger's may claim very much.
   * `lost`: what this host cannot restore, as phrases.
   */
  | {
      readonly kind: "start";
      readonly announced: {
        readonly files: number;
        readonly directories: number;
        readonly bytes: number;
      };
      readonly lost: readonly string[];
    }
  /** At most ten times a second, and at the end. */
  | { readonly kind: "progress"; readonly counts: RestoreCounts }
  /** An entry is done. */
  | {
      readonly kind: "entry";
      /** Put together each time that it is asked for, from names that the event holds. */
      readonly path: Uint8Array;
      readonly type: Entry["type"];
      readonly action: RestoreAction;
    }
  /** It was in a restored folder and not in the snapshot. */
  | { readonly kind: "deleted"; readonly path: Uint8Array }
  /** The entry is not restored; the restore goes on. */
  | { readonly kind: "error"; readonly path: Uint8Array; readonly error: Error }
  /** The entry is restored, but something of it is not, such as an attribute. */
  | { readonly kind: "warning"; readonly path: Uint8Array; readonly message: string };

/** What a restore has done. */
export interface RestoreSummary extends RestoreCounts {
  /** The name of the snapshot, its host's time of it in milliseconds since 1970, the address of its head. */
  readonly snapshot: { readonly name: string; readonly time: number; readonly address: Address };
  /** The first 1,000. */
  readonly errorList: readonly { readonly path: Uint8Array; readonly error: Error }[];
  /** The first 1,000. */
  readonly warningList: readonly { readonly path: Uint8Array; readonly message: string }[];
  readonly milliseconds: number;
}
