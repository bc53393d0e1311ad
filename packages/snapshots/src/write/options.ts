import type { Address } from "@idk/storage";
import type { Marker } from "../format/names/marker.ts";

/** Options of `backup`. */
export interface BackupOptions {
  /** Of the chain: 1 to 255 bytes, without control characters, no dot in front. */
  readonly name: string;
  /** As the file system has them; relative ones begin at the current folder. At least one. */
  readonly paths: readonly Uint8Array[];
  /** Who can read the snapshot: all readers. */
  readonly recipients: readonly string[];
  /**
   * The path of the cache's database, for this store, repository and chain alone. It and its folder
   * need not exist. It holds names, hashes and places, and nothing that opens what is stored.
   */
  readonly cache: string;
  /** Patterns as `compileExcludes` takes them. The snapshot has them too. */
  readonly excludes?: readonly string[] | undefined;
  /** Leave out what is in folders that `CACHEDIR.TAG` marks as caches. */
  readonly excludeCaches?: boolean | undefined;
  /** Leave out what is in folders that have something of one of these names, except this. */
  readonly excludeIfPresent?: readonly Uint8Array[] | undefined;
  /** Leave out longer files, in bytes, but not those that are paths themselves. */
  readonly excludeLargerThan?: number | undefined;
  /** Stay on the file systems of the paths. */
  readonly oneFileSystem?: boolean | undefined;
  readonly message?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  /** Seconds to the next backup, if they are made regularly. */
  readonly expectedSeconds?: number | undefined;
  /** Of each piece, where it saves an eighth. By default zstd. */
  readonly compression?: "zstd" | "lz4" | "none" | undefined;
  /**
   * Open each pack before it is stored and compare it with what was sealed, and decode what it has of
   * directories. By default true. What was damaged before, while a piece was compressed or copied into its
   * pack, is found when the file is restored and compared with its hash.
   */
  readonly verify?: boolean | undefined;
  /** Read and count, store nothing and leave the cache as it is. */
  readonly dryRun?: boolean | undefined;
  /** List the repository's blobs, and store anew what is missing of this chain's packs. */
  readonly repair?: boolean | undefined;
  /** Read every file, whatever the cache has of it. */
  readonly readAll?: boolean | undefined;
  /** Go on although the newest marker is older than the newest head that this machine remembers. */
  readonly acceptRollback?: boolean | undefined;
  /**
   * Threads that compress and seal, 0 to 64. By default one for each core, at most 4, and none on a
   * single core.
   */
  readonly workers?: number | undefined;
  /** For the snapshot; by default what the system says. */
  readonly host?: string | undefined;
  readonly user?: string | undefined;
  /** Is called synchronously. What it throws ends the backup. */
  readonly onEvent?: ((event: BackupEvent) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** This host's clock in milliseconds since 1970; a test can let days pass. */
  readonly now?: (() => number) | undefined;
}

/** What a backup has come to. */
export interface BackupCounts {
  /** All entries but folders. */
  readonly files: number;
  /** Without the root. */
  readonly directories: number;
  /** The sizes of all files, each hard link counted. */
  readonly bytes: number;
  /** Of `files`: those that the last snapshot did not have. */
  readonly newFiles: number;
  readonly changedFiles: number;
  readonly unchangedFiles: number;
  /** Entries of the last snapshot, folders not counted, that are not there any more. */
  readonly goneFiles: number;
  /** Bytes of files that no earlier pack had. */
  readonly newBytes: number;
  /** Bytes of packs that were sent. */
  readonly storedBytes: number;
  /** Files and folders that could not be read. */
  readonly errors: number;
}

/** Paths are absolute, as bytes. */
export type BackupEvent =
  | {
      /** Once, before the walk. */
      readonly kind: "start";
      /** What the last snapshot had, by the cache; undefined if there is none. */
      readonly expected: Pick<BackupCounts, "files" | "directories" | "bytes"> | undefined;
      /** Why nothing of earlier sessions is used again, as a sentence; undefined if it is. */
      readonly notReused: string | undefined;
      /** Packs of interrupted sessions that are used again. */
      readonly resumedPacks: number;
      /** What this host cannot do, as phrases. */
      readonly lost: readonly string[];
    }
  /** At most ten times a second, and at the end. */
  | { readonly kind: "progress"; readonly counts: BackupCounts }
  /** It is left out of the snapshot, and the backup goes on. */
  | { readonly kind: "error"; readonly path: Uint8Array; readonly error: Error }
  /**
   * What has the path is in the snapshot, but something of it is not. Without a path: the snapshot is stored,
   * but something besides went wrong.
   */
  | {
      readonly kind: "warning";
      readonly path: Uint8Array | undefined;
      readonly message: string;
    }
  /** What was stored so far is held by a head of its own, so that a long backup loses nothing. */
  | { readonly kind: "part"; readonly marker: Marker };

/** What came of a backup. */
export interface BackupSummary extends BackupCounts {
  /** Of the snapshot; undefined after a dry run. */
  readonly marker: Marker | undefined;
  /** The root directory's tree id, equal for equal trees; undefined after a dry run. */
  readonly treeId: Uint8Array | undefined;
  /** Whether the tree is that of the last snapshot. */
  readonly isUnchanged: boolean;
  /** The first 1,000 of `errors`. */
  readonly errorList: readonly { readonly path: Uint8Array; readonly error: Error }[];
  readonly warningCount: number;
  /** The first 1,000. */
  readonly warnings: readonly {
    readonly path: Uint8Array | undefined;
    readonly message: string;
  }[];
  readonly milliseconds: number;
}

/** What `backupStatus` finds. */
export interface BackupStatus {
  /** What a backup would store now. */
  readonly pending: BackupSummary;
  /** The last head that this host sent, and the store's time then in milliseconds. */
  readonly last: { readonly address: Address; readonly storedAt: number } | undefined;
  /** Packs of sessions that did not end with a head, and the store's time of the oldest. */
  readonly unfinished: { readonly packs: number; readonly since: number } | undefined;
}
