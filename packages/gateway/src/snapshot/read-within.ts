import type { Budget, Share } from "../objects/memory/budget.ts";
import type { ByteRange, ReadOptions } from "../objects/objects.ts";

/** Bytes of a piece that a caller gets. */
const PIECE_LENGTH = 64 * 1024;
/** What a read of a snapshot's file takes at most: packs of 4 MiB, the one at hand and those ahead. */
const PACK_LENGTH = 4 * 2 ** 20;
const PACKS = 5;

/**
 * Reads within a budget: nothing is fetched before there is memory, and it is given back while the client
 * stalls and others wait. Reading goes on from there once there is memory again.
 *
 * @param open begins to read at a position; its pieces may be of any length
 */
export async function* readWithin(
  budget: Budget,
  open: (start: number) => AsyncIterable<Uint8Array>,
  { start, end }: ByteRange,
  { signal, memoryWaitMs }: ReadOptions = {},
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let position = start; position < end;) {
    const isAgain = position > start;
    const share = await budget.acquire(needOf(end - position), {
      isAgain,
      signal,
      // Once bytes were released, a failure would only tear the answer.
      limitMs: isAgain ? undefined : memoryWaitMs,
    });
    const turn = takeTurn(share, open(position));
    try {
      for (;;) {
        const piece = await turn.next();
        if (piece === undefined) break;
        position += piece.length;
        share.idle();
        yield piece;
        share.busy();
      }
    } finally {
      await turn.end();
    }
    if (turn.hasEnded() && position < end) throw new Error("the file is shorter than announced");
  }
}

function needOf(length: number): { readonly least: number; readonly most: number } {
  // The first and the last pack of a range are read whole.
  const packs = Math.min(PACKS, Math.ceil(length / PACK_LENGTH) + 1);
  return { least: packs * PACK_LENGTH, most: packs * PACK_LENGTH };
}

interface Turn {
  /** The next piece, in memory of its own; undefined at the end, or once the share is over. */
  next(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  hasEnded(): boolean;
  /** Ends all work, and gives the share back. */
  end(): Promise<void>;
}

function takeTurn(share: Share, content: AsyncIterable<Uint8Array>): Turn {
  let iterator: AsyncIterator<Uint8Array> | undefined = content[Symbol.asyncIterator]();
  let held: Uint8Array | undefined;
  let at = 0;
  let ended = false;
  let ending: Promise<void> | undefined;
  const end = (): Promise<void> => {
    // Neither may stay alive in the caller's generator while its client stalls.
    const left = iterator;
    iterator = held = undefined;
    const stopped = Promise.resolve(left?.return?.()).then(() => undefined);
    ending ??= stopped.finally(() => share.release());
    return ending;
  };
  // The share is idle only while the caller has a piece, so nothing waits for content now.
  share.onStall(() => {
    end().catch(() => {});
  });
  return {
    end,
    hasEnded: () => ended,
    async next() {
      while (held === undefined || at === held.length) {
        if (iterator === undefined || share.isOver()) return undefined;
        const { done, value } = await iterator.next();
        if (done === true) {
          ended = true;
          return undefined;
        }
        held = value;
        at = 0;
      }
      const piece = new Uint8Array(held.subarray(at, at + PIECE_LENGTH));
      at += piece.length;
      return piece;
    },
  };
}
