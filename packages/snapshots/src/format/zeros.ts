import { PIECE_MAX } from "./limits.ts";

let zeros: Uint8Array | undefined;

/**
 * A view of zeros that all callers share: do not write to it or transfer it.
 *
 * @param length at most PIECE_MAX
 */
export function zeroBytes(length: number): Uint8Array {
  if (length > PIECE_MAX) throw new RangeError(`${length} zeros are more than PIECE_MAX`);
  // Made when it is needed, because most commands need none.
  zeros ??= new Uint8Array(PIECE_MAX);
  return zeros.subarray(0, length);
}
