import type { Address, PutJournal } from "@idk/storage";
import type { PlacedRoot } from "../../catalog/records.ts";
import {
  chunksAtOnce,
  discard,
  INLINE_MAX,
  largeNeed,
  type ObjectsContext,
  smallNeed,
} from "../context.ts";
import type { Share, Waiting } from "../memory/budget.ts";
import type { BodyDigests, IncomingBody, MemoryWait } from "../objects.ts";
import { createSource, type Source } from "./source.ts";

/** A body that was read to its end and passed its checks. */
export interface StoredBody extends BodyDigests {
  readonly size: number;
  /** All of it, if it is short and inline content was asked for; it is then not stored yet. */
  readonly inline: Uint8Array<ArrayBuffer> | undefined;
  /** Otherwise the roots it is stored in. */
  readonly contents: readonly PlacedRoot[];
  /** Deletes what was stored. */
  discard(): Promise<unknown>;
  /** Gives back the memory of inline content. */
  release(): void;
}

/** How a body is to be stored. */
export interface StoreBodyOptions extends MemoryWait {
  /** Whether content up to 1 MiB is returned instead of stored. */
  readonly allowInline: boolean;
  /** The number of the part for the content roots; 1 for an object of a single PUT. */
  readonly part: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Bytes to read before memory is asked for: a client that sends nothing takes none. Also the least that
 * a content root holds, but for the last one.
 */
const READ_FIRST = 64 * 1024;
/** Bytes after which a content root ends. Then the memory is divided anew. */
const ROOT_MAX = 256 * 2 ** 20;
/** What to expect of a body that does not declare its length. */
const LENGTH_UNKNOWN = ROOT_MAX;

/**
 * Reads a body and stores it in content roots. A root ends early if others need its memory while the
 * client is slow: the body goes on in another root once there is memory again.
 *
 * @throws what the body throws, after what was stored has been deleted
 */
export async function storeBody(
  context: ObjectsContext,
  body: IncomingBody,
  { allowInline, part, signal, memoryWaitMs }: StoreBodyOptions,
): Promise<StoredBody> {
  const source = createSource(body.bytes, signal);
  const stored: Address[] = [];
  const contents: PlacedRoot[] = [];
  let share: Share | undefined;
  let size = 0;
  try {
    for (;;) {
      await source.gather(READ_FIRST);
      if (source.hasEnded() && source.held() === 0 && (!allowInline || contents.length > 0)) break;
      share = await acquire(context, source, body.length, {
        isAgain: contents.length > 0,
        signal,
        limitMs: memoryWaitMs,
      });
      if (allowInline && contents.length === 0) {
        share.onStall(source.interrupt);
        share.idle();
        await source.gather(INLINE_MAX + 1);
        share.busy();
        if (source.hasEnded() && source.held() <= INLINE_MAX) break;
      }
      const root = await storeRoot(context, source, share, stored, signal);
      share.release();
      contents.push({ ...root, md5: "", part });
      size += root.size;
    }
    const inline = allowInline && contents.length === 0 ? source.take() : undefined;
    const digests = await body.digests();
    // The only root has the MD5 of the body.
    const [only, ...others] = contents;
    const placed = only && others.length === 0 ? [{ ...only, md5: digests.md5 }] : contents;
    const held = share;
    return {
      ...digests,
      size: size + (inline?.length ?? 0),
      inline,
      contents: placed,
      discard: () => discard(context, stored),
      release: () => held?.release(),
    };
  } catch (error) {
    share?.release();
    source.cancel();
    await discard(context, stored);
    throw error;
  }
}

/** Memory for what is left of a body, as far as its length is known. */
function acquire(
  { memory }: ObjectsContext,
  source: Source,
  declared: number | undefined,
  waiting: Waiting,
): Promise<Share> {
  const length = source.hasEnded() ? source.held() : (declared ?? LENGTH_UNKNOWN);
  return length <= INLINE_MAX
    ? memory.small.acquire(smallNeed(length), waiting)
    : memory.large.acquire(largeNeed(memory, length), waiting);
}

/** A journal that adds the address of each chunk to a list once it is stored. */
export function journalOf(stored: Address[]): PutJournal {
  return {
    known: async () => undefined,
    stored: async (_, { address }) => {
      stored.push(address as Address);
    },
  };
}

/**
 * Stores a content root: until the body ends, the root is long enough, or its memory is needed.
 *
 * @param stored receives the addresses of all blobs that were stored, also if this fails
 */
async function storeRoot(
  { contents, memory }: ObjectsContext,
  source: Source,
  share: Share,
  stored: Address[],
  signal: AbortSignal | undefined,
): Promise<{ address: Address; size: number }> {
  let size = 0;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    if (source.held() > 0) {
      const held = source.take();
      size += held.length;
      yield held;
    }
    while (!share.isOver() && size < ROOT_MAX) {
      share.idle();
      const piece = await source.next();
      share.busy();
      if (piece === undefined) return;
      size += piece.length;
      memory.passed.add(piece.length);
      yield piece;
    }
  }
  const journal = journalOf(stored);
  share.onStall(source.interrupt);
  const concurrency = chunksAtOnce(memory, share.bytes);
  const address = await contents.put(pieces(), { journal, concurrency, signal });
  stored.push(address);
  // What the store looked at ahead.
  memory.passed.add(INLINE_MAX);
  return { address, size };
}
