import {
  type ContentEncoding,
  type Metadata,
  metadataToCbor,
  withEncoding,
} from "../../format/metadata.ts";
import { type PutJournal, checkedJournal } from "./journal.ts";
import type { CallOptions, Progress, WriteOptions } from "../options.ts";
import { type PutReport, type PutTally, createPutTally } from "./put-report.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";
import { type ByteReader, type Content, openContent } from "../../content/byte-reader.ts";
import { type Leaf, cutLeaves } from "./cut-leaves.ts";
import { INLINE_MAX, STREAM_MAX } from "../../format/limits.ts";
import { type StoreContext, type WritePlan, assertOptions, planWrite } from "../context.ts";
import type { Address } from "../../content/address.ts";
import type { RootDraft } from "../../format/root.ts";
import { createTreeWriter } from "./tree-writer.ts";
import { compressed } from "../../content/compression/compress.ts";
import { pMapIterable } from "p-map";
import { storeBlob } from "./store-blob.ts";
import { writeRoot } from "./write-root.ts";

export interface PutOptions extends WriteOptions, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  readonly metadata?: Metadata | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Continues where an earlier put of the same content stopped: of the leaves that it noted, only
   * those are sent that the store lacks. With a dedup secret that is of use where the store attests
   * nothing, and a note counts only if it was made with the same secret. Content of up to 1 MiB has
   * no leaves.
   */
  readonly journal?: PutJournal | undefined;
  /** Called once, when everything is stored and before the put returns: what was new of it. */
  readonly onReport?: ((report: PutReport) => void) | undefined;
}

/**
 * Seals and stores content; see `Store.put`.
 *
 * @param treeTurn runs the storing of content that takes a tree, when its turn has come
 */
export async function put(
  context: StoreContext,
  content: Content,
  options: PutOptions,
  treeTurn: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
): Promise<Address> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const plan = planWrite(context.defaults, options);
  const metadata = metadataToCbor(options.metadata ?? {});
  // Now, and not when all the content has been stored.
  if (plan.compression !== "none") withEncoding(metadata, LONGEST_ENCODING);
  const source = openContent(content, options.signal);
  let reader = source;
  const tally = createPutTally();
  try {
    const encoded = await compressed(source, plan.compression, options.signal);
    reader = encoded.reader;
    const available = await reader.lookAhead(INLINE_MAX + 1);
    const body =
      available > INLINE_MAX
        ? await treeTurn(() => putTree(context, plan, reader, options, tally))
        : readInline(reader, available, options);
    const encoding = encoded.encoding();
    const draft = { ...body, metadata: encoding ? withEncoding(metadata, encoding) : metadata };
    const address = await writeRoot(context, plan, draft, options.signal, tally);
    options.onReport?.(tally.report());
    return address;
  } finally {
    reader.cancel();
  }
}

const LONGEST_ENCODING: ContentEncoding = { enc: "zstd", len: STREAM_MAX };

/** What of a root's plaintext depends on the content. */
type StoredContent = Omit<RootDraft, "metadata">;

/** All of it, which is at hand. */
function readInline(reader: ByteReader, length: number, options: PutOptions): StoredContent {
  const body = reader.take(length)!;
  const bytes = reader.position();
  options.onProgress?.({ bytes, total: bytes, chunks: 0 });
  return { depth: 0, chunkLog2: 0, contentLength: length, padding: 0, body };
}

async function putTree(
  context: StoreContext,
  plan: WritePlan,
  reader: ByteReader,
  options: PutOptions,
  tally: PutTally,
): Promise<StoredContent> {
  const { signal, stop } = linkedAbort(options.signal);
  const tree = createTreeWriter(context, plan.dedupSecret, { signal, tally });
  const lengths = { content: 0, padding: 0 };
  const convergent = plan.dedupSecret !== undefined;
  const journal = checkedJournal(options.journal);

  const inFlight = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  const store = async (leaf: Leaf): Promise<void> => {
    const { index, blob, contentLength, reference, storedBefore } = leaf;
    const how = { convergent, storedBefore, signal };
    const sent = await storeBlob(context.backend, reference.address, blob, how);
    tally.leaf(sent, blob.length, contentLength);
    if (sent) await journal.stored(index, reference);
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
    const leaves = cutLeaves(context, plan, reader, journal, lengths, signal);
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
