import type { GetOptions, StoredBlob } from "./store.ts";
import { type OpenedRoot, readRoot } from "./read-root.ts";
import { type StoreContext, concurrencyOf, linkedAbort } from "./context.ts";
import { throwIfAborted, usage } from "../errors.ts";
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
  throwIfAborted(options.signal);
  const concurrency = concurrencyOf(context.defaults, options.concurrency);
  const root = await readRoot(context, address, options);
  const decoder = contentDecoder(root.metadata);
  if (decoder && options.range) {
    throw usage("this content is stored encoded, and an encoding can only be read as a whole");
  }
  const range = checkedRange(root, options.range);
  const reading = { ...options, concurrency };
  const size = decoder?.length ?? root.contentLength;
  const readLength = decoder ? size : range.end - range.start;

  const pieces = () => {
    const stored = readPieces(context, root, range, reading);
    return decoder ? decoder.decode(stored) : stored;
  };
  const bytes = async ({ maxBytes = MAX_BYTES_DEFAULT } = {}) => {
    if (readLength > maxBytes) {
      throw usage(
        `the content has ${readLength} bytes, more than maxBytes (${maxBytes}): use stream()`,
      );
    }
    // What encoded content decodes to is a claim until it is decoded: no memory is reserved for it.
    return decoder ? joined(pieces()) : readBytes(context, root, range, reading);
  };

  return {
    address: root.address,
    size,
    metadata: root.metadata,
    stream: () => toStream(pieces()),
    bytes,
    text: async (limits) => new TextDecoder().decode(await bytes(limits)),
  };
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return concatAll(all);
}

const MAX_BYTES_DEFAULT = 2 ** 30;

/** Bytes of the content: start inclusive, end exclusive. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
  /** No range was asked for. */
  readonly whole: boolean;
}

interface Reading extends Pick<GetOptions, "signal" | "onProgress"> {
  readonly concurrency: number;
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
  { signal, concurrency, onProgress }: Reading,
  into?: (start: number, length: number) => Uint8Array<ArrayBuffer> | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { chunkSize } = root.shape;
  const linked = linkedAbort(signal);
  const leaves = readLeaves(context, root, leavesOf(root, range), {
    concurrency,
    signal: linked.signal,
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
    linked.stop();
  }
}

async function readBytes(
  context: StoreContext,
  root: OpenedRoot,
  range: ByteRange,
  reading: Reading,
): Promise<Uint8Array<ArrayBuffer>> {
  if (root.shape.counts.length === 0) {
    reading.onProgress?.({
      bytes: range.end - range.start,
      total: range.end - range.start,
      chunks: 0,
    });
    return new Uint8Array(root.body.subarray(range.start, range.end));
  }
  const result = allocate(range.end - range.start);
  // A leaf that lies whole within the range is opened straight into the result.
  const into = (start: number, length: number) =>
    start >= 0 && start + length <= result.length
      ? result.subarray(start, start + length)
      : undefined;
  let offset = 0;
  for await (const clipped of readClipped(context, root, range, reading, into)) {
    if (clipped.buffer !== result.buffer) result.set(clipped, offset);
    offset += clipped.length;
  }
  return result;
}

/**
 * What a stream hands out at once. Consumers keep what they are given, so it is a copy in fresh
 * memory; small enough that allocators use it again soon, which whole chunks are not.
 */
const PIECE_LENGTH = 64 * 1024;

async function* readPieces(
  context: StoreContext,
  root: OpenedRoot,
  range: ByteRange,
  reading: Reading,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (root.shape.counts.length === 0) {
    const content = await readBytes(context, root, range, reading);
    if (content.length > 0) yield content;
    return;
  }
  for await (const clipped of readClipped(context, root, range, reading)) {
    for (let start = 0; start < clipped.length; start += PIECE_LENGTH) {
      yield clipped.slice(start, start + PIECE_LENGTH);
    }
  }
}

/** A web stream that pulls, and never reads ahead of its consumer by itself. */
function toStream(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
