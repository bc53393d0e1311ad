import type { ByteRange, ContentReader, Reading } from "./content-reader.ts";
import type { ReadAt } from "./matching-prefix.ts";
import { type OpenedRoot, decodedLength } from "./read-root.ts";
import { type StorageError, usage } from "../../errors.ts";
import type { Address } from "../../crypto/address.ts";
import type { Metadata } from "../../format/metadata.ts";
import { allocate } from "../buffers.ts";
import { concatAll } from "../../bytes.ts";
import { contentDecoder } from "../../content/compression/decompress.ts";

/**
 * A verified and opened root. It can be read any number of times, and each read fetches the chunks
 * again; content of up to 1 MiB arrives with the root, for one read.
 */
export interface StoredContent {
  readonly address: Address;
  /** Bytes of the whole content after decompression, even if a range was requested. */
  readonly size: number;
  readonly metadata: Metadata;
  /**
   * The content, or its range, as a web stream. Every chunk is verified before any byte of it is
   * released; on a fault the stream errors after the last good chunk. Cancelling the stream ends all
   * work, including requests in flight. Cancel a stream that you do not read to its end, because
   * until then it keeps chunks in memory and a listener on the signal of the `get`.
   */
  stream(options?: StreamOptions): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The content, or its range, in the portions it was opened in, mostly whole chunks, without a copy.
   * Each portion is valid until the next is requested, and is then overwritten. Use it to write the
   * content somewhere while awaiting each write. Leaving the loop early ends all work.
   */
  chunks(options?: StreamOptions): AsyncIterable<Uint8Array>;
  /**
   * The content in one array, all of it verified.
   *
   * @throws StorageError `usage` if the content is longer than the options allow
   */
  bytes(options?: BytesOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** The content as UTF-8 text. Ill-formed sequences become U+FFFD; a byte order mark is kept. */
  text(options?: BytesOptions): Promise<string>;
  /**
   * How many leading bytes of the content the caller already has, for example from an interrupted
   * download. Whole chunks are sealed again and compared by address, so length alone proves nothing,
   * and no content is fetched. Continue with `stream({ start })`.
   *
   * Compressed content cannot be resumed: the result is 0.
   *
   * @returns a multiple of the chunk size, or the content's length; 0 if nothing matches
   * @throws StorageError `usage` if a range was requested; and what fetching nodes throws
   */
  matchingPrefix(have: ReadAt): Promise<number>;
}

/** Options of `stream` and `chunks`. */
export interface StreamOptions {
  /**
   * Offset of the first byte, at most the content's length, by default 0. Not supported for
   * compressed content or together with a range.
   */
  readonly start?: number | undefined;
  /**
   * Fails with `usage`, before fetching, if there are more bytes than this to read, decompressed;
   * by default there is no limit. Anyone who can write to the store can make small content that
   * reads as petabytes.
   */
  readonly maxBytes?: number | undefined;
}

/** Options of `bytes` and `text`. */
export interface BytesOptions {
  /** Fails before fetching if there are more bytes than this; by default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Memory for the content; the result is a view of it. Useful for reading large content repeatedly,
   * because memory that is reused causes no page faults. After a failure it may hold some of the
   * chunks, all of them verified.
   */
  readonly into?: Uint8Array<ArrayBuffer> | undefined;
}

/** How the content is to be read. */
export interface ReadPlan {
  /** Undefined for all of the content. */
  readonly range: ContentRange | ((size: number) => ContentRange) | undefined;
  /** Called once for each read. */
  startReading(): Reading;
}

/** Bytes of the content: start inclusive, by default 0; end exclusive, by default the content's. */
export interface ContentRange {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

const MAX_BYTES_DEFAULT = 2 ** 30;

/** @throws StorageError `usage` if the range is not within the content, or the content is compressed */
export function createStoredContent(
  root: OpenedRoot,
  content: ContentReader,
  { range: requested, startReading }: ReadPlan,
): StoredContent {
  const encoded = root.metadata["enc"] !== undefined;
  if (encoded && requested) {
    throw usage("this content is compressed and can only be read as a whole");
  }
  const size = decodedLength(root);
  const range = checkedRange(root, typeof requested === "function" ? requested(size) : requested);
  const readLength = encoded ? size : range.end - range.start;

  // The decoder is created only now, so that a root with malformed metadata can still be opened.
  async function* decoded(reading: Reading): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const decoder = contentDecoder(root.metadata);
    if (decoder) yield* decoder.decode(content.chunks(range, reading));
  }
  const during = async <T>(work: (reading: Reading) => Promise<T>): Promise<T> => {
    const reading = startReading();
    try {
      return await work(reading);
    } finally {
      reading.end();
    }
  };
  /** Starts when the first chunk is requested, because a stream may never be read. */
  const pass = (from: ByteRange): { chunks: AsyncGenerator<Uint8Array>; stop: () => void } => {
    let reading: Reading | undefined;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      reading = startReading();
      try {
        yield* encoded ? decoded(reading) : content.chunks(from, reading);
      } finally {
        reading.end();
      }
    }
    return { chunks: chunks(), stop: () => reading?.stop() };
  };
  const bytes = async ({ maxBytes = MAX_BYTES_DEFAULT, into }: BytesOptions = {}) => {
    assertAtMost(maxBytes, readLength, ": use stream()");
    if (into) return readInto(into);
    // The decoded length is only a claim until all is decoded: no memory is reserved for it.
    if (encoded) return joined(pass(range).chunks);
    const result = allocateResult(readLength);
    await during((reading) => content.copyTo(result, range, reading));
    return result;
  };
  const readInto = async (into: Uint8Array<ArrayBuffer>) => {
    if (into.length < readLength) {
      throw tooLong(readLength, `and into has room for ${into.length}: use stream()`);
    }
    const result = into.subarray(0, readLength);
    if (!encoded) {
      await during((reading) => content.copyTo(result, range, reading));
      return result;
    }
    let offset = 0;
    for await (const chunk of pass(range).chunks) {
      result.set(chunk, offset);
      offset += chunk.length;
    }
    return result;
  };

