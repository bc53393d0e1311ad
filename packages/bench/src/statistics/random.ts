import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** Numbers from 0 up to, and without, 1, each as likely as another. */
export type Random = () => number;

/**
 * The same numbers for the same seed, on every machine.
 *
 * @param seed an integer of 32 bits
 */
export function seededRandom(seed: number): Random {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
}
