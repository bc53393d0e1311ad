/**
 * A set of addresses in 12 bytes each and some room: their first 96 bits. Two addresses that agree in them
 * count as one; among a thousand million addresses, that happens once in 10^11 sets.
 */
export interface AddressSet {
  /** @returns whether it is new */
  add(address: string): boolean;
  has(address: string): boolean;
  readonly size: number;
}

const INITIAL = 1024;
/** The share of slots in use at which the table doubles. */
const FULL = 0.75;
/** Numbers of 32 bits in a slot. */
const WORDS = 3;
const DIGITS = 8;

type Bits = readonly [number, number, number];

export function createAddressSet(): AddressSet {
  let slots = INITIAL;
  let table = new Uint32Array(WORDS * slots);
  let size = 0;
  // A slot of zeros is free; the address that begins with 96 zero bits is kept apart.
  let hasZero = false;

  const isFree = (slot: number): boolean =>
    table[slot] === 0 && table[slot + 1] === 0 && table[slot + 2] === 0;
  /** The place in the table that has these bits, or the free one for them. */
  const find = ([first, second, third]: Bits): number => {
    let slot = first & (slots - 1);
    for (;;) {
      const at = WORDS * slot;
      if (table[at] === first && table[at + 1] === second && table[at + 2] === third) return at;
      if (isFree(at)) return at;
      slot = (slot + 1) & (slots - 1);
    }
  };
  const grow = (): void => {
    const old = table;
    slots *= 2;
    table = new Uint32Array(WORDS * slots);
    for (let at = 0; at < old.length; at += WORDS) {
      const bits: Bits = [old[at]!, old[at + 1]!, old[at + 2]!];
      if (!isZero(bits)) table.set(bits, find(bits));
    }
  };

  return {
    get size() {
      return size;
    },
    has(address) {
      const bits = bitsOf(address);
      return isZero(bits) ? hasZero : !isFree(find(bits));
    },
    add(address) {
      const bits = bitsOf(address);
      if (isZero(bits)) {
        if (hasZero) return false;
        hasZero = true;
      } else {
        const at = find(bits);
        if (!isFree(at)) return false;
        table.set(bits, at);
      }
      size += 1;
      if (size > slots * FULL) grow();
      return true;
    },
  };
}

function bitsOf(address: string): Bits {
  const word = (index: number): number =>
    Number.parseInt(address.slice(DIGITS * index, DIGITS * (index + 1)), 16);
  return [word(0), word(1), word(2)];
}

function isZero([first, second, third]: Bits): boolean {
  return first === 0 && second === 0 && third === 0;
}