  const rangeFrom = ({ start = 0 }: StreamOptions): ByteRange => {
    if (start === 0) return range;
    if (encoded) throw usage("this content is compressed and can only be read from its start");
    if (!range.whole) throw usage("start cannot be combined with a range");
    return { ...checkedRange(root, { start }), whole: true };
  };
  const rangeWithin = (from: StreamOptions): ByteRange => {
    const rest = rangeFrom(from);
    // Neither more than a range nor, by the decoder, more than the decoded length is ever released.
    const length = encoded ? size : rest.end - rest.start;
    if (from.maxBytes !== undefined) assertAtMost(from.maxBytes, length);
    return rest;
  };

  return {
    address: root.address,
    size,
    metadata: root.metadata,
    stream: (from = {}) => {
      const { chunks, stop } = pass(rangeWithin(from));
      // Decoded chunks are not borrowed.
      const whole = (chunk: Uint8Array) => [chunk as Uint8Array<ArrayBuffer>];
      return streamOf(chunks, stop, encoded ? whole : copiesOf);
    },
    chunks: (from = {}) => pass(rangeWithin(from)).chunks,
    matchingPrefix: async (have) => {
      if (!range.whole) throw usage("matchingPrefix cannot be combined with a range");
      return encoded ? 0 : during((reading) => content.matchingPrefix(have, range, reading));
    },
    bytes,
    // A byte order mark is kept, because it is a character of the text.
    text: async (limits) =>
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(await bytes(limits)),
  };
}

/** @throws StorageError `usage` */
function checkedRange({ contentLength }: OpenedRoot, range: ContentRange | undefined): ByteRange {
  const { start = 0, end = Math.max(start, contentLength) } = range ?? {};
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || start > end) {
    throw usage("a range is two integers with 0 <= start <= end");
  }
  if (end > contentLength) {
    const fault = start > contentLength ? `starts at ${start}` : `ends at ${end}`;
    throw usage(`the range ${fault}, and the content has ${contentLength} bytes`);
  }
  return { start, end, whole: range === undefined };
}

/** @throws StorageError `usage` if the length exceeds `maxBytes`, or that is not a length */
export function assertAtMost(maxBytes: number, length: number, remedy = ""): void {
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 0) {
    throw usage("maxBytes must be an integer from 0 to 2^53-1");
  }
  if (length > maxBytes) throw tooLong(length, `more than maxBytes (${maxBytes})${remedy}`);
}

function tooLong(length: number, why: string): StorageError {
  return usage(`the content has ${length} bytes, ${why}`);
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return concatAll(all);
}

/** The runtime's own limit may be lower than `maxBytes`. */
function allocateResult(length: number): Uint8Array<ArrayBuffer> {
  try {
    return allocate(length);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw tooLong(length, "more than this runtime can hold in one array: use stream()");
  }
}

/**
 * Bytes per piece of a stream. Consumers keep what they are given, so each piece is a copy in fresh
 * memory; it is small enough that allocators reuse it soon, unlike a whole chunk.
 */
const PIECE_LENGTH = 64 * 1024;

/** Copies of a borrowed chunk, in pieces. */
function* copiesOf(borrowed: Uint8Array): Generator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < borrowed.length; start += PIECE_LENGTH) {
    // Not slice(), which for a Buffer returns a view.
    yield new Uint8Array(borrowed.subarray(start, start + PIECE_LENGTH));
  }
}

/**
 * A web stream that does not read ahead of its consumer. All pieces of a chunk are queued at once,
 * because a turn of the event loop for each would cost more than the copy.
 */
function streamOf(
  chunks: AsyncGenerator<Uint8Array>,
  stop: () => void,
  split: (chunk: Uint8Array) => Iterable<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        // The runtime does not call pull again if nothing was enqueued, so skip empty chunks.
        for (let queued = 0; queued === 0;) {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          for (const piece of split(value)) {
            controller.enqueue(piece);
            queued += 1;
          }
        }
      },
      async cancel() {
        // First, because the generator returns only after what it awaits has ended.
        stop();
        await chunks.return(undefined).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}
