import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Returns uniformly distributed numbers in [0, 1). */
export type Random = () => number;

/** @param seed a 32-bit integer; equal seeds give equal numbers on every machine */
export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
}
