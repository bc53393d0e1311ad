import type { Address } from "../../content/address.ts";
import type { Metadata } from "../../format/metadata.ts";
import type { ReadAt } from "./content-reader.ts";

/**
 * A verified and opened root. It can be read any number of times, and each reading fetches what it
 * reads; only content of up to 1 MiB has come with the root, for one reading of it.
 */
export interface StoredBlob {
  readonly address: Address;
  /** Bytes of content, decoded and whole, whatever range was asked for. */
  readonly size: number;
  readonly metadata: Metadata;
  /**
   * The content, or its range, as a web stream. Every chunk is verified before any byte of it is
   * released; on a fault the stream errors after the last good chunk. Cancelling it ends all work,
   * requests in flight included.
   */
  stream(options?: StreamOptions): ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The same in the pieces that it was opened in, whole chunks for the most part, and without a
   * copy: each is lent until the next is asked for, and is then overwritten. For who writes them on
   * at once, and waits for that. Leaving the loop early ends all work.
   */
  chunks(options?: StreamOptions): AsyncIterable<Uint8Array>;
  /**
   * The content in one array, all of it verified.
   *
   * @throws StorageError `usage` where the content is longer than the options allow
   */
  bytes(options?: BytesOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** The content as UTF-8 text; ill-formed sequences become U+FFFD, a byte order mark stays. */
  text(options?: BytesOptions): Promise<string>;
  /**
   * How many leading bytes of the content the caller has already, such as from a download that broke
   * off: whole chunks, each sealed again and compared by its address, so that an equal byte count
   * alone proves nothing and no content is fetched. `stream` continues from there.
   *
   * Encoded content cannot be continued: for it the answer is 0.
   *
   * @returns a multiple of the chunk size, or the content's length; 0 where nothing matches
   * @throws StorageError `usage` where the blob was asked for with a range; what fetching nodes throws
   */
  matchingPrefix(have: ReadAt): Promise<number>;
}

export interface StreamOptions {
  /**
   * The first byte to hand out, at most the content's length, by default 0. Not for encoded content,
   * nor together with a range.
   */
  readonly start?: number | undefined;
}

export interface BytesOptions {
  /** Refuse more than this, before fetching; by default 1 GiB. */
  readonly maxBytes?: number | undefined;
  /**
   * Memory of the caller's to put the content into, which is then the result's. Worth it for large
   * content again and again: memory that has been used before costs no first touch. After a
   * failure it may hold some of the chunks, all of them verified.
   */
  readonly into?: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * What a stream hands out at once. Consumers keep what they are given, so it is a copy in fresh
 * memory; small enough that allocators use it again soon, which whole chunks are not.
 */
const PIECE_LENGTH = 64 * 1024;

/** Copies of what is only lent, in pieces. */
export function* copiesOf(lent: Uint8Array): Generator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < lent.length; start += PIECE_LENGTH) {
    // Not slice(), which of a Buffer is a view.
    yield new Uint8Array(lent.subarray(start, start + PIECE_LENGTH));
  }
}

/**
 * A web stream that pulls, and never reads ahead of its consumer by itself. All of a chunk is
 * queued at once: a turn of the event loop for each piece would cost more than the copy.
 */
export function pieceStream<Piece extends Uint8Array>(
  pieces: AsyncGenerator<Piece>,
  stop: () => void,
  handOut: (piece: Piece) => Iterable<Uint8Array<ArrayBuffer>>,
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
