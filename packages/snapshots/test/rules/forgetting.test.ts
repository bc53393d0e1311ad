import { expect, test } from "bun:test";
import { type Forgetting, forgettingsInForce, isForgotten } from "../../src/rules/forgetting.ts";
import { type Marker, formatMarker } from "../../src/format/names/marker.ts";
import type { Address } from "@idk/storage";
import type { ChainId } from "../../src/format/names/identifiers.ts";
import type { ForgettingHead } from "../../src/format/records/head.ts";
import fc from "fast-check";

const marker = (generation: number, byte = "a"): Marker => ({
  chain: "0".repeat(32) as ChainId,
  generation,
  address: byte.repeat(64) as Address,
});

function forgetting(
  kind: ForgettingHead["kind"],
  generation: number,
  markers: readonly Marker[],
  mayName: (named: Marker) => boolean = () => true,
): Forgetting {
  return { marker: marker(generation), head: { kind, markers } as ForgettingHead, mayName };
}

const [x, y] = [marker(1), marker(2)];
const forgotten = (list: readonly Forgetting[], of: Marker, payloadOf = formatMarker) =>
  isForgotten(forgettingsInForce(list, payloadOf), payloadOf(of));

test("the newest that names a head is in force, in whatever order they are read", () => {
  const list = [
    forgetting("forget", 5, [x, y]),
    forgetting("unforget", 6, [x]),
    forgetting("forget", 4, [x]),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray(list, { minLength: 3 }), (shuffled) => {
      expect([forgotten(shuffled, x), forgotten(shuffled, y)]).toEqual([false, true]);
    }),
  );
  expect(forgotten([...list, forgetting("forget", 7, [x])], x)).toBe(true);
  expect(forgotten([], x)).toBe(false);
});

test("of one generation the first in order of names is in force", () => {
  const first = { ...forgetting("forget", 5, [x]), marker: marker(5, "a") };
  const second = { ...forgetting("unforget", 5, [x]), marker: marker(5, "b") };
  expect([forgotten([first, second], x), forgotten([second, first], x)]).toEqual([true, true]);
});

test("a head that it may not name is not affected", () => {
  const list = [forgetting("forget", 5, [x, y], (named) => named === y)];
  expect([forgotten(list, x), forgotten(list, y)]).toEqual([false, true]);
});

test("what names one address of a head names all, and nothing else of that generation", () => {
  const [other, different] = [marker(1, "b"), marker(1, "c")];
  const payloadOf = (named: Marker) => (named.address === different.address ? "p2" : "p1");
  const list = [forgetting("forget", 5, [x])];
  expect(forgotten(list, other, payloadOf)).toBe(true);
  expect(forgotten(list, different, payloadOf)).toBe(false);
  expect(forgotten(list, other)).toBe(false);
});
