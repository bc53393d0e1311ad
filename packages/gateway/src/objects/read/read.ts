import type { OpenedObject, Part, StoredObject } from "../../catalog/records.ts";
import { S3Error } from "../../errors.ts";
import { chunksAtOnce, INLINE_MAX, largeNeed, type ObjectsContext, smallNeed } from "../context.ts";
import type { Share, Waiting } from "../memory/budget.ts";
import type { ByteRange, ReadOptions } from "../objects.ts";
import { sourceChanged } from "../write/commit.ts";
import { type ChunkReader, readChunks } from "./chunks.ts";

/** Bytes of a piece that a caller gets. */
const PIECE_LENGTH = 64 * 1024;
/** Parts of a page of the catalog. */
const PARTS_PAGE = 1000;

/**
 * A range of an object's content; see `Objects.readObject`.
 *
 * Pieces are copies. So the memory can be taken back while the caller has one: reading goes on from
 * there once there is memory again, which fetches a chunk again.
 */
export async function* readContent(
  context: ObjectsContext,
  opened: OpenedObject,
  range: ByteRange,
  { signal, memoryWaitMs }: ReadOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  requireIdentity(context, "read");
  const length = range.end - range.start;
  if (opened.object.kind === "inline" && length > 0 && length <= PIECE_LENGTH) {
    yield await readAtOnce(context, opened, range, { signal, limitMs: memoryWaitMs });
    return;
  }
  let position = range.start;
  while (position < range.end) {
    const isAgain = position > range.start;
    const share = await acquire(context, opened, range.end - position, {
      isAgain,
      signal,
      // Once bytes were released, a failure would only tear the answer.
      limitMs: isAgain ? undefined : memoryWaitMs,
    });
    const rest = { start: position, end: range.end };
    const atOnce = chunksAtOnce(context.memory, share.bytes);
    const turn = takeTurn(context, share, readChunks(context, opened, rest, atOnce, signal));
    try {
      for (;;) {
        const piece = await turn.next();
        if (piece === undefined && !turn.hasGivenWay() && position < range.end) {
          throw new Error("an object has less content than the catalog says");
        }
        if (piece === undefined) break;
        position += piece.length;
        context.memory.passed.add(piece.length);
        share.idle();
        yield piece;
        share.busy();
      }
    } finally {
      await turn.end();
    }
  }
}

/** A short range of inline content, which is one piece: there is nothing to fetch ahead, or to give back. */
async function readAtOnce(
  { memory, roots }: ObjectsContext,
  { object }: OpenedObject,
  range: ByteRange,
  waiting: Waiting,
): Promise<Uint8Array<ArrayBuffer>> {
  const share = await memory.small.acquire(smallNeed(object.size), waiting);
  try {
    const root = await roots.get(object.root, { range, signal: waiting.signal });
    const bytes = await root.bytes();
    memory.passed.add(bytes.length);
    return bytes;
  } finally {
    share.release();
  }
}

/** Content to be sealed anew; see `Objects.readForCopy`. */
export function readForCopy(
  context: ObjectsContext,
  opened: OpenedObject,
  range: ByteRange,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { copied } = context.memory;
  const memory = { ...context.memory, small: copied, large: copied };
  return readContent({ ...context, memory }, opened, range, { signal });
}

function acquire(
  { memory }: ObjectsContext,
  { object }: OpenedObject,
  length: number,
  waiting: Waiting,
): Promise<Share> {
  if (object.kind === "inline") return memory.small.acquire(smallNeed(object.size), waiting);
  // A range begins and ends within chunks; a short one is mostly within one.
  const touched = length <= INLINE_MAX ? length : length + memory.chunkSize;
  return memory.large.acquire(largeNeed(memory, touched), waiting);
}

/** Reading for as long as the share lasts. */
interface Turn {
  /** The next piece, in memory of its own; undefined at the end, or once the share is over. */
  next(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Whether it ended because others need the memory. */
  hasGivenWay(): boolean;
  /** Ends all work, and gives the share back. */
  end(): Promise<void>;
}

function takeTurn({ memory }: ObjectsContext, share: Share, chunks: ChunkReader): Turn {
  let reader: ChunkReader | undefined = chunks;
  let chunk: Uint8Array | undefined;
  let at = 0;
  let hasLeft = false;
  let ending: Promise<void> | undefined;
  const gaveWay = (): boolean => hasLeft || share.isOver();
  const end = (): Promise<void> => {
    // Neither may stay alive in the caller's generator while its client stalls.
    const ended = reader;
    chunk = reader = undefined;
    // A store does not use buffers again that a reader has left.
    if (ended !== undefined && gaveWay()) memory.passed.add(share.bytes);
    ending ??= (ended?.stop() ?? Promise.resolve()).finally(() => share.release());
    return ending;
  };
  // The share is idle only while the caller has a piece, so nothing waits for a chunk now.
  share.onStall(() => {
    end().catch(() => {});
  });
  return {
    end,
    hasGivenWay: gaveWay,
    async next() {
      while (chunk === undefined || at === chunk.length) {
        if (reader === undefined || share.isOver()) return undefined;
        // Between chunks, only what was fetched ahead is fetched again. Otherwise a new call would wait
        // for the whole time of all shares before it.
        if (chunk !== undefined && share.isWanted()) {
          hasLeft = true;
          return undefined;
        }
        chunk = await reader.next();
        at = 0;
        if (chunk === undefined) return undefined;
      }
      const piece = new Uint8Array(chunk.subarray(at, at + PIECE_LENGTH));
      at += piece.length;
      return piece;
    },
  };
}

/**
 * Requires an identity.
 *
 * @throws S3Error `AccessDenied`
 */
export function requireIdentity({ canRead }: ObjectsContext, action: "read" | "copy"): void {
  if (canRead) return;
  throw new S3Error(
    "AccessDenied",
    `This gateway has public keys alone and cannot ${action} content. Use a gateway that has an identity.`,
  );
}

/**
 * The parts that a source of a copy was uploaded in; none for an object of a single PUT.
 *
 * @throws S3Error `OperationAborted` if it was replaced meanwhile
 */
export async function partsOf(
  { catalog }: ObjectsContext,
  object: StoredObject,
): Promise<readonly Part[]> {
  const parts: Part[] = [];
  while (parts.length < object.parts) {
    const page = await catalog.listObjectParts(object, parts.at(-1)?.number ?? 0, PARTS_PAGE);
    if (page.length === 0) throw sourceChanged();
    parts.push(...page);
  }
  return parts;
}
