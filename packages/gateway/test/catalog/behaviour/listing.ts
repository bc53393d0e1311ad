import { expect, test } from "bun:test";
import fc from "fast-check";
import { bytes, fill, listAll, text, using, type OpenFixture } from "./fixture.ts";

/** What a listing is, by its definition. */
function expected(keys: string[], prefix: string, delimiter: string | undefined, after: string) {
  const result = { keys: [] as string[], prefixes: [] as string[] };
  for (const key of keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))) {
    if (!key.startsWith(prefix) || Buffer.compare(Buffer.from(key), Buffer.from(after)) <= 0)
      continue;
    const at = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
    if (at < 0) {
      result.keys.push(key);
      continue;
    }
    const common = key.slice(0, at + delimiter!.length);
    if (result.prefixes.at(-1) !== common) result.prefixes.push(common);
  }
  return result;
}

export function listingBehaviour(open: OpenFixture): void {
  test(
    "lists keys in the order of their bytes",
    using(open, async ({ catalog, bucket }) => {
      // JavaScript sorts the last two the other way round, a dictionary all of them.
      const keys = ["A", "B", "a", "a ", "a-b", "aa", "ab", "b", "é", "\u{ff5e}", "\u{1f600}"];
      await fill(catalog, bucket, keys.toReversed().map(bytes));
      const all = await listAll(catalog.listObjects, { bucket: bucket.id, prefix: bytes("") }, 4);
      expect(all).toEqual({ keys, prefixes: [], pages: 3 });
    }),
  );

  test(
    "counts common prefixes as entries, and does not repeat them",
    using(open, async ({ catalog, bucket }) => {
      const keys = ["a", "b/1", "b/2", "c", "d/1", "d/2", "d/3", "e"];
      await fill(catalog, bucket, keys.map(bytes));
      const options = { bucket: bucket.id, prefix: bytes(""), delimiter: bytes("/") };
      const first = await catalog.listObjects({ ...options, limit: 2 });
      expect(first.entries.map(({ key }) => text(key))).toEqual(["a"]);
      expect(first.prefixes.map(text)).toEqual(["b/"]);
      expect(first.next).toEqual({ after: bytes("b/"), isPrefixListed: true });
      const second = await catalog.listObjects({ ...options, ...first.next, limit: 2 });
      expect(second.entries.map(({ key }) => text(key))).toEqual(["c"]);
      expect(second.prefixes.map(text)).toEqual(["d/"]);
      const third = await catalog.listObjects({ ...options, ...second.next, limit: 2 });
      expect(third.entries.map(({ key }) => text(key))).toEqual(["e"]);
      expect(third.next).toBeUndefined();
      // `start-after` in the middle of a prefix.
      const inside = await catalog.listObjects({ ...options, after: bytes("d/1"), limit: 10 });
      expect(inside.prefixes.map(text)).toEqual(["d/"]);
      // Exactly full is not truncated.
      const full = await catalog.listObjects({ ...options, limit: 5 });
      expect(full.next).toBeUndefined();
      expect(await catalog.listObjects({ ...options, limit: 0 })).toEqual({
        entries: [],
        prefixes: [],
        next: undefined,
      });
    }),
  );

  test(
    "lists one bucket only, whatever is beside it",
    using(open, async ({ catalog, bucket }) => {
      const { bucket: other } = await catalog.createBucket({ ...bucket, name: "other" });
      await fill(catalog, bucket, [bytes("a/1"), bytes("b")]);
      await fill(catalog, other, [bytes("a/2"), bytes("c")]);
      const options = { prefix: bytes(""), delimiter: bytes("/") };
      expect(await listAll(catalog.listObjects, { ...options, bucket: other.id }, 1)).toMatchObject(
        {
          keys: ["c"],
          prefixes: ["a/"],
        },
      );
    }),
  );

  test(
    "lists what the definition says, for any keys, prefix, delimiter, marker and page",
    using(open, async ({ catalog }) => {
      const letters = fc.constantFrom("a", "b", "/", "-", "\u{7f}", "ü", "\u{10ffff}", "\u0000");
      const word = (min: number, max: number) =>
        fc.array(letters, { minLength: min, maxLength: max }).map((some) => some.join(""));
      let count = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(word(1, 6), { maxLength: 40 }),
          word(0, 2),
          fc.option(word(1, 2), { nil: undefined }),
          word(0, 4),
          fc.integer({ min: 1, max: 12 }),
          async (keys, prefix, delimiter, after, limit) => {
            const { bucket } = await catalog.createBucket({
              name: `bucket-${count++}`,
              owner: "",
              region: "",
              time: 0,
            });
            await fill(catalog, bucket, keys.map(bytes));
            const { pages, ...listed } = await listAll(
              catalog.listObjects,
              {
                bucket: bucket.id,
                prefix: bytes(prefix),
                ...(delimiter === undefined ? {} : { delimiter: bytes(delimiter) }),
                ...(after === "" ? {} : { after: bytes(after) }),
              },
              limit,
            );
            const all = expected(keys, prefix, delimiter, after);
            expect(listed).toEqual(all);
            const entries = all.keys.length + all.prefixes.length;
            expect(pages).toBe(Math.max(1, Math.ceil(entries / limit)));
          },
        ),
        { numRuns: 150 },
      );
    }),
  );

  test(
    "seeks past common prefixes, however many keys they have",
    using(open, async ({ catalog, bucket }) => {
      // Ten prefixes of 3,000 keys, behind each other, and a thousand of one key.
      const many = Array.from({ length: 30_000 }, (_, i) => bytes(`p${i % 10}/${i}`));
      const few = Array.from({ length: 1000 }, (_, i) => bytes(`q${i}/x`));
      await fill(catalog, bucket, [...many, ...few]);
      const options = { bucket: bucket.id, prefix: bytes(""), delimiter: bytes("/"), limit: 1000 };
      const time = async (prefix: string) => {
        const times: number[] = [];
        for (let i = 0; i < 7; i++) {
          const start = performance.now();
          const page = await catalog.listObjects({ ...options, prefix: bytes(prefix) });
          times.push(performance.now() - start);
          expect(page.prefixes).toHaveLength(prefix === "p" ? 10 : 1000);
        }
        return Math.min(...times);
      };
      // Reading the keys behind ten prefixes would take as long as thirty pages.
      expect(await time("p")).toBeLessThan(await time("q"));
    }),
    120_000,
  );
}
