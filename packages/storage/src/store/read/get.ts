import type { Progress, ReadOptions } from "../options.ts";
import { linkedAbort, throwIfAborted } from "../../abort.ts";
import {
  type BytesOptions,
  type StoredBlob,
  type StreamOptions,
  copiesOf,
  pieceStream,
} from "./stored-blob.ts";
import {
  type ByteRange,
  type ContentReader,
  type Reading,
  inlineContent,
  treeContent,
} from "./content-reader.ts";
import { type OpenedRoot, borrowRoot, keepRoot } from "./read-root.ts";
import { type StoreContext, assertOptions, concurrencyOf } from "../context.ts";
import { type StorageError, usage } from "../../errors.ts";
import { allocate } from "../buffers.ts";
import { concatAll } from "../../bytes.ts";
import { contentDecoder } from "../../content/compression/decompress.ts";

export interface GetOptions extends ReadOptions {
  /** Bytes of the content to read: start inclusive, end exclusive, both within the content. */
  readonly range?:
    | { readonly start?: number | undefined; readonly end?: number | undefined }
    | undefined;
  /** Chunks fetched at once and ahead, 1 to 64; by default the store's. */
  readonly concurrency?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Fetches and opens a root; see `Store.get`.
 *
 * @param rootSignal ends the fetching of the root; reading it later keeps to the options' signal
 */
export async function get(
  context: StoreContext,
  address: string,
  options: GetOptions,
  rootSignal: AbortSignal | undefined = options.signal,
): Promise<StoredBlob> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const concurrency = concurrencyOf(context.defaults, options.concurrency);
  const { root, content } = await openContent(context, address, options, rootSignal);
  const encoded = root.metadata["enc"] !== undefined;
  if (encoded && options.range) {
    throw usage("this content is stored encoded, and an encoding can only be read as a whole");
  }
  const range = checkedRange(root, options.range);
  const size = decodedLength(root);
  const readLength = encoded ? size : range.end - range.start;

  const read = (): Reading => {
    const { signal, stop } = linkedAbort(options.signal);
    return { signal, stop, concurrency, onProgress: options.onProgress };
  };
  // Decoding begins here and not before: what the metadata says can be looked at even where it is
  // nonsense.
  async function* decoded(reading: Reading): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const decoder = contentDecoder(root.metadata);
    if (decoder) yield* decoder.decode(content.pieces(range, reading));
  }
  const bytes = async ({ maxBytes = MAX_BYTES_DEFAULT, into }: BytesOptions = {}) => {
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 0) {
      throw usage("maxBytes must be an integer from 0 to 2^53-1");
    }
    if (readLength > maxBytes) throw tooLong(readLength, `more than maxBytes (${maxBytes})`);
    if (into) return readInto(into);
    // What encoded content decodes to is a claim until it is decoded: no memory is reserved for it.
    if (encoded) return joined(decoded(read()));
    const result = allocateResult(readLength);
    await content.copyTo(result, range, read());
    return result;
  };
  const readInto = async (into: Uint8Array<ArrayBuffer>) => {
    if (into.length < readLength) {
      throw tooLong(readLength, `and into has room for ${into.length}`);
    }
    const result = into.subarray(0, readLength);
    if (!encoded) {
      await content.copyTo(result, range, read());
      return result;
    }
    let offset = 0;
    for await (const piece of decoded(read())) {
      result.set(piece, offset);
      offset += piece.length;
    }
    return result;
  };

  const rangeFrom = ({ start = 0 }: StreamOptions): ByteRange => {
    if (start === 0) return range;
    if (encoded) throw usage("this content is stored encoded, and decoding begins at its start");
    if (!range.whole) throw usage("a blob that was asked for with a range has no other start");
    return { ...checkedRange(root, { start }), whole: true };
  };

  return {
    address: root.address,
    size,
    metadata: root.metadata,
    stream: (from = {}) => {
      const rest = rangeFrom(from);
      const reading = read();
      return encoded
        ? pieceStream(decoded(reading), reading.stop, (piece) => [piece])
        : pieceStream(content.pieces(rest, reading), reading.stop, copiesOf);
    },
    chunks: (from = {}) => {
      const rest = rangeFrom(from);
      const reading = read();
      return encoded ? decoded(reading) : content.pieces(rest, reading);
    },
    matchingPrefix: async (have) => {
      if (!range.whole) throw usage("what of a range is there already cannot be told");
      return encoded ? 0 : content.matchingPrefix(have, range, read());
    },
    bytes,
    // A byte order mark is a character of the text like any other.
    text: async (limits) =>
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(await bytes(limits)),
  };
}

async function openContent(
  context: StoreContext,
  address: string,
  options: GetOptions,
  rootSignal: AbortSignal | undefined,
): Promise<{ root: OpenedRoot; content: ContentReader }> {
  const lent = await borrowRoot(context, address, { ...options, signal: rootSignal });
  if (lent.root.shape.counts.length === 0) {
    if (lent.root.body.length <= KEPT_MAX) {
      const root = keepRoot(lent);
      const kept = { root, release() {} };
      return { root, content: inlineContent(kept, async () => kept) };
    }
    const again = (signal: AbortSignal) => borrowRoot(context, address, { ...options, signal });
    return { root: lent.root, content: inlineContent(lent, again) };
  }
  const root = keepRoot(lent);
  return { root, content: treeContent(context, root) };
}

/**
 * Bytes of content that are copied out of the buffer they were opened in, which has room for two
 * megabytes: less to keep for as long as the handle lives, and the buffer goes round at once.
 */
const KEPT_MAX = 64 * 1024;

const MAX_BYTES_DEFAULT = 2 ** 30;

/**
 * Bytes of the content once decoded. Where the metadata's claim makes no sense, reading will say
 * so, and looking does not have to.
 */
export function decodedLength({ metadata, contentLength }: OpenedRoot): number {
  const { enc, len } = metadata;
  return enc !== undefined && typeof len === "number" ? len : contentLength;
}

function tooLong(length: number, why: string): StorageError {
  return usage(`the content has ${length} bytes, ${why}: use stream()`);
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return concatAll(all);
}

/** @throws StorageError `usage` */
function checkedRange(root: OpenedRoot, range: GetOptions["range"]): ByteRange {
  const { start = 0, end = root.contentLength } = range ?? {};
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || start > end) {
    throw usage("a range is two integers with 0 <= start <= end");
  }
  if (end > root.contentLength) {
    throw usage(`the range ends at ${end} and the content at ${root.contentLength}`);
  }
  return { start, end, whole: range === undefined };
}

/** The runtime's own limit may be lower than what the caller allows. */
function allocateResult(length: number): Uint8Array<ArrayBuffer> {
  try {
    return allocate(length);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw tooLong(length, "more than this runtime can hold in one array");
  }
}
