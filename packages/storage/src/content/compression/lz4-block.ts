import { StorageError } from "../../errors.ts";

/** A match copies at least this many bytes; the length in a sequence counts from it. */
const MATCH_MIN = 4;

/** A length of four bits with all bits set continues in the bytes that follow. */
const LENGTH_CONTINUES = 15;

/** From this many bytes on, the runtime's copy is faster than a loop (measured). */
const LONG_COPY = 32;

/**
 * Decodes one block (LZ4 Block Format Description, 2022-07-31) into `output`, starting at `start`.
 * Bytes before `start` are history that matches may refer to; nothing else is ever read.
 *
 * This is our own because the block decoders available in JavaScript trust their input: they copy
 * matches from before the output, read past the end of the block, and keep counting when the output
 * is full. Here each length is checked against the space left before anything is copied.
 *
 * @param end the offset that decoded bytes must not pass
 * @returns the offset after the last decoded byte, or undefined if it would pass `end`
 * @throws StorageError `encoding`
 */
export function decodeBlock(
  block: Uint8Array,
  output: Uint8Array,
  start: number,
  end: number,
): number | undefined {
  let from = 0;
  let to = start;
  for (;;) {
    if (from >= block.length) throw corrupt("it does not end in literals");
    const token = block[from++]!;

    // At most 255 per byte of a block of at most 4 MiB, so sums stay below 2^31.
    let literals = token >>> 4;
    if (literals === LENGTH_CONTINUES) {
      let more: number;
      do {
        if (from >= block.length) throw corrupt("it ends within a length");
        more = block[from++]!;
        literals += more;
      } while (more === 255);
    }
    if (literals > block.length - from) throw corrupt("it ends within its literals");
    if (literals > end - to) return undefined;
    if (literals < LONG_COPY) {
      for (const stop = to + literals; to < stop;) output[to++] = block[from++]!;
    } else {
      output.set(block.subarray(from, from + literals), to);
      from += literals;
      to += literals;
    }
    // The last sequence of a block has no match.
    if (from === block.length) return to;

    if (block.length - from < 2) throw corrupt("it ends within an offset");
    const offset = block[from]! | (block[from + 1]! << 8);
    from += 2;
    if (offset === 0) throw corrupt("it has a match with offset 0");
    if (offset > to) throw corrupt("it has a match that starts before its history");

    let length = (token & 15) + MATCH_MIN;
    if ((token & 15) === LENGTH_CONTINUES) {
      let more: number;
      do {
        if (from >= block.length) throw corrupt("it ends within a length");
        more = block[from++]!;
        length += more;
      } while (more === 255);
    }
    if (length > end - to) return undefined;
    to = copyMatch(output, to, offset, length);
  }
}

/** Repeats bytes of the output; the match may overlap the bytes it writes. */
function copyMatch(output: Uint8Array, to: number, offset: number, length: number): number {
  const stop = to + length;
  if (length < LONG_COPY) {
    for (let from = to - offset; to < stop;) output[to++] = output[from++]!;
    return stop;
  }
  // Copies whole periods: each copy doubles the bytes available for the next.
  const origin = to - offset;
  while (to < stop) {
    const ready = Math.min(to - origin, stop - to);
    output.copyWithin(to, origin, origin + ready);
    to += ready;
  }
  return stop;
}

function corrupt(detail: string): StorageError {
  return new StorageError("encoding", `a block of the content's LZ4 frame is corrupt: ${detail}`);
}
