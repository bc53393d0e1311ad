import type { BytesOptions, GetOptions, StoredBlob } from "./store.ts";
import { type OpenedRoot, readRoot } from "./read-root.ts";
import { type StoreContext, assertOptions, concurrencyOf, linkedAbort } from "./context.ts";
import { type StorageError, throwIfAborted, usage } from "../errors.ts";
import { concatAll } from "../bytes.ts";
import { contentDecoder } from "../content/encoding.ts";
import { allocate } from "./buffers.ts";
import { type LeafRange, allLeaves } from "./walk.ts";
import { readLeaves } from "./read-leaves.ts";

/** Fetches and opens a root; see `Store.get`. */
export async function get(
  context: StoreContext,
  address: string,
  options: GetOptions,
): Promise<StoredBlob> {
  assertOptions(options);
  throwIfAborted(options.signal);
  const concurrency = concurrencyOf(context.defaults, options.concurrency);
  const root = await readRoot(context, address, options);
  const encoded = root.metadata["enc"] !== undefined;
  if (encoded && options.range) {
    throw usage("this content is stored encoded, and an encoding can only be read as a whole");
  }
  const range = checkedRange(root, options.range);
  const size = decodedLength(root);
  const readLength = encoded ? size : range.end - range.start;

  // A reading is one pass over the content, with a switch of its own.
  const read = (): Reading => {
    const { signal, stop } = linkedAbort(options.signal);
    return { signal, stop, concurrency, onProgress: options.onProgress };
  };
  // Decoding begins here and not before: what the metadata says can be looked at even where it is
  // nonsense.
  async function* decoded(reading: Reading): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const decoder = contentDecoder(root.metadata);
    if (decoder) yield* decoder.decode(readLent(context, root, range, reading));
  }
  const bytes = async ({ maxBytes = MAX_BYTES_DEFAULT, into }: BytesOptions = {}) => {
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 0) {
      throw usage("maxBytes must be an integer from 0 to 2^53-1");
    }
    if (readLength > maxBytes) throw tooLong(readLength, `more than maxBytes (${maxBytes})`);
    if (into) return readInto(into);
    // What encoded content decodes to is a claim until it is decoded: no memory is reserved for it.
    return encoded
      ? joined(decoded(read()))
      : readBytes(context, root, range, read(), allocateResult(readLength));
  };
  const readInto = async (into: Uint8Array<ArrayBuffer>) => {
    if (into.length < readLength) {
      throw tooLong(readLength, `and into has room for ${into.length}`);
    }
    const result = into.subarray(0, readLength);
    if (!encoded) return readBytes(context, root, range, read(), result);
    let offset = 0;
    for await (const piece of decoded(read())) {
      result.set(piece, offset);
      offset += piece.length;
    }
    return result;
  };

  return {
    address: root.address,
    size,
    metadata: root.metadata,
    stream: () => {
      const reading = read();
      return encoded
        ? toStream(decoded(reading), reading.stop, (piece) => [piece])
        : toStream(readLent(context, root, range, reading), reading.stop, copiesOf);
    },
    bytes,
    // A byte order mark is a character of the text like any other.
    text: async (limits) =>
      new TextDecoder("utf-8", { ignoreBOM: true }).decode(await bytes(limits)),
  };
}

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

/** One pass over the content. */
interface Reading {
  readonly concurrency: number;
  /** Fires when the caller's does, and when the reading is stopped. */
  readonly signal: AbortSignal;
  readonly stop: () => void;
  readonly onProgress: GetOptions["onProgress"];
}

/** Bytes of the content: start inclusive, end exclusive. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
  /** No range was asked for. */
  readonly whole: boolean;
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

/** The leaves that a range of the content touches; to read all of it is to check its padding too. */
function leavesOf({ shape }: OpenedRoot, { start, end, whole }: ByteRange): LeafRange {
  if (whole) return allLeaves(shape);
  if (start === end) return { first: 0, end: 0 };
  return {
    first: Math.floor(start / shape.chunkSize),
    end: Math.ceil(end / shape.chunkSize),
  };
}

