import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseAddress } from "@idk/storage";
import type { Part } from "../../../src/catalog/records.ts";
import { createRangeIndex, rootsOfRange } from "../../../src/objects/read/ranges.ts";
import { bodyOf, bytesOf, collect, keyOf, openRig } from "../support.ts";

test("any range of any object is that of its bytes", async () => {
  await using rig = await openRig();
  const { objects, bucket, catalog } = rig;
  let seed = 0;
  const sizes = fc.array(fc.integer({ min: 1, max: 900_000 }), { minLength: 1, maxLength: 4 });
  const cuts = fc.array(fc.tuple(fc.nat(1_000_000), fc.nat(1_000_000)), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(sizes, cuts, async (sizes, cuts) => {
      const upload = (await catalog.createUpload({
        bucket: bucket.id,
        key: keyOf("k"),
        owner: "",
        time: 0,
        headers: {},
        tags: [],
        options: {},
      }))!;
      const contents = sizes.map((size) => bytesOf(size, (seed += 1)));
      const parts: Part[] = [];
      for (const [index, content] of contents.entries()) {
        const body = bodyOf(content, 1 + (seed % 70_000));
        parts.push(await objects.putPart({ upload, number: 2 * index + 1, body }));
      }
      const etag = `${"0".repeat(32)}-${parts.length}`;
      await objects.completeUpload({ bucket, upload, parts, etag, checksums: {} });
      const whole = Buffer.concat(contents);
      const opened = (await catalog.openObject(bucket.id, keyOf("k")))!;
      for (const [a, b] of cuts) {
        const [start, end] = [a, b]
          .map((cut) => cut % (whole.length + 1))
          .toSorted((x, y) => x - y);
        const read = await collect(objects.readObject(opened, { start: start!, end: end! }));
        expect(Buffer.compare(read, whole.subarray(start, end))).toBe(0);
      }
    }),
    { numRuns: 10 },
  );
}, 120_000);

test("an index finds the roots that a range touches", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(sizes, fc.nat(), fc.nat(), (sizes, a, b) => {
      const contents = sizes.map((size, index) => {
        const address = parseAddress(index.toString(16).padStart(64, "0"));
        return { address, size, md5: "", part: 1 };
      });
      const bytes = contents.flatMap(({ address, size }) =>
        Array.from({ length: size }, (_, at) => `${address}:${at}`),
      );
      const start = a % (bytes.length + 1);
      const end = start + (b % (bytes.length + 1 - start));
      const found = createRangeIndex(contents).find({ start, end });
      const read = found.flatMap(({ root, range }) =>
        Array.from(
          { length: range.end - range.start },
          (_, at) => `${root.address}:${range.start + at}`,
        ),
      );
      expect(read).toEqual(bytes.slice(start, end));
      const isWhole = found.every(({ root, range }) => range.end - range.start === root.size);
      expect(rootsOfRange(contents, { start, end })).toEqual(
        isWhole ? found.map(({ root }) => root) : undefined,
      );
    }),
  );
});

test("10,000 roots are searched, not counted through", () => {
  const contents = Array.from({ length: 10_000 }, (_, index) => {
    const address = parseAddress(index.toString(16).padStart(64, "0"));
    return { address, size: 5 * 2 ** 20, md5: "", part: index + 1 };
  });
  const index = createRangeIndex(contents);
  const began = performance.now();
  for (let i = 0; i < 100_000; i++) index.find({ start: 49_000 * 2 ** 20, end: 49_001 * 2 ** 20 });
  expect(performance.now() - began).toBeLessThan(2000);
});
