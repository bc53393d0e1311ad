/**
 * A set of addresses in 8 bytes each and some room: their first 64 bits. Two addresses that agree in them
 * count as one, so ask it only where "it is there" is the harmless answer.
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
const DIGITS = 8;

export function createAddressSet(): AddressSet {
  let slots = INITIAL;
  let high = new Uint32Array(slots);
  let low = new Uint32Array(slots);
  let size = 0;
  // A slot of two zeros is free; the address that begins with 64 zero bits is kept apart.
  let hasZero = false;

  /** The slot that has these bits, or the free one for them. */
  const find = (first: number, second: number): number => {
    let slot = first & (slots - 1);
    while (
      (high[slot] !== 0 || low[slot] !== 0) &&
      (high[slot] !== first || low[slot] !== second)
    ) {
      slot = (slot + 1) & (slots - 1);
    }
    return slot;
  };
  const grow = (): void => {
    const [oldHigh, oldLow] = [high, low];
    slots *= 2;
    high = new Uint32Array(slots);
    low = new Uint32Array(slots);
    for (let i = 0; i < oldHigh.length; i++) {
      const [first, second] = [oldHigh[i]!, oldLow[i]!];
      if (first === 0 && second === 0) continue;
      const slot = find(first, second);
      high[slot] = first;
      low[slot] = second;
    }
  };
  const bitsOf = (address: string): readonly [number, number] => [
    Number.parseInt(address.slice(0, DIGITS), 16),
    Number.parseInt(address.slice(DIGITS, 2 * DIGITS), 16),
  ];

  return {
    get size() {
      return size;
    },
    has(address) {
      const [first, second] = bitsOf(address);
      if (first === 0 && second === 0) return hasZero;
      const slot = find(first, second);
      return high[slot] !== 0 || low[slot] !== 0;
    },
    add(address) {
      const [first, second] = bitsOf(address);
      if (first === 0 && second === 0) {
        if (hasZero) return false;
        hasZero = true;
        size += 1;
        return true;
      }
      const slot = find(first, second);
      if (high[slot] !== 0 || low[slot] !== 0) return false;
      high[slot] = first;
      low[slot] = second;
      size += 1;
      if (size > slots * FULL) grow();
      return true;
    },
  };
}
