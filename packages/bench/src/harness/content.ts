import type { Random } from "../statistics/random.ts";

/** Bytes that no codec makes shorter, the same for the same random numbers. */
export function noise(length: number, random: Random): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4));
  // A generator of 32 bits by itself (Marsaglia's xorshift), because a number of 53 bits for each
  // byte takes longer than what is measured with them.
  let state = Math.floor(random() * 0xff_ff_ff_ff) + 1;
  for (let i = 0; i < words.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, length);
}
