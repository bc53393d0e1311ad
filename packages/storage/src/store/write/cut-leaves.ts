import { throwIfAborted } from "../../abort.ts";
import { CHILD_OVERHEAD, STREAM_MAX } from "../../format/limits.ts";
import { type SealedLeaf, sealLeaf } from "./seal-leaf.ts";
import type { StoreContext, WritePlan } from "../context.ts";
import { usage } from "../../errors.ts";
import type { ByteReader } from "../../content/byte-reader.ts";
import type { PutJournal } from "./journal.ts";
import type { Reference } from "../../format/tree.ts";
import { type ReadyWorkers, WORTH_WORKERS, aheadOf } from "../workers/pool.ts";
import { pMapIterable } from "p-map";
import { padme } from "../../format/padding.ts";

/** A sealed leaf on its way to the store, and the buffer it occupies. */
export interface Leaf extends SealedLeaf {
  readonly index: number;
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes of content in it as they are stored, without padding. */
  readonly contentLength: number;
  /** Bytes of content, before compression, that were read for what goes up to this leaf's end. */
  readonly contentEnd: number;
}

/** Counted while leaves are cut; final when the last one is. */
export interface CutLengths {
  content: number;
  padding: number;
}

/**
 * Cuts the content into leaves, in order and sealed: by the store's workers where there is much of
 * it, and ahead of the consumer as far as it takes to keep them busy. The stream's padding follows
 * the content, as leaves of its own where it is longer than what the last leaf of content leaves
 * free.
 */
export function cutLeaves(
  context: StoreContext,
  plan: WritePlan,
  reader: ByteReader,
  journal: PutJournal,
  lengths: CutLengths,
  signal: AbortSignal,
): AsyncIterable<Leaf> {
  const leaves = sealLeaves(context, plan, reader, journal, lengths, signal);
  if (!context.workers) return sealedOf(leaves);
  return pMapIterable(leaves, ({ sealed }) => sealed, { concurrency: aheadOf(context.workers) });
}

async function* sealedOf(leaves: AsyncIterable<PendingLeaf>): AsyncGenerator<Leaf> {
  for await (const { sealed } of leaves) yield sealed;
}

interface PendingLeaf {
  readonly sealed: Leaf | Promise<Leaf>;
}

/**
 * Each leaf is sealed, or copied for a worker, at once after it was read: while the memory it is
 * read from is certain not to have changed.
 */
async function* sealLeaves(
  { naCl, writeBuffers: buffers, workers }: StoreContext,
  plan: WritePlan,
  reader: ByteReader,
  journal: PutJournal,
  lengths: CutLengths,
  signal: AbortSignal,
): AsyncGenerator<PendingLeaf> {
  const { dedupSecret } = plan;
  const chunkSize = 2 ** plan.chunkLog2;
  let index = 0;
  let contentBefore = 0;
  let known: Reference | undefined;
  let ready: ReadyWorkers | undefined;
  // All that is waited for before the content is looked at: from there to its seal, or to the copy
  // of it, nothing else gets a turn.
  const prepare = async (): Promise<void> => {
    throwIfAborted(signal);
    known = await journal.known(index);
    const worthIt = Math.max(lengths.content, reader.total ?? 0) >= WORTH_WORKERS;
    ready = worthIt ? await workers?.ready() : undefined;
  };

  /** Seals the next leaf, whose plaintext lies in the buffer or is to be taken from elsewhere. */
  const seal = (
    buffer: Uint8Array<ArrayBuffer>,
    length: number,
    elsewhere?: Uint8Array,
  ): PendingLeaf => {
    const contentLength = lengths.content - contentBefore;
    contentBefore = lengths.content;
    const leaf = { index: index++, contentLength, contentEnd: reader.position() };
    const inBuffer = buffer.subarray(CHILD_OVERHEAD, CHILD_OVERHEAD + length);
    if (!ready) {
      const sealed = sealLeaf(naCl, elsewhere ?? inBuffer, buffer, dedupSecret, known);
      return { sealed: { ...leaf, ...sealed, buffer } };
    }
    if (elsewhere) inBuffer.set(elsewhere);
    const sealed = ready.seal({ buffer, length, dedupSecret, known }).then((outcome) => ({
      ...leaf,
      ...outcome,
      blob: outcome.buffer.subarray(0, CHILD_OVERHEAD + length),
    }));
    // Where the put ends first nobody will ask how this went.
    sealed.catch(() => {});
    return { sealed };
  };

  for (;;) {
    await prepare();
    const buffer = buffers.acquire(CHILD_OVERHEAD + chunkSize);
    // Sealing straight from the caller's memory saves a copy; a convergent key allows no such view.
    const view = dedupSecret ? undefined : reader.take(chunkSize);
    if (view) {
      lengths.content += chunkSize;
      yield seal(buffer, chunkSize, view);
      continue;
    }
    const room = buffer.subarray(CHILD_OVERHEAD);
    const filled = await reader.fill(room);
    lengths.content += filled;
    if (filled === chunkSize) {
      yield seal(buffer, chunkSize);
      continue;
    }
    lengths.padding = paddingOf(lengths.content, plan.pad);
    const inLastLeaf = Math.min(chunkSize - filled, lengths.padding);
    room.fill(0, filled, filled + inLastLeaf);
    if (filled + inLastLeaf > 0) yield seal(buffer, filled + inLastLeaf);
    else buffers.release(buffer);
    yield* sealZeros(lengths.padding - inLastLeaf);
    return;
  }

  async function* sealZeros(total: number): AsyncGenerator<PendingLeaf> {
    for (let left = total; left > 0; left -= chunkSize) {
      await prepare();
      const buffer = buffers.acquire(CHILD_OVERHEAD + chunkSize);
      const length = Math.min(left, chunkSize);
      buffer.fill(0, CHILD_OVERHEAD, CHILD_OVERHEAD + length);
      yield seal(buffer, length);
    }
  }
}

/** Zero bytes after the content; none where they would take the stream past the format's end. */
function paddingOf(contentLength: number, pad: boolean): number {
  if (contentLength > STREAM_MAX) throw usage("the content is longer than the format can say");
  const padded = pad ? padme(contentLength) : contentLength;
  return padded > STREAM_MAX ? 0 : padded - contentLength;
}
