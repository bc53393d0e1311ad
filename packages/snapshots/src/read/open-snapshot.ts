import type { FoundSnapshot, HeadOptions, Repository } from "../repository/repository.ts";
import { type PackReader, packReader } from "./pack-reader.ts";
import {
  type PlacedEntry,
  type TreeReader,
  directoryOf,
  lookUp,
  rootOf,
  treeReader,
} from "./tree.ts";
import { type Snapshot, decodeSnapshot } from "../format/records/snapshot.ts";
import { type WalkOptions, type WalkedEntry, walk } from "./walk.ts";
import { DEPTH_MAX } from "../format/limits.ts";
import { inPath, namesOf, shownPath } from "./paths.ts";
import { StorageError } from "@idk/storage";
import { bytesOf, contentOf, type FileRange } from "./file-content.ts";
import { readRecord } from "../repository/records.ts";
import { sessionSecrets } from "./session-secrets.ts";

/** Options of reads in a snapshot. */
export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

/** A snapshot whose tree can be read. Paths are as in `namesOf`. */
export interface OpenSnapshot {
  readonly found: FoundSnapshot;
  readonly snapshot: Snapshot;
  readonly tree: TreeReader;
  readonly packs: PackReader;

  /**
   * The entry of a path; undefined for the root directory. One metadata pack for each directory on the
   * way, less those in memory.
   *
   * @throws StorageError `not-found`
   */
  entry(path: string | Uint8Array, options?: ReadOptions): Promise<WalkedEntry | undefined>;

  /**
   * What a path has: of a directory its entries, with `recursive` those below, too; of anything else
   * that. Without a path, or with that of the root, the whole tree is compared with what is announced.
   *
   * @throws StorageError `not-found`, `tree`
   */
  entries(
    path?: string | Uint8Array,
    options?: ReadOptions & {
      readonly recursive?: boolean;
      readonly enters?: WalkOptions["enters"];
    },
  ): AsyncGenerator<WalkedEntry>;

  /**
   * The content of a file. The last bytes come only after the hash of all has been compared; those of a
   * range, which is within the file, are authenticated by their packs alone.
   *
   * @throws StorageError `not-found`; `usage` if it is no file; `tree`
   */
  content(
    path: string | Uint8Array,
    options?: ReadOptions & { readonly range?: FileRange | undefined },
  ): AsyncGenerator<Uint8Array>;
}

/**
 * Opens the snapshot of a head: one request.
 *
 * @throws StorageError `tree` if it is malformed or another than that of the head
 */
export async function openSnapshot(
  repository: Repository,
  found: FoundSnapshot,
  options: HeadOptions = {},
): Promise<OpenSnapshot> {
  const { head } = found;
  const content = await readRecord(repository, "snapshot", head.snapshot, options.signal);
  const snapshot = decodeSnapshot(content);
  if (snapshot.repository !== head.repository || snapshot.chain !== head.chain) {
    throw new StorageError(
      "tree",
      `the snapshot ${head.snapshot} is of another repository or name than its head`,
    );
  }
  const packs = packReader(repository, sessionSecrets(repository, snapshot, options));
  const tree = treeReader(packs);

  const entry: OpenSnapshot["entry"] = async (path, { signal } = {}) => {
    const names = namesOf(path);
    let directory = rootOf(snapshot);
    let at: WalkedEntry | undefined;
    for (const [index, name] of names.entries()) {
      if (index === DEPTH_MAX) throw notFound(at!.path, name);
      const before = at?.path ?? new Uint8Array(0);
      const placed = await lookUp(tree, directory, name, signal);
      if (placed === undefined) throw notFound(before, name);
      at = { ...placed, path: inPath(before, name), depth: index + 1 };
      if (index === names.length - 1) return at;
      if (placed.entry.type !== "directory") {
        throw new StorageError("not-found", `${shownPath(at.path)} is not a directory`);
      }
      directory = directoryOf({ ...placed, entry: placed.entry });
    }
    return undefined;
  };

  return {
    found,
    snapshot,
    tree,
    packs,
    entry,
    async *entries(path = "", { signal, recursive = false, enters } = {}) {
      const at = await entry(path, { signal });
      const chosen = recursive ? enters : () => false;
      const { totals } = snapshot;
      if (at === undefined) {
        yield* walk(tree, rootOf(snapshot), { signal, totals, enters: chosen });
      } else if (at.entry.type === "directory") {
        const directory = directoryOf({ ...at, entry: at.entry });
        const { path: inner, depth } = at;
        yield* walk(tree, directory, {
          signal,
          enters: chosen,
          path: inner,
          depth,
          atMost: totals,
        });
      } else {
        yield at;
      }
    },
    async *content(path, { signal, range } = {}) {
      const at = await entry(path, { signal });
      if (at?.entry.type !== "file") {
        const what = at === undefined ? "the root directory" : shownPath(at.path);
        throw new StorageError("usage", `${what} is not a file${hint(at)}`);
      }
      const file = { entry: at.entry, pack: at.pack };
      yield* range === undefined
        ? contentOf(tree, packs, file, signal)
        : bytesOf(tree, packs, file, signal, range);
    },
  };
}

function notFound(directory: Uint8Array, name: Uint8Array): StorageError {
  return new StorageError("not-found", `the snapshot has no ${shownPath(inPath(directory, name))}`);
}

function hint(at: PlacedEntry | undefined): string {
  if (at?.entry.type !== "link") return "";
  return `, but a link to ${shownPath(at.entry.target)}`;
}
