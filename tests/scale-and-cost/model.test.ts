import { CHILD_OVERHEAD, REFERENCE_LENGTH } from "@idk/storage/format";
import { describe, expect, test } from "bun:test";
import { cost, footprint, listing, totals } from "../../script/scale-and-cost/model.ts";
import { B2, S3, tiered } from "../../script/scale-and-cost/prices.ts";
import { simulate } from "../../script/scale-and-cost/simulate.ts";

const KIB = 1024;
const MIB = 2 ** 20;
/** The smallest chunks, so that the second level starts at a gigabyte. */
const chunkLog2 = 18;

describe("the model matches what the library writes", () => {
  const cases = [
    { name: "nothing", length: 0 },
    { name: "4 KiB", length: 4 * KIB },
    { name: "4 KiB without padding, three recipients", length: 4 * KIB, recipients: 3, pad: false },
    { name: "the last inline length", length: MIB },
    { name: "the first tree", length: MIB + 1 },
    { name: "whole chunks", length: 2 * MIB, pad: false },
    { name: "an odd length and two recipients", length: 9 * MIB + 777, recipients: 2 },
    { name: "larger chunks", length: 33 * MIB + 5, chunkLog2: 22 },
  ];
  for (const { name, ...content } of cases) {
    test(name, async () => {
      const written = { chunkLog2, ...content };
      const model = footprint(written);
      expect(await simulate(written, true)).toEqual({
        depth: model.depth,
        puts: model.blobs,
        storedBytes: model.storedBytes,
        rootBytes: model.rootBytes,
        rangeGets: model.rangeRequests,
        wholeGets: model.blobs,
      });
    });
  }

  test("two levels, the second node not full", async () => {
    const content = { chunkLog2, length: 4096 * 256 * KIB + 1, pad: false };
    const model = footprint(content);
    expect(model.depth).toBe(2);
    expect(model.nodes).toBe(2);
    expect(await simulate(content, false)).toEqual({
      depth: 2,
      puts: model.blobs,
      storedBytes: model.storedBytes,
      rootBytes: model.rootBytes,
      rangeGets: model.rangeRequests,
    });
  }, 120_000);
});

test("padding is the rest without content and overhead", () => {
  for (const length of [0, 5000, MIB, MIB + 1, 10 ** 12]) {
    const [padded, bare] = [footprint({ length }), footprint({ length, pad: false })];
    const more = padded.storedBytes - bare.storedBytes - padded.paddingBytes;
    // In addition to the zeros, the root stores their number, and more chunks have more overhead.
    const chunks = (padded.blobs - bare.blobs) * (CHILD_OVERHEAD + REFERENCE_LENGTH);
    expect(more).toBeGreaterThanOrEqual(0);
    expect(more).toBeLessThanOrEqual(chunks + 8);
  }
});

test("a petabyte in one content needs three levels", () => {
  expect(footprint({ length: 10 ** 15 }).depth).toBe(3);
  expect(footprint({ length: 10 ** 15, chunkLog2: 18 }).depth).toBe(3);
});

test("tiered charges each tier at its own price", () => {
  const tiers = [
    { upTo: 10, price: 3 },
    { upTo: 30, price: 2 },
    { upTo: Infinity, price: 1 },
  ];
  expect(tiered(0, tiers)).toBe(0);
  expect(tiered(10, tiers)).toBe(30);
  expect(tiered(35, tiers)).toBe(30 + 40 + 5);
});

test("a listing divides its pages among prefixes, at least one page each", () => {
  expect(listing(1_000_000, 1, 0.1)).toEqual({ pages: 1000, seconds: 100 });
  expect(listing(1_000_000, 256, 0.1)).toEqual({ pages: 1024, seconds: 0.4 });
  expect(listing(0, 16, 0.1)).toEqual({ pages: 16, seconds: 0.1 });
});

test("costs of a terabyte in a thousand contents, computed by hand", () => {
  const all = totals({ name: "", objects: 1000, content: { length: 10 ** 9, pad: false } });
  // 239 chunks and a root each.
  expect(all.blobs).toBe(240_000);
  const [s3, b2] = [cost(all, S3), cost(all, B2)];
  expect(s3.put).toBeCloseTo(240 * 0.005, 10);
  expect(s3.list).toBeCloseTo(0.24 * 0.005, 10);
  expect(s3.storageMonth).toBeCloseTo((all.storedBytes / 2 ** 30) * 0.023, 6);
  expect(s3.read).toBeCloseTo(240 * 0.0004 + (all.storedBytes / 2 ** 30) * 0.09, 6);
  expect(b2.storageMonth).toBeCloseTo((all.storedBytes / 1e9) * 0.00695, 6);
  expect(b2.put + b2.read + b2.list).toBe(0);
});
