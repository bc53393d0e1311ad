import type { ByteReader, Content } from "../../content/byte-reader.ts";
import type { CallOptions, Progress, WriteOptions } from "../options.ts";
import { type ContentEncoding, metadataToCbor, withEncoding } from "../../format/metadata.ts";
import { INLINE_MAX, PADDED_LENGTH_MAX } from "../../format/limits.ts";
import { type Leaf, sealLeaves } from "./seal-leaves.ts";
import { type PutJournal, checkedJournal } from "./journal.ts";
import { type PutReport, type PutCounters, createPutCounters } from "./put-report.ts";
import { type WriteSettings, assertOptions, checkPutOptions } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";
import type { Address } from "../../crypto/address.ts";
import type { Metadata } from "../../format/metadata.ts";
import type { Reference } from "../../format/tree.ts";
import type { RootFields } from "../../format/root.ts";
import { byteReader } from "../../content/byte-reader.ts";
import { encodeContent } from "../../content/compression/compress.ts";
import { createTreeWriter } from "./tree-writer.ts";
import { CALLS_MAX } from "../flow/controller.ts";
import type { Measuring } from "../flow/measuring.ts";
import { leafMemory } from "../flow/budget.ts";
import { storeBlob } from "./store-blob.ts";
import { writeRoot } from "./write-root.ts";

/** Options of `put`. */
export interface PutOptions extends WriteOptions, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  readonly metadata?: Metadata | undefined;
  /** Called after each chunk is stored, and for inline content once. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /**
   * Resumes an earlier put of the same content: of the leaves recorded in the journal, only those
   * that the store lacks are sent; each of the others takes a HEAD request and a ranged read of 64
   * bytes, which fail with write-only credentials, so that everything is sent. With a dedup secret
   * this helps only if the server does not verify checksums, and an entry counts only if it was made
   * with the same secret. Content of up to 1 MiB has no leaves.
   */
  readonly journal?: PutJournal | undefined;
  /** Called once, after everything is stored and before the put returns. */
  readonly onReport?: ((report: PutReport) => void) | undefined;
}

/** What the blobs below a root are written with. */
export interface PutCall {
  readonly context: StoreContext;
  readonly settings: WriteSettings;
  readonly options: Pick<PutOptions, "journal" | "onProgress" | "signal">;
  readonly counters: PutCounters;
  /** Zero bytes after content that needs a tree; by default what the settings give. */
  readonly padding?: number | undefined;
  /** Called with each sealed leaf before it is stored; if it throws, nothing more is stored. */
  readonly checkLeaf?: ((index: number, leaf: Reference) => void) | undefined;
}

/**
 * Seals and stores content; see `Store.put`.
 *
 * @param queueTree stores content that needs a tree. `putMany` passes a queue so that only one tree
 *   uploads at a time
 */
export async function put(
  context: StoreContext,
  content: Content,
  options: PutOptions,
  queueTree?: <T>(storeTree: () => Promise<T>) => Promise<T>,
): Promise<Address> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const settings = checkPutOptions(context.defaults, options);
  const metadata = metadataToCbor(options.metadata ?? {});
  // Fail now if the metadata will be too long, not after all content is stored.
  if (settings.compression !== "none") withEncoding(metadata, LONGEST_ENCODING);
  const source = byteReader(content, options.signal);
  let reader = source;
  const counters = createPutCounters();
  try {
    const encoded = await encodeContent(source, settings.compression, options.signal);
    reader = encoded.reader;
    const contentFields = await storeContent(
      { context, settings, options, counters },
      reader,
      queueTree,
    );
    const encoding = encoded.encoding();
    const fields = {
      ...contentFields,
      metadata: encoding ? withEncoding(metadata, encoding) : metadata,
    };
    const address = await writeRoot(context, settings, fields, {
      signal: options.signal,
      counters,
    });
    options.onReport?.(counters.report());
    return address;
  } finally {
    reader.cancel();
  }
}

