import { fetchWindow } from "./fetch-window.ts";
import { type LongFile, longFiles } from "./long-files.ts";
import type { Planned, RestoreContext } from "../context.ts";
import type { FileEntry } from "../../format/tree/entry.ts";
import type { OpenSnapshot } from "../../read/open-snapshot.ts";
import type { WalkedEntry } from "../../read/walk.ts";
import { assertOfOne } from "../faults.ts";
import { equal, hash as sha256 } from "@idk/storage/blobs";
import { piecesOf } from "../../read/file-content.ts";
import { otherHash, writeWhole } from "./write-file.ts";

/** Restores the content of files, many at once. */
export interface FileRestorer {
  /** Plans a file. One that needs no pack is written at once. */
  add(planned: Planned, file: WalkedEntry & { readonly entry: FileEntry }): Promise<void>;
  /** Whether so many pieces are planned that they should be written. */
  readonly isFull: boolean;
  /** Writes everything that is planned. */
  flush(): Promise<void>;
  /** Removes what is not finished. */
  close(): void;
}

/** Pieces that are collected before their packs are fetched: so many, whatever the tree has. */
const PIECES_MAX = 65_536;
const EMPTY = new Uint8Array(0);
const EMPTY_HASH = sha256();

/**
 * @param flushAll writes everything that is planned, so that more fits
 * @param done is called with each file that is restored
 * @param fail is called with each file that cannot be, and why
 */
export function fileRestorer(
  context: RestoreContext,
  { tree, packs }: OpenSnapshot,
  flushAll: () => Promise<void>,
  done: (file: Planned) => void,
  fail: (file: Planned, error: unknown) => void,
): FileRestorer {
  const longs = longFiles(context);
  const failFile = (file: Planned | LongFile, error: unknown): void => {
    if ("isFailed" in file) {
      file.isFailed = true;
      try {
        longs.discard(file);
      } catch (discardError) {
        assertOfOne(discardError);
      }
    }
    fail(file, error);
  };
  const window = fetchWindow(context, packs, longs, done, failFile);

  const addLong = async (
    planned: Planned,
    walked: WalkedEntry & { readonly entry: FileEntry },
  ): Promise<void> => {
    const { size, hash } = walked.entry;
    const file = longs.begin(planned, size, hash);
    try {
      let holeBefore = 0;
      for await (const piece of piecesOf(tree, walked, context.signal)) {
        if (piece.kind === "hole") {
          holeBefore += piece.length;
          continue;
        }
        window.addLong({ file, at: piece.at, holeBefore }, piece.row, piece);
        holeBefore = 0;
        if (window.length >= PIECES_MAX) await flushAll();
        if (file.isFailed) return;
      }
      file.isComplete = true;
      if (file.pending > 0) return;
      await longs.finish(file);
      done(file);
    } catch (error) {
      assertOfOne(error);
      failFile(file, error);
    }
  };

  return {
    async add(planned, walked) {
      const { content, hash } = walked.entry;
      const [only] = content;
      if (content.length > 1 || (only !== undefined && only.kind !== "piece")) {
        await addLong(planned, walked);
        return;
      }
      if (only !== undefined) {
        const { offset, stored, length, encoding } = only;
        const piece = { offset, stored, length, encoding };
        window.addShort({ ...planned, hash, piece }, walked.pack.rowOf(only.row));
        return;
      }
      try {
        if (!equal(EMPTY_HASH, hash)) {
          throw otherHash();
        }
        const { parent, name, attributes } = planned;
        const { hasTemporaryNames } = parent;
        const warn = (message: string) => context.report.warning(planned, message);
        const folder = context.folders.open(parent);
        writeWhole(context, folder, { name, attributes, hasTemporaryNames }, EMPTY, warn);
        done(planned);
      } catch (error) {
        assertOfOne(error);
        fail(planned, error);
      }
    },
    get isFull() {
      return window.length >= PIECES_MAX;
    },
    flush: () => window.flush(),
    close: () => longs.close(),
  };
}
