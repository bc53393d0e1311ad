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
