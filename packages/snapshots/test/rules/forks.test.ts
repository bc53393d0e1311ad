import { expect, test } from "bun:test";
import { forksOf } from "../../src/rules/forks.ts";
import type { StoredHead } from "../../src/rules/counting.ts";

/** A head by its number, which is its generation, and the numbers of those before it. */
function head(number: number, before: readonly number[]): StoredHead {
  return {
    marker: { address: String(number) },
    payloadHash: String(number),
    head: { generation: number, previous: before.map(String) },
  } as unknown as StoredHead;
}

/** Who knows of whom, by going through all heads between. */
function apartIn(before: ReadonlyMap<number, readonly number[]>, joined: number): number[] {
  const behind = (number: number): Set<number> => {
    const found = new Set<number>(before.get(number));
    for (const each of before.get(number)!) for (const more of behind(each)) found.add(more);
    return found;
  };
  const parents = before.get(joined)!;
  return parents.filter((parent) => !parents.some((other) => behind(other).has(parent)));
}

test("the heads of a joined fork are those before it that no other of them comes after", () => {
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let round = 0; round < 200; round++) {
    const before = new Map<number, number[]>([[1, []]]);
    for (let number = 2; number <= 12; number++) {
      const some = Array.from({ length: 1 + random(3) }, () => 1 + random(number - 1));
      before.set(number, [...new Set(some)]);
    }
    const chain = [...before].map(([number, parents]) => head(number, parents)).toReversed();
    const found = new Map<number, number[]>();
    for (const { heads, joinedBy } of forksOf(chain)) {
      if (joinedBy === undefined) continue;
      found.set(
        joinedBy.head.generation,
        heads.map((each) => each.head.generation),
      );
    }
    for (const number of before.keys()) {
      const apart = apartIn(before, number).toSorted((a, b) => b - a);
      expect(found.get(number) ?? []).toEqual(apart.length < 2 ? [] : apart);
    }
  }
});

test("of a chain that was made to take long, heads that come after others are left in", () => {
  // Each of many heads joins an old one with the top of a long row.
  const [row, joins] = [500, 200];
  const chain = [
    head(1, []),
    head(2, []),
    ...Array.from({ length: row }, (_, i) => head(3 + i, [2 + i])),
    ...Array.from({ length: joins }, (_, i) => head(3 + row + i, [1, 2, 2 + row])),
  ].toReversed();
  const joined = (stepsMax?: number) =>
    forksOf(chain, stepsMax)
      .filter(({ joinedBy }) => joinedBy !== undefined)
      .map(({ heads }) => heads.map((each) => each.head.generation));
  expect(joined()).toEqual(Array(joins).fill([2 + row, 1]));
  const limited = joined(2 * row);
  expect(limited[0]).toEqual([2 + row, 1]);
  expect(limited.at(-1)).toEqual([2 + row, 2, 1]);
});