const LONGEST_ENCODING: ContentEncoding = { enc: "zstd", len: PADDED_LENGTH_MAX };

/** The fields of a root that depend on the content. */
type ContentFields = Omit<RootFields, "metadata">;

/** Stores the chunks of content that does not fit into a root; see `put` for `queueTree`. */
export async function storeContent(
  call: PutCall,
  reader: ByteReader,
  queueTree: <T>(storeTree: () => Promise<T>) => Promise<T> = (storeTree) => storeTree(),
): Promise<ContentFields> {
  const available = await reader.lookAhead(INLINE_MAX + 1);
  return available > INLINE_MAX
    ? queueTree(() => putTree(call, reader))
    : readInline(reader, available, call.options);
}

/** @param length bytes that have been looked ahead to: all of the content */
function readInline(
  reader: ByteReader,
  length: number,
  options: Pick<PutOptions, "onProgress">,
): ContentFields {
  const body = reader.take(length)!;
  const bytes = reader.position();
  options.onProgress?.({ bytes, total: bytes, chunks: 0 });
  return { depth: 0, chunkLog2: 0, contentLength: length, padding: 0, body };
}

async function putTree(
  { context, settings, options, counters, padding: fixedPadding, checkLeaf }: PutCall,
  reader: ByteReader,
): Promise<ContentFields> {
  const { signal, stop, end } = linkedAbort(options.signal);
  const tree = createTreeWriter(context, settings.dedupSecret, { signal, counters });
  const convergent = settings.dedupSecret !== undefined;
  const journal = checkedJournal(options.journal);

  const inFlight = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;

  const sendLeaf = async (leaf: Leaf, measuring: Measuring): Promise<void> => {
    const { index, blob, contentLength, reference, storedBefore } = leaf;
    checkLeaf?.(index, reference);
    const to = { backend: context.backend, measuring };
    const how = { convergent, storedBefore, signal };
    const sent = await storeBlob(to, reference.address, blob, how);
    counters.leaf(sent, blob.length, contentLength);
    if (sent) await journal.stored(index, reference);
  };
  const sendAndRelease = async (leaf: Leaf, measuring: Measuring) => {
    throwIfAborted(signal);
    const { buffer, reference, contentLength, padding, sourceEnd } = leaf;
    const sending = sendLeaf(leaf, measuring);
    inFlight.add(sending);
    try {
      await sending;
      context.writeBuffers.release(buffer);
    } catch (error) {
      // Stop at once, not when this leaf's turn comes: an earlier upload may hang on the same fault.
      failure ??= { error };
      stop(error);
      throw error;
    } finally {
      inFlight.delete(sending);
    }
    return { reference, contentLength, padding, sourceEnd };
  };

  try {
    let [chunks, contentLength, padding] = [0, 0, 0];
    const leaves = sealLeaves(context, settings, {
      reader,
      journal,
      signal,
      padding: fixedPadding,
    });
    const sentLeaves = context.flows.writeLeaves.map(leaves, sendAndRelease, {
      most: settings.concurrency ?? CALLS_MAX,
      itemBytes: leafMemory(2 ** settings.chunkLog2),
      signal,
    });
    for await (const leaf of sentLeaves) {
      await tree.add(leaf.reference);
      chunks += 1;
      contentLength += leaf.contentLength;
      padding += leaf.padding;
      const { total } = reader;
      options.onProgress?.({
        bytes: leaf.sourceEnd,
        ...(total === undefined ? {} : { total }),
        chunks,
      });
    }
    const { depth, references } = await tree.finish();
    return { depth, chunkLog2: settings.chunkLog2, contentLength, padding, body: references };
  } catch (error) {
    stop(error);
    // Wait for the writes in flight, so that a caller that exits now leaves nothing half-done.
    await Promise.allSettled(inFlight);
    // The first failure caused the others, which only report the abort.
    throw failure ? failure.error : error;
  } finally {
    end();
  }
}
