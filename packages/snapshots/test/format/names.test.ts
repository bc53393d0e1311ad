import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Address } from "@idk/storage";
import type { ChainId, RepositoryId } from "../../src/format/names/identifiers.ts";
import { answers, toHex } from "../support.ts";
import { chainOf, faultOfChainName, isChainName } from "../../src/format/names/chain.ts";
import {
  compareMarkers,
  decodeMarker,
  encodeMarker,
  formatMarker,
  invertedGeneration,
  newestMarkersFrom,
  nextGeneration,
  parseMarker,
} from "../../src/format/names/marker.ts";
import { marker } from "./arbitraries.ts";
import { matchesPattern } from "../../src/format/names/pattern.ts";

describe("chains", () => {
  test.each(answers.chains.of.map(({ name, chain }) => [name, chain] as const))(
    "the chain of %j",
    (name, chain) => {
      expect(chainOf(answers.chains.r as RepositoryId, name) as string).toBe(chain);
    },
  );

  test("names have limits", () => {
    for (const name of ["a", "a/b", "büro", " ", "a".repeat(255), "é".repeat(127), "~", "\u00a0"]) {
      expect([name, faultOfChainName(name)]).toEqual([name, undefined]);
    }
    const wrong = [
      "",
      ".",
      ".a",
      "a\0",
      "a\n",
      "\u007f",
      "a\u009f",
      "a".repeat(256),
      "é".repeat(128),
      "\ud800",
    ];
    for (const name of wrong)
      expect([name, typeof faultOfChainName(name)]).toEqual([name, "string"]);
    expect(["", "."].map(isChainName)).toEqual([true, true]);
    expect(["..", ".a"].map(isChainName)).toEqual([false, false]);
  });
});

describe("markers", () => {
  test("have the known names", () => {
    for (const vector of answers.head) {
      const parsed = parseMarker(vector.marker);
      if (parsed === undefined) throw new Error(`${vector.marker} is a marker`);
      expect(formatMarker(parsed)).toBe(vector.marker);
      expect(toHex(encodeMarker(parsed))).toBe(vector.inO);
      expect(parsed.address as string).toBe(vector.address);
    }
  });

  test("survive text and bytes", () => {
    fc.assert(
      fc.property(marker, (value) => {
        expect(parseMarker(formatMarker(value))).toEqual(value);
        expect(decodeMarker(encodeMarker(value))).toEqual(value);
      }),
    );
  });

  test("are ordered by name as by generation, newest first", () => {
    fc.assert(
      fc.property(marker, marker, (a, b) => {
        const [x, y] = [a, { ...b, chain: a.chain }].map(formatMarker) as [string, string];
        expect(Math.sign(compareMarkers(a, b))).toBe(x < y ? -1 : x > y ? 1 : 0);
      }),
    );
  });

  const chain = "0".repeat(32);
  const address = "a".repeat(64);
  test.each([
    `${chain}/fffffffffffffff-${address}`,
    `${chain}/FFFFFFFFFFFFFFFF-${address}`,
    `${chain}/ffffffffffffffff-${address.toUpperCase()}`,
    `${chain}/ffffffffffffffff-${address}\n`,
    `${chain}/ffffffffffffffff-${address}0`,
    `${chain}0/ffffffffffffffff-${address}`,
    `/${chain}/ffffffffffffffff-${address}`,
    `${chain}/ffffffffffffffff_${address}`,
    `${chain}/ffffffffffffffff-${address}/`,
    // Generations are below 2^53.
    `${chain}/ffdfffffffffffff-${address}`,
    `${chain}/0000000000000000-${address}`,
    "",
  ])("%j is no marker", (name) => {
    expect(parseMarker(name)).toBeUndefined();
  });

  test("generations are inverted in 64 bits", () => {
    expect(invertedGeneration(0)).toBe("ffffffffffffffff");
    expect(invertedGeneration(1)).toBe("fffffffffffffffe");
    expect(invertedGeneration(2 ** 53 - 1)).toBe("ffe0000000000000");
    expect(parseMarker(`${chain}/ffe0000000000000-${address}`)?.generation).toBe(2 ** 53 - 1);
  });

  test("a listing for the newest begins a day ahead", () => {
    const now = 1_800_000_000_000;
    const from = newestMarkersFrom(chain as ChainId, now);
    const at = (generation: number) =>
      formatMarker({ chain: chain as ChainId, generation, address: address as Address });
    expect(at(now + 86_400_000) >= from).toBe(true);
    expect(at(now + 86_400_001) >= from).toBe(false);
    expect(newestMarkersFrom(chain as ChainId, 2 ** 53 - 1)).toBe(`${chain}/ffe0000000000000`);
  });

  test("a new generation is the time, and beyond those before it", () => {
    expect(nextGeneration([], 5)).toBe(5);
    expect(nextGeneration([9, 3], 5)).toBe(10);
    expect(nextGeneration([4], 5)).toBe(5);
    expect(() => nextGeneration([2 ** 53 - 1], 5)).toThrow(RangeError);
  });
});

describe("patterns", () => {
  test.each(
    answers.patterns.map(({ pattern, name, matches }) => [pattern, name, matches] as const),
  )("%j and %j: %j", (pattern, name, matches) => {
    expect(matchesPattern(pattern, name)).toBe(matches);
  });

  test("agree with a regular expression", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*", ".", "\\"), maxLength: 8 });
    fc.assert(
      fc.property(letters, letters, (pattern, name) => {
        const source = pattern
          .split("*")
          .map((part) => part.replaceAll(/[.\\]/gu, "\\$&"))
          .join(".*");
        expect(matchesPattern(pattern, name)).toBe(new RegExp(`^${source}$`, "su").test(name));
      }),
      { numRuns: 2000 },
    );
  });

  test("take no longer than a product of lengths", () => {
    const name = "a".repeat(255);
    expect(matchesPattern("*a".repeat(200) + "b", name)).toBe(false);
    const long = "a*".repeat(2 ** 18);
    expect(matchesPattern(long, name)).toBe(false);
    // Beside a look at each character, because the machine may be busy.
    const shortest = (run: () => void): number =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const started = performance.now();
          run();
          return performance.now() - started;
        }),
      );
    const once = shortest(() => Array.from(long));
    expect(shortest(() => matchesPattern(long, name))).toBeLessThan(20 * once);
  }, 60_000);
});
