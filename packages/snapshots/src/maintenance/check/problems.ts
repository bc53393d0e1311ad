import type { Address, StorageError } from "@idk/storage";
import { SETTINGS_CHAIN } from "../../format/names/chain.ts";
import type { FoundSnapshot, HeadOptions } from "../../repository/repository.ts";
import type { FoundHead } from "../../repository/find-heads.ts";
import type { BlobShard } from "../shard.ts";
import type { Marker } from "../../format/names/marker.ts";

/** Something that `check` found. Paths are as in the snapshot, without a slash in front. */
export type CheckProblem =
  /** A head does not count. */
  | { readonly kind: "head"; readonly marker: Marker; readonly error: StorageError }
  /**
   * Heads of a chain do not know of each other. Nothing is lost by it, unless they are settings (`""`) that
   * no later ones know: what one of them changed is not in force.
   */
  | {
      readonly kind: "fork";
      readonly name: string;
      readonly heads: readonly FoundHead[];
      /** Whether a later head knows of all of them. */
      readonly isJoined: boolean;
    }
  /** The snapshot, the keys or the list of packs of a head cannot be read. */
  | { readonly kind: "record"; readonly found: FoundHead; readonly error: StorageError }
  /**
   * The snapshot has a key of a session that does not open, or is another than that of other snapshots and opens
   * no pack.
   */
  | {
      readonly kind: "key";
      readonly found: FoundSnapshot;
      readonly session: string;
      readonly error: StorageError;
    }
  /** The list of packs is not that of the tree: a prune may delete those that it lacks. */
  | {
      readonly kind: "reach";
      readonly found: FoundSnapshot;
      readonly lacking: number;
      /** Packs that are kept for nothing, which loses nothing. */
      readonly surplus: number;
    }
  /** Packs that an unfinished backup has stored are not there: it will store them again. */
  | { readonly kind: "part"; readonly found: FoundHead; readonly missing: number }
  /** A directory, or the list of a file's pieces, cannot be read; of a directory nothing below it. */
  | {
      readonly kind: "tree";
      readonly found: FoundSnapshot;
      readonly path: Uint8Array;
      readonly error: StorageError;
    }
  /** A pack is missing (`not-found`) or damaged. */
  | {
      readonly kind: "pack";
      readonly address: Address;
      readonly error: StorageError;
      /** With `deleteDamaged`, and only where its bytes are not those of its name. */
      readonly isDeleted: boolean;
    }
  /** A part of this file is in a pack that is missing or damaged. */
  | {
      readonly kind: "file";
      /** The first snapshot that has it. Others that share its directory are not named. */
      readonly found: FoundSnapshot;
      readonly path: Uint8Array;
      readonly pack: Address;
    };

/**
 * Whether nothing is lost by it: heads that do not know of each other, unless they are settings, of which
 * only one is in force, and packs that are kept for nothing.
 */
export function isHarmless(problem: CheckProblem): boolean {
  if (problem.kind === "fork") return problem.isJoined || problem.name !== SETTINGS_CHAIN;
  return problem.kind === "reach" && problem.lacking === 0;
}

/** The address that decides to which part of the store a problem belongs; undefined if to any. */
export function addressOf(problem: CheckProblem): string | undefined {
  switch (problem.kind) {
    case "head":
      return problem.marker.address;
    case "fork":
      return problem.heads.map(({ marker }) => marker.address).toSorted()[0];
    case "pack":
      return problem.address;
    case "file":
      return problem.pack;
    case "part":
      // Its packs are in all parts.
      return undefined;
    case "record":
    case "key":
    case "reach":
    case "tree":
      return problem.found.marker.address;
    default:
      return problem satisfies never;
  }
}

/** How many problems there are of each kind. */
export type ProblemCounts = Record<CheckProblem["kind"], number>;

export function problemCounts(): ProblemCounts {
  return { head: 0, fork: 0, record: 0, key: 0, reach: 0, part: 0, tree: 0, pack: 0, file: 0 };
}

/** Options of `check`. */
export interface CheckOptions extends HeadOptions {
  /** The share of data packs to open, from 0, the default, to 1. Which ones is random. */
  readonly readData?: number | undefined;
  /**
   * Asks the store for the checksums of packs that are not opened, if it has verified them at upload: one
   * request for each. By default true.
   */
  readonly checksums?: boolean | undefined;
  /**
   * Deletes packs whose bytes, fetched once more, are not those of their names, so that a backup can store
   * them anew: all of them at the end, or none if they are over 1 % of the packs and over 16. Not in a store
   * that keeps versions, because a delete removes them all, and an older one may be intact.
   */
  readonly deleteDamaged?: boolean | undefined;
  /**
   * Lists and checks only the packs of this part, by default all. Every part reads all heads and all packs of
   * metadata, and reports the problems of the addresses in it, so that all parts together report each problem
   * once; but an unfinished backup once for each part that lacks packs of it. Cannot be combined with
   * `deleteDamaged`, whose limit is for all packs.
   */
  readonly shard?: BlobShard | undefined;
  /** Packs that an interrupted check has found sound: they are not opened, and not asked for. */
  readonly isKnownSound?: ((pack: Address) => boolean) | undefined;
  /** Called for each data pack that is found sound, with the bytes in it if it was opened. */
  readonly onSound?: ((pack: Address, opened: number | undefined) => void) | undefined;
  /** The most requests in flight, 1 to 64, by default 64: as many as complete fastest. */
  readonly concurrency?: number | undefined;
  readonly onProblem?: ((problem: CheckProblem) => void) | undefined;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
}

/** How far a check is. `trees` and `files` count snapshots. */
export interface CheckProgress {
  readonly stage: "heads" | "blobs" | "trees" | "packs" | "files";
  readonly done: number;
  /** Where it is known. */
  readonly total?: number;
}

/** What `check` has looked at and found. */
export interface CheckReport {
  readonly chains: number;
  readonly snapshots: number;
  /** Of those, how many are forgotten. */
  readonly forgotten: number;
  /** Different ones. */
  readonly directories: number;
  /** Different packs that snapshots need; of a part, those in it. */
  readonly packs: number;
  /** Of those, packs of metadata, all of which are read. */
  readonly metadataPacks: number;
  /** Data packs that were opened, and their bytes as stored. */
  readonly opened: number;
  readonly openedBytes: number;
  /** Packs whose checksum the store has. */
  readonly attested: number;
  readonly problems: Readonly<ProblemCounts>;
  /** Nothing was found but what is harmless: see `isHarmless`. */
  readonly isSound: boolean;
}
