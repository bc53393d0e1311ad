import { expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ListOptions } from "../../src/catalog/catalog.ts";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { bytes } from "./behaviour/fixture.ts";
import { makeManyKeys } from "./many-keys.ts";

/*
 * A catalog with many keys is as fast as one with few. IDK_GATEWAY_KEYS sets how many keys it has: with
 * 10,000,000, which take 3 GB and some minutes, these limits are promised; with fewer they hold as well.
 */

const KEYS = Number(process.env["IDK_GATEWAY_KEYS"] ?? 200_000);
/** Milliseconds: of a page of 1,000 entries, and to open the catalog. */
const [PAGE_TIME, START_TIME] = [5, 1000] as const;
const PAGE = 1000;
const PAGES = 200;

const sorted = (times: number[]): number[] => times.toSorted((a, b) => a - b);
const at = (times: number[], share: number): number =>
  sorted(times)[Math.floor(share * (times.length - 1))]!;

test(
  "pages of a catalog with many keys take at most 5 ms",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "idk-many-keys-"));
    try {
      const path = join(folder, "catalog");
      const bucket = await makeManyKeys(path, KEYS);

      const began = performance.now();
      const catalog = await openCatalog(path);
      await catalog.listBuckets();
      const start = performance.now() - began;
      const measure = async (make: () => Omit<ListOptions, "bucket" | "limit">) => {
        const times: number[] = [];
        for (let i = 0; i < PAGES; i++) {
          const options = { bucket: bucket.id, limit: PAGE, ...make() };
          const from = performance.now();
          const page = await catalog.listObjects(options);
          times.push(performance.now() - from);
          expect(page.entries.length + page.prefixes.length).toBe(PAGE);
        }
        return times;
      };
      const pick = (limit: number): number => Math.floor(Math.random() * limit);
      const padded = (number: number, digits: number) => `${number}`.padStart(digits, "0");
      const million = () => padded(pick(Math.max(1, Math.floor(KEYS / 1_000_000))), 5);
      const within = Math.min(1000, KEYS / 1000);
      const times = {
        keys: await measure(() => ({
          prefix: bytes(""),
          after: bytes(`${million()}/${padded(pick(within - 1), 3)}`),
        })),
        prefixes: await measure(() => ({
          prefix: bytes(within === 1000 ? `${million()}/` : `${million()}/000/some/deeper/prefix/`),
          delimiter: bytes("/"),
        })),
        keysWithDelimiter: await measure(() => ({
          prefix: bytes(`${million()}/${padded(pick(within), 3)}/some/deeper/prefix/`),
          delimiter: bytes("/"),
        })),
      };
      console.log(`${KEYS} keys: opened in ${start.toFixed(0)} ms`);
      for (const [name, all] of Object.entries(times)) {
        const [first, median, late, last] = [all[0]!, at(all, 0.5), at(all, 0.95), at(all, 1)];
        const figures = [first, median, late, last].map((time) => time.toFixed(2)).join(", ");
        console.log(`${KEYS} keys, ${name}: first, median, 95 %, longest: ${figures} ms`);
        expect(median).toBeLessThanOrEqual(PAGE_TIME);
      }
      expect(start).toBeLessThanOrEqual(START_TIME);
      await catalog.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
  10 * 60_000,
);