/** Verified leaves of a range, clipped to it. Ends all work when it is left early. */
async function* readClipped(
  context: StoreContext,
  root: OpenedRoot,
  range: ByteRange,
  { signal, stop, concurrency, onProgress }: Reading,
  into?: (start: number, length: number) => Uint8Array<ArrayBuffer> | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { chunkSize } = root.shape;
  const leaves = readLeaves(context, root, leavesOf(root, range), {
    concurrency,
    signal,
    ...(into && { into: (index, length) => into(index * chunkSize - range.start, length) }),
  });
  const total = range.end - range.start;
  let bytes = 0;
  let chunks = 0;
  try {
    for await (const leaf of leaves) {
      const leafStart = leaf.index * chunkSize;
      const from = Math.max(0, range.start - leafStart);
      const clipped = leaf.content.subarray(from, range.end - leafStart);
      yield clipped;
      leaf.release();
      bytes += clipped.length;
      chunks += 1;
      onProgress?.({ bytes, total, chunks });
    }
  } finally {
    stop();
  }
}

async function readBytes(
  context: StoreContext,
  root: OpenedRoot,
  range: ByteRange,
  reading: Reading,
  result: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (root.shape.counts.length === 0) {
    result.set(inlineContent(root, range, reading));
    return result;
  }
  // A leaf that lies whole within the range is opened straight into the result.
  const into = (start: number, length: number) =>
    start >= 0 && start + length <= result.length
      ? result.subarray(start, start + length)
      : undefined;
  let offset = 0;
  for await (const clipped of readClipped(context, root, range, reading, into)) {
    if (!openedThere(clipped, result)) result.set(clipped, offset);
    offset += clipped.length;
  }
  return result;
}

/** Content that came with the root, as a view of what the handle keeps. */
function inlineContent(
  { body }: OpenedRoot,
  { start, end }: ByteRange,
  { signal, onProgress }: Reading,
): Uint8Array<ArrayBuffer> {
  throwIfAborted(signal);
  onProgress?.({ bytes: end - start, total: end - start, chunks: 0 });
  return body.subarray(start, end);
}

function openedThere(leaf: Uint8Array, result: Uint8Array): boolean {
  return leaf.buffer === result.buffer;
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

/** The content or its range; each piece is lent until the next is asked for. */
async function* readLent(
  context: StoreContext,
  root: OpenedRoot,
  range: ByteRange,
  reading: Reading,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (root.shape.counts.length > 0) {
    yield* readClipped(context, root, range, reading);
    return;
  }
  const content = inlineContent(root, range, reading);
  if (content.length > 0) yield content;
}

/**
 * What a stream hands out at once. Consumers keep what they are given, so it is a copy in fresh
 * memory; small enough that allocators use it again soon, which whole chunks are not.
 */
const PIECE_LENGTH = 64 * 1024;

function* copiesOf(lent: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < lent.length; start += PIECE_LENGTH) {
    // Not slice(), which of a Buffer is a view.
    yield new Uint8Array(lent.subarray(start, start + PIECE_LENGTH));
  }
}

/**
 * A web stream that pulls, and never reads ahead of its consumer by itself. All of a chunk is
 * queued at once: a turn of the event loop for each piece would cost more than the copy.
 */
function toStream(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  stop: () => void,
  handOut: (piece: Uint8Array<ArrayBuffer>) => Iterable<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        // A chunk of padding alone has nothing to hand out, and a pull without any is the last.
        for (let handedOut = 0; handedOut === 0;) {
          const { done, value } = await pieces.next();
          if (done) return controller.close();
          for (const piece of handOut(value)) {
            controller.enqueue(piece);
            handedOut += 1;
          }
        }
      },
      async cancel() {
        // First, because the generator only returns once what it waits for has ended.
        stop();
        await pieces.return(undefined).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}
