import { PIECE_MAX } from "./limits.ts";

let all: Uint8Array | undefined;

/**
 * Zeros, in the same memory at each call.
 *
 * @param length at most PIECE_MAX
 */
export function zeroBytes(length: number): Uint8Array {
  // Made when it is needed, because most commands need none.
  all ??= new Uint8Array(PIECE_MAX);
  return all.subarray(0, length);
}
