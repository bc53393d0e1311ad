import type { ByteReader, Content } from "../content/source.ts";
import { CHILD_OVERHEAD, INLINE_MAX, STREAM_MAX } from "../format/limits.ts";
import { type LeafReference, type PutJournal, checkedJournal } from "./journal.ts";
import { type SealedLeaf, sealLeaf } from "./known-leaf.ts";
import {
  type StoreContext,
  type WritePlan,
  assertOptions,
  linkedAbort,
  planWrite,
} from "./context.ts";
import { throwIfAborted, usage } from "../errors.ts";
import type { Address } from "../content/address.ts";
import type { PutOptions } from "./store.ts";
import type { RootDraft } from "../format/root.ts";
import { createTreeWriter } from "./tree-writer.ts";
import { metadataToCbor } from "../format/metadata.ts";
import { openContent } from "../content/source.ts";
import { pMapIterable } from "p-map";
import { padme } from "../format/padding.ts";
import { storeBlob } from "./store-blob.ts";
import { writeRoot } from "./write-root.ts";

/** Seals and stores content; see `Store.put`. */
export async function put(
  context: StoreContext,
  content: Content,
  options: PutOptions,
): Promise<Address> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const plan = planWrite(context.defaults, options);
  const metadata = metadataToCbor(options.metadata ?? {});
  const reader = openContent(content, options.signal);
  try {
    const available = await reader.lookAhead(INLINE_MAX + 1);
    const body =
      available > INLINE_MAX
        ? await putTree(context, plan, reader, options)
        : readInline(reader, available, options);
    return await writeRoot(context, plan, { ...body, metadata }, options.signal);
  } finally {
    reader.cancel();
  }
}

/** What of a root's plaintext depends on the content. */
type StoredContent = Omit<RootDraft, "metadata">;

/** All of it, which is at hand. */
function readInline(reader: ByteReader, length: number, options: PutOptions): StoredContent {
  const body = reader.take(length)!;
  options.onProgress?.({ bytes: length, total: length, chunks: 0 });
  return { depth: 0, chunkLog2: 0, contentLength: length, padding: 0, body };
}

/** A sealed leaf on its way to the store, and the buffer it occupies. */
interface Leaf extends SealedLeaf {
  readonly index: number;
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** Bytes of content up to and with this leaf. */
  readonly contentEnd: number;
}

async function putTree(
  context: StoreContext,
  plan: WritePlan,
  reader: ByteReader,
  options: PutOptions,
): Promise<StoredContent> {
  const { signal, stop } = linkedAbort(options.signal);
  const tree = createTreeWriter(context, plan.dedupSecret, { signal });
  const lengths = { content: 0, padding: 0 };
  const convergent = plan.dedupSecret !== undefined;
  // With a dedup secret the store itself says what it has.
  const journal = checkedJournal(convergent ? undefined : options.journal);

  const inFlight = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  const store = async ({ index, blob, reference, storedBefore }: Leaf): Promise<void> => {
    const { address } = reference;
    await storeBlob(context.backend, address, blob, { convergent, storedBefore, signal });
    if (!storedBefore) await journal.stored(index, reference);
  };
  const upload = async (leaf: Leaf) => {
    throwIfAborted(signal);
    const { buffer, reference, contentEnd } = leaf;
    const stored = store(leaf);
    inFlight.add(stored);
    try {
      await stored;
      context.writeBuffers.release(buffer);
    } catch (error) {
      // At once, not in its turn: an earlier upload may be stuck on what failed this one.
      failure ??= { error };
      stop(error);
      throw error;
    } finally {
      inFlight.delete(stored);
    }
    return { reference, contentEnd };
  };

  try {
    let chunks = 0;
    const leaves = sealLeaves(context, plan, reader, journal, lengths, signal);
    const stored = pMapIterable(leaves, upload, { concurrency: plan.concurrency });
    for await (const { reference, contentEnd } of stored) {
      await tree.add(reference);
      chunks += 1;
      const { total } = reader;
      options.onProgress?.({
        bytes: contentEnd,
        ...(total === undefined ? {} : { total }),
        chunks,
      });
    }
    const { depth, references } = await tree.finish();
    return {
      depth,
      chunkLog2: plan.chunkLog2,
      contentLength: lengths.content,
      padding: lengths.padding,
      body: references,
    };
  } catch (error) {
    stop(error);
    // When this settles nothing is being written any more: who exits then leaves nothing half-done.
    await Promise.allSettled(inFlight);
    // The others failed because of the first, which alone says why.
    throw failure ? failure.error : error;
  }
}

/**
 * Cuts the content into leaves and seals each at once, while the memory it is read from is
 * certain not to have changed. The stream's padding follows the content, as leaves of its own
 * where it is longer than what the last leaf of content leaves free.
 */
async function* sealLeaves(
  { naCl, writeBuffers: buffers }: StoreContext,
  plan: WritePlan,
  reader: ByteReader,
  journal: PutJournal,
  lengths: { content: number; padding: number },
  signal: AbortSignal,
): AsyncGenerator<Leaf> {
  const chunkSize = 2 ** plan.chunkLog2;
  let index = 0;
  let known: LeafReference | undefined;
  const seal = (plaintext: Uint8Array, buffer: Uint8Array<ArrayBuffer>): Leaf => ({
    ...sealLeaf(naCl, plaintext, buffer, plan.dedupSecret, known),
    index: index++,
    buffer,
    contentEnd: lengths.content,
  });

  for (;;) {
    throwIfAborted(signal);
    // Before the content is looked at: from there to its seal nothing else gets a turn.
    known = await journal.known(index);
    const buffer = buffers.acquire(CHILD_OVERHEAD + chunkSize);
    // Sealing straight from the caller's memory saves a copy; a convergent key allows no such view.
    const view = plan.dedupSecret ? undefined : reader.take(chunkSize);
    if (view) {
      lengths.content += chunkSize;
      yield seal(view, buffer);
      continue;
    }
    const room = buffer.subarray(CHILD_OVERHEAD);
    const filled = await reader.fill(room);
    lengths.content += filled;
    if (filled === chunkSize) {
      yield seal(room, buffer);
      continue;
    }
    lengths.padding = paddingOf(lengths.content, plan.pad);
    const inLastLeaf = Math.min(chunkSize - filled, lengths.padding);
    room.fill(0, filled, filled + inLastLeaf);
    if (filled + inLastLeaf > 0) yield seal(room.subarray(0, filled + inLastLeaf), buffer);
    else buffers.release(buffer);
    yield* sealZeros(lengths.padding - inLastLeaf);
    return;
  }

  async function* sealZeros(length: number): AsyncGenerator<Leaf> {
    for (let left = length; left > 0; left -= chunkSize) {
      throwIfAborted(signal);
      known = await journal.known(index);
      const buffer = buffers.acquire(CHILD_OVERHEAD + chunkSize);
      const zeros = buffer.subarray(CHILD_OVERHEAD, CHILD_OVERHEAD + Math.min(left, chunkSize));
      zeros.fill(0);
      yield seal(zeros, buffer);
    }
  }
}

/** Zero bytes after the content; none where they would take the stream past the format's end. */
function paddingOf(contentLength: number, pad: boolean): number {
  if (contentLength > STREAM_MAX) throw usage("the content is longer than the format can say");
  const padded = pad ? padme(contentLength) : contentLength;
  return padded > STREAM_MAX ? 0 : padded - contentLength;
}
