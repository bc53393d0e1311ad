/** Choices that follow from one seed. */
export interface Random {
  /** From 0 up to 1, without 1. */
  unit(): number;
  /** An integer from 0 to max, both included. */
  upTo(max: number): number;
  /** True once in `n` times. */
  oneIn(n: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Mulberry32. @param seed a 32-bit integer */
export function randomFrom(seed: number): Random {
  let state = seed | 0;
  const unit = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const upTo = (max: number) => Math.floor(unit() * (max + 1));
  return {
    unit,
    upTo,
    oneIn: (n) => upTo(n - 1) === 0,
    pick: (items) => items[upTo(items.length - 1)]!,
  };
}
