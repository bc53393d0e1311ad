import { type Hole, type Piece, ENTRY_LEVELS } from "../format/tree/content.ts";
import type { PlacedPack, TreeReader } from "./tree.ts";
import type { FileEntry } from "../format/tree/entry.ts";
import type { PackReader } from "./pack-reader.ts";
import { PIECE_MAX } from "../format/limits.ts";
import { type Row, rowKey } from "../format/packs/row.ts";
import { StorageError } from "@idk/storage";
import { throwIfAborted } from "./aborted.ts";
import { decodePiece } from "../format/packs/piece.ts";
import { equal, startHash } from "@idk/storage/blobs";
import { shownPath } from "./paths.ts";

/** A piece or hole of a file, and where in the file. */
export type FilePart =
  | (Omit<Piece, "row"> & { readonly row: Row; readonly at: number })
  | (Hole & { readonly at: number });

/** Bytes of a file: start inclusive, end exclusive. */
export interface FileRange {
  readonly start: number;
  readonly end: number;
}

/**
 * A file's pieces and holes in order, those in its piece lists too, each list read when it is reached.
 *
 * @param range only those that have some of these bytes
 */
export async function* piecesOf(
  tree: TreeReader,
  { entry, pack }: { readonly entry: FileEntry; readonly pack: PlacedPack },
  signal?: AbortSignal,
  { start, end }: FileRange = WHOLE,
): AsyncGenerator<FilePart> {
  let at = 0;
  const stack = [{ content: entry.content, pack, index: 0 }];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const item = top.content[top.index];
    top.index += 1;
    if (item === undefined) {
      stack.pop();
    } else if (at >= end) {
      return;
    } else if (at + item.length <= start) {
      at += item.length;
    } else if (item.kind === "list") {
      const levels = ENTRY_LEVELS - stack.length;
      stack.push({ ...(await tree.list(item, top.pack, levels, signal)), index: 0 });
    } else {
      yield item.kind === "hole" ? { ...item, at } : { ...item, row: top.pack.rowOf(item.row), at };
      at += item.length;
    }
  }
}

const WHOLE: FileRange = { start: 0, end: Number.MAX_SAFE_INTEGER };

/** Packs that are fetched ahead, each up to 4 MiB. */
const AHEAD = 4;

/**
 * A file's content. Packs are fetched some ahead, each once as long as its pieces follow each other. The
 * last bytes come only after the hash of all has been compared, so that a wrong content never ends.
 *
 * @throws StorageError `tree` if the content has another hash than announced
 */
export async function* contentOf(
  tree: TreeReader,
  packs: PackReader,
  file: { readonly entry: FileEntry; readonly pack: PlacedPack },
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const hash = startHash();
  let held: Uint8Array | undefined;
  for await (const bytes of bytesOf(tree, packs, file, signal)) {
    // A hole may be announced to be as long as any number, and makes no requests.
    throwIfAborted(signal);
    hash.update(bytes);
    if (held !== undefined) yield held;
    held = bytes;
  }
  if (!equal(new Uint8Array(hash.digest()), file.entry.hash)) {
    const name = shownPath(file.entry.name);
    throw new StorageError("tree", `the content of ${name} is not that of its hash`);
  }
  if (held !== undefined) yield held;
}

/**
 * Some bytes of a file's content, the last ones at its end. Each piece is authenticated by its pack; only a
 * whole content is compared with the hash.
 */
export async function* bytesOf(
  tree: TreeReader,
  packs: PackReader,
  file: { readonly entry: FileEntry; readonly pack: PlacedPack },
  signal?: AbortSignal,
  range: FileRange = WHOLE,
): AsyncGenerator<Uint8Array> {
  const opened = new Map<string, Promise<Uint8Array>>();
  const waiting: FilePart[] = [];
  const fetched = (piece: FilePart) => {
    if (piece.kind === "hole") return undefined;
    const key = rowKey(piece.row);
    const known = opened.get(key);
    if (known !== undefined) return known;
    const opening = packs.data(piece.row, { signal });
    // What fails is thrown when its piece is reached.
    opening.catch(() => undefined);
    opened.set(key, opening);
    return opening;
  };
  const release = () => {
    const needed = new Set<string>();
    for (const piece of waiting) if (piece.kind === "piece") needed.add(rowKey(piece.row));
    // The last one stays, for the next pieces mostly lie in it.
    for (const key of [...opened.keys()].slice(0, -1)) {
      if (!needed.has(key)) opened.delete(key);
    }
  };
  async function* first(): AsyncGenerator<Uint8Array> {
    const piece = waiting[0]!;
    const pack = await fetched(piece);
    waiting.shift();
    const from = Math.max(0, range.start - piece.at);
    const to = Math.min(piece.length, range.end - piece.at);
    if (piece.kind === "hole") yield* zeros(to - from);
    // A copy of raw pieces, which are views: a caller that keeps one would keep the pack.
    else yield new Uint8Array(decodePiece(pack!, piece).subarray(from, to));
    release();
  }
  try {
    for await (const piece of piecesOf(tree, file, signal, range)) {
      waiting.push(piece);
      // Not awaited here: this begins to fetch.
      void fetched(piece);
      while (opened.size > AHEAD || waiting.length > WAITING_MAX) yield* first();
    }
    while (waiting.length > 0) yield* first();
  } finally {
    await Promise.allSettled(opened.values());
  }
}

/** Pieces that wait for their packs. */
const WAITING_MAX = 256;

function* zeros(length: number): Generator<Uint8Array> {
  for (let left = length; left > 0; left -= PIECE_MAX) {
    yield new Uint8Array(Math.min(left, PIECE_MAX));
  }
}
