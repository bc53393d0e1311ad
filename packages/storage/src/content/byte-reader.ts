import { untilAborted } from "../abort.ts";
import { usage } from "../errors.ts";
import { typeName, utf8 } from "../bytes.ts";

/**
 * What can be stored. Text is stored as UTF-8. A stream may have any length, known or unknown, and
 * pieces of any size. Content in memory must not change until the call settles.
 */
export type Content =
  | string
  | Uint8Array
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/** Reads content forward, in portions that the consumer chooses. */
export interface ByteReader {
  /** The length, if known in advance. A hint: never relied on. */
  readonly total: number | undefined;
  /** How many bytes of the caller's content were taken so far, before compression. */
  position(): number;
  /** Reads ahead to at least `length` bytes or the end, and returns the number of bytes available. */
  lookAhead(length: number): Promise<number>;
  /** Up to `length` bytes that were read ahead, without taking them. A view, valid until the next call. */
  peek(length: number): Uint8Array;
  /**
   * The next `length` bytes as a view, if they are available in one piece, which they are after
   * `lookAhead`. For content in memory it is a view of the caller's memory.
   */
  take(length: number): Uint8Array | undefined;
  /** Fills `into`, or as much of it as there is content, and returns the number of bytes. */
  fill(into: Uint8Array): Promise<number>;
  /** Ends the content's stream early, without waiting for it. */
  cancel(): void;
}

/**
 * Creates a reader of content.
 *
 * @throws StorageError `usage` if the type is not supported
 */
export function byteReader(content: Content, signal?: AbortSignal): ByteReader {
  if (typeof content === "string") {
    if (content.isWellFormed()) return inMemory(utf8(content));
    throw usage("text with lone surrogates cannot be encoded as UTF-8: store it as bytes");
  }
  if (content instanceof Uint8Array) return inMemory(content);
  if (content instanceof Blob) return streaming(iterate(content.stream()), content.size, signal);
  if (content instanceof ReadableStream) return streaming(iterate(content), undefined, signal);
  if (isAsyncIterable(content)) {
    return streaming(content[Symbol.asyncIterator](), undefined, signal);
  }
  throw usage(
    `content must be text, a Uint8Array, a Blob, a ReadableStream or an AsyncIterable of Uint8Array, got ${typeName(content)}`,
  );
}

function inMemory(bytes: Uint8Array): ByteReader {
  const total = bytes.length;
  let offset = 0;
  const left = (): number => {
    if (bytes.length === total) return total - offset;
    throw usage(
      "the content changed its length while it was read: do not change it during the call",
    );
  };
  const next = (length: number) => bytes.subarray(offset, (offset += length));
  return {
    total,
    position: () => offset,
    lookAhead: async () => left(),
    peek: (length) => bytes.subarray(offset, offset + Math.min(length, left())),
    take: (length) => (left() >= length ? next(length) : undefined),
    async fill(into) {
      const length = Math.min(into.length, left());
      into.set(next(length));
      return length;
    },
    cancel() {},
  };
}

/**
 * Pieces pulled before the event loop gets a turn. Otherwise a stream that always has data would
 * keep timers, and with them signals, from ever running.
 */
const PULLS_IN_A_ROW = 1024;

function streaming(
  iterator: AsyncIterator<unknown>,
  total: number | undefined,
  signal: AbortSignal | undefined,
): ByteReader {
  const ahead = createByteQueue();
  let ended = false;
  let pulls = 0;
  let position = 0;

  const pull = async (): Promise<Uint8Array | undefined> => {
    while (!ended) {
      if (++pulls % PULLS_IN_A_ROW === 0) await new Promise((resolve) => setTimeout(resolve));
      const { done, value } = await untilAborted(Promise.resolve(iterator.next()), signal);
      if (done) ended = true;
      else if (!(value instanceof Uint8Array)) {
        throw usage(`content streams must yield Uint8Array, this one yielded ${typeName(value)}`);
      } else if (value.length > 0) return value;
    }
    return undefined;
  };

  return {
    total,
    position: () => position,
    peek: (length) => ahead.peek(length),
    async lookAhead(length) {
      while (ahead.length() < length) {
        const piece = await pull();
        if (piece === undefined) break;
        ahead.add(piece, length);
      }
      return ahead.length();
    },
    take(length) {
      if (ahead.length() < length) return undefined;
      position += length;
      return ahead.take(length);
    },
    async fill(into) {
      let filled = ahead.moveTo(into);
      while (filled < into.length) {
        const piece = await pull();
        if (piece === undefined) break;
        const used = Math.min(piece.length, into.length - filled);
        into.set(piece.subarray(0, used), filled);
        filled += used;
        if (used < piece.length) ahead.add(piece.subarray(used), 0);
      }
      position += filled;
      return filled;
    },
    cancel() {
      if (ended) return;
      ended = true;
      // Not awaited: the stream may never respond. An error from it comes too late to matter.
      const end = async () => iterator.return?.();
      end().catch(() => {});
    },
  };
}

/** Bytes read but not yet taken, in memory of their own, because a stream may reuse its buffer. */
interface ByteQueue {
  length(): number;
  /**
   * Copies a piece to the end.
   *
   * @param wanted bytes that it may have before some are taken
   */
  add(piece: Uint8Array, wanted: number): void;
  /** A view of up to `length` bytes at the start. */
  peek(length: number): Uint8Array;
  /** The next `length` bytes, at most those available, as a view that is never overwritten. */
  take(length: number): Uint8Array;
  /** Moves as many bytes as fit into `into`, and returns the number. */
  moveTo(into: Uint8Array): number;
}

/** Bytes up to which a stream is likely to end soon. */
const SHORT = 64 * 1024;

function createByteQueue(): ByteQueue {
  let buffer = new Uint8Array(0);
  let start = 0;
  let end = 0;
  const take = (length: number): Uint8Array => {
    const view = buffer.subarray(start, (start += length));
    if (start === end) {
      buffer = new Uint8Array(0);
      start = 0;
      end = 0;
    }
    return view;
  };
  return {
    length: () => end - start,
    add(piece, wanted) {
      if (end + piece.length > buffer.length) {
        const held = end - start;
        // Doubling, so that a stream of single bytes costs no more than one of large pieces. A stream that is
        // not short gets all that is wanted at once, because the copies and the fresh memory cost more.
        const least = held < SHORT ? 0 : wanted;
        const grown = new Uint8Array(Math.max(2 * held, Math.max(held, least) + piece.length));
        grown.set(buffer.subarray(start, end));
        buffer = grown;
        end -= start;
        start = 0;
      }
      buffer.set(piece, end);
      end += piece.length;
    },
    peek: (length) => buffer.subarray(start, Math.min(start + length, end)),
    take,
    moveTo(into) {
      const length = Math.min(into.length, end - start);
      into.set(take(length));
      return length;
    },
  };
}

/** A web stream as an iterator; not every runtime's streams are iterable. */
function iterate(stream: ReadableStream<Uint8Array>): AsyncIterator<unknown> {
  if (stream.locked) throw usage("the content's stream is already being read");
  const reader = stream.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    async return() {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
