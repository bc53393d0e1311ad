import { CHILD_OVERHEAD, PADDED_LENGTH_MAX } from "../../format/limits.ts";
import { type ReadyWorkers, WORKERS_MIN_BYTES, aheadOf } from "../workers/pool.ts";
import { type SealedLeaf, sealLeaf } from "./seal-child.ts";
import type { WriteSettings } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import type { ByteReader } from "../../content/byte-reader.ts";
import type { PutJournal } from "./journal.ts";
import type { Reference } from "../../format/tree.ts";
import { pMapIterable } from "p-map";
import { padme } from "../../format/padding.ts";
import { throwIfAborted } from "../../abort.ts";
import { usage } from "../../errors.ts";

/** A sealed leaf on its way to the store, and the buffer it occupies. */
export interface Leaf extends SealedLeaf {
  readonly index: number;
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes of content in the leaf, after compression. */
  readonly contentLength: number;
  /** Zero bytes that follow them. */
  readonly padding: number;
  /** Bytes of the caller's content, before compression, up to the end of this leaf. */
  readonly sourceEnd: number;
}

/** The content to seal in leaves. */
export interface LeafSource {
  readonly reader: ByteReader;
  readonly journal: PutJournal;
  readonly signal: AbortSignal;
  /** Zero bytes after the content; by default what the settings give. */
  readonly padding: number | undefined;
}

/**
 * Cuts content into leaves and seals them, in order. If the store has workers, leaves are prepared
 * ahead of the consumer, and from 32 MiB of content on the workers seal them. Padding follows the
 * content; what does not fit into the last leaf of content becomes leaves of its own.
 */
export function sealLeaves(
  context: StoreContext,
  settings: WriteSettings,
  source: LeafSource,
): AsyncIterable<Leaf> {
  const leaves = sealInOrder(context, settings, source);
  if (!context.workers) return awaitEach(leaves);
  return pMapIterable(leaves, ({ sealed }) => sealed, { concurrency: aheadOf(context.workers) });
}

async function* awaitEach(leaves: AsyncIterable<PendingLeaf>): AsyncGenerator<Leaf> {
  for await (const { sealed } of leaves) yield sealed;
}

/** A leaf that a worker may still be sealing; in an object because a generator awaits promises. */
interface PendingLeaf {
  readonly sealed: Leaf | Promise<Leaf>;
}

/**
 * Each leaf is sealed, or copied for a worker, immediately after it is read, because the memory it
 * is read from may change later.
 */
async function* sealInOrder(
  { naCl, writeBuffers: buffers, workers }: StoreContext,
  settings: WriteSettings,
  { reader, journal, signal, padding: fixedPadding }: LeafSource,
): AsyncGenerator<PendingLeaf> {
  const { dedupSecret } = settings;
  const chunkSize = 2 ** settings.chunkLog2;
  let index = 0;
  let contentRead = 0;
  let known: Reference | undefined;
  let ready: ReadyWorkers | undefined;
  // Everything that has to be awaited before the content is read: no other code may run between
  // reading a leaf and sealing or copying it.
  const prepare = async (): Promise<void> => {
    throwIfAborted(signal);
    known = await journal.known(index);
    const large = Math.max(contentRead, reader.total ?? 0) >= WORKERS_MIN_BYTES;
    ready = large ? await workers?.ready() : undefined;
  };

  /** Seals the next leaf, whose plaintext is in the buffer or in `elsewhere`. */
  const seal = (
    buffer: Uint8Array<ArrayBuffer>,
    { contentLength, padding }: Pick<Leaf, "contentLength" | "padding">,
    elsewhere?: Uint8Array,
  ): PendingLeaf => {
    const leaf = { index: index++, contentLength, padding, sourceEnd: reader.position() };
    const length = contentLength + padding;
    const inBuffer = buffer.subarray(CHILD_OVERHEAD, CHILD_OVERHEAD + length);
    if (!ready) {
      const plaintext = elsewhere ?? inBuffer;
      const sealed = sealLeaf(naCl, { plaintext, buffer, dedupSecret, known });
      return { sealed: { ...leaf, ...sealed, buffer } };
    }
    if (elsewhere) inBuffer.set(elsewhere);
    const sealed = ready.seal({ buffer, length, dedupSecret, known }).then((outcome) => ({
      ...leaf,
      ...outcome,
      blob: outcome.buffer.subarray(0, CHILD_OVERHEAD + length),
    }));
    // If the put ends first, no one awaits this.
    sealed.catch(() => {});
    return { sealed };
  };

  for (;;) {
    await prepare();
    const buffer = buffers.acquire(CHILD_OVERHEAD + chunkSize);
    // Sealing straight from the caller's memory saves a copy. A convergent key does not allow it.
    const view = dedupSecret ? undefined : reader.take(chunkSize);
    const filled = view ? chunkSize : await reader.fill(buffer.subarray(CHILD_OVERHEAD));
    contentRead += filled;
    if (filled === chunkSize) {
      yield seal(buffer, { contentLength: chunkSize, padding: 0 }, view);
      continue;
    }
    const padding = fixedPadding ?? paddingOf(contentRead, settings.pad);
    const inLastLeaf = Math.min(chunkSize - filled, padding);
    const end = CHILD_OVERHEAD + filled;
    buffer.fill(0, end, end + inLastLeaf);
    if (filled + inLastLeaf > 0) {
      yield seal(buffer, { contentLength: filled, padding: inLastLeaf });
    } else buffers.release(buffer);
    yield* sealPadding(padding - inLastLeaf);
    return;
  }

  async function* sealPadding(total: number): AsyncGenerator<PendingLeaf> {
    for (let left = total; left > 0; left -= chunkSize) {
      await prepare();
      const buffer = buffers.acquire(CHILD_OVERHEAD + chunkSize);
      const padding = Math.min(left, chunkSize);
      buffer.fill(0, CHILD_OVERHEAD, CHILD_OVERHEAD + padding);
      yield seal(buffer, { contentLength: 0, padding });
    }
  }
}

/** Zero bytes after the content; 0 if padding would exceed the format's maximum length. */
function paddingOf(contentLength: number, pad: boolean): number {
  if (contentLength > PADDED_LENGTH_MAX)
    throw usage("the content is longer than the format allows");
  const padded = pad ? padme(contentLength) : contentLength;
  return padded > PADDED_LENGTH_MAX ? 0 : padded - contentLength;
}
