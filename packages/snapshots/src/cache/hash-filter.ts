/** Bits of a hash that are looked at: 2 MiB in all. */
const BITS = 24;

/**
 * Says of most hashes that were never added that they were not. In a first backup no piece is known, and
 * asking the database for each would take as long as everything else that it does.
 */
export class HashFilter {
  readonly #bits = new Uint32Array(2 ** (BITS - 5));

  add(hash: Uint8Array): void {
    const at = bitOf(hash);
    this.#bits[at >>> 5]! |= 1 << (at & 31);
  }

  mayHave(hash: Uint8Array): boolean {
    const at = bitOf(hash);
    return (this.#bits[at >>> 5]! & (1 << (at & 31))) !== 0;
  }
}

function bitOf(hash: Uint8Array): number {
  return (hash[0]! << 16) | (hash[1]! << 8) | hash[2]!;
}
