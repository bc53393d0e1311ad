import { describe, expect, test } from "bun:test";
import {
  type EarlierReach,
  applyChange,
  changeBetween,
  extendReach,
  mergeChanges,
  packsInOrder,
  packsOf,
} from "../../src/format/records/reach.ts";
import {
  addressList,
  checkAddressList,
  countOf,
  difference,
  hasAddress,
  union,
} from "../../src/format/records/address-list.ts";
import type { Address } from "@idk/storage";
import { address, addresses } from "./arbitraries.ts";
import { answers, fails, fromHex, toHex } from "../support.ts";
import { decodeReach, encodeReach } from "../../src/format/records/reach.ts";
import fc from "fast-check";

const asSet = (list: Uint8Array) =>
  new Set(
    Array.from({ length: countOf(list) }, (_, i) => toHex(list.subarray(32 * i, 32 * i + 32))),
  );
const change = fc.record({ added: addresses, dropped: addresses });

test("the known reaches have the known packs", () => {
  const packs = packsOf(answers.reach.map(({ content }) => decodeReach(fromHex(content))));
  expect([...asSet(packs)]).toEqual([...answers.reach.at(-1)!.packs!]);
});

test("no reach before it is named twice", () => {
  const earlier = ["ab".repeat(32), "cd".repeat(32), "ab".repeat(32)] as Address[];
  const packs = { added: addressList([]), dropped: addressList([]) };
  expect(encodeReach({ ...packs, earlier: earlier.slice(1) }).length).toBeGreaterThan(64);
  fails(() => encodeReach({ ...packs, earlier }), "tree", "it names a reach before it twice");
});

describe("lists of addresses", () => {
  test("are joined and subtracted as sets are", () => {
    fc.assert(
      fc.property(addresses, addresses, (a, b) => {
        const [x, y] = [asSet(a), asSet(b)];
        expect(asSet(union(a, b))).toEqual(new Set([...x, ...y]));
        expect(asSet(difference(a, b))).toEqual(new Set([...x].filter((one) => !y.has(one))));
        for (const list of [union(a, b), difference(a, b)]) checkAddressList(list, "they");
        for (const one of x) expect(hasAddress(b, fromHex(one))).toBe(y.has(one));
      }),
      { numRuns: 500 },
    );
  });

  test("of a million are joined within seconds", () => {
    const many = (offset: number) => {
      const list = new Uint8Array(32 * 1_000_000);
      const view = new DataView(list.buffer);
      for (let i = 0; i < 1_000_000; i++) view.setUint32(32 * i, 2 * i + offset);
      return list;
    };
    const [even, odd] = [many(0), many(1)];
    const started = performance.now();
    expect(countOf(union(even, odd))).toBe(2_000_000);
    expect(countOf(difference(even, odd))).toBe(1_000_000);
    checkAddressList(even, "they");
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe("changes", () => {
  test("merged do what both do", () => {
    fc.assert(
      fc.property(addresses, change, change, (packs, a, b) => {
        const both = applyChange(applyChange(packs, a), b);
        expect(toHex(applyChange(packs, mergeChanges(a, b, false)))).toBe(toHex(both));
        const fromNone = applyChange(applyChange(addressList([]), a), b);
        const merged = mergeChanges(a, b, true);
        expect(toHex(applyChange(addressList([]), merged))).toBe(toHex(fromNone));
        expect(merged.dropped.length).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test("are walked in order, with the same packs", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 5 }), (changes) => {
        const walked = [...packsInOrder(changes)];
        expect(toHex(Buffer.concat(walked))).toBe(toHex(packsOf(changes)));
      }),
      { numRuns: 1000 },
    );
  });

  test("between two sets lead from one to the other", () => {
    fc.assert(
      fc.property(addresses, addresses, (a, b) => {
        expect(toHex(applyChange(a, changeBetween(a, b)))).toBe(toHex(b));
      }),
    );
  });
});

describe("a chain of reaches", () => {
  /** Sessions one after the other, each with packs of its own. */
  function sessions(states: readonly Uint8Array[]): { written: number; longest: number } {
    const stored = new Map<string, EarlierReach>();
    let earlier: EarlierReach[] = [];
    let [written, longest] = [0, 0];
    for (const [i, state] of states.entries()) {
      const reach = extendReach(earlier, state);
      const own = { ...reach, address: `${i}` as Address };
      earlier = [...reach.earlier.map((parent) => stored.get(parent)!), own];
      stored.set(own.address, own);
      expect(toHex(packsOf(earlier))).toBe(toHex(state));
      expect(reach.earlier.length).toBeLessThanOrEqual(32);
      const listed = earlier.map(({ added, dropped }) => countOf(added) + countOf(dropped));
      expect(listed.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(2 * countOf(state));
      written += listed.at(-1)!;
      longest = Math.max(longest, reach.earlier.length);
    }
    return { written, longest };
  }

  test("leads to the packs of each session", () => {
    fc.assert(
      fc.property(fc.array(addresses, { maxLength: 40 }), (states) => void sessions(states)),
    );
  });

  test("stays short, and what is written stays near what changed", () => {
    const all = fc.sample(address, { numRuns: 600, seed: 1 });
    const growing = Array.from({ length: 200 }, (_, i) => addressList(all.slice(0, 3 * (i + 1))));
    const { written, longest } = sessions(growing);
    expect(longest).toBeLessThan(10);
    expect(written).toBeLessThan(600 * 9);
    // Also while it shrinks again.
    const shrinking = sessions([...growing, ...growing.toReversed()]);
    expect(shrinking.longest).toBeLessThan(10);
    expect(shrinking.written).toBeLessThan(2 * 600 * 9);
    // To nothing, twice, and from there.
    sessions([...growing.toReversed(), addressList([]), addressList([]), growing[5]!]);
    // Nothing changes in most sessions.
    expect(sessions(Array.from({ length: 100 }, () => growing[0]!)).longest).toBeLessThanOrEqual(1);
  });
});
