/**
 * Downloads and opens one content at a time: a full `get` of a store, compared with a bare signed
 * download, hashing, and opening a secretbox of the same bytes. Any get needs at least the sum of those
 * three.
 */
import type { Store } from "@idk/storage";
import { sizeName } from "../harness/content.ts";
import { type CountingBackend, counting } from "../harness/counting.ts";
import { type Findings, named, pairOf } from "../harness/results.ts";
import { type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import { type BareS3, bareS3 } from "../object-store/bare-s3.ts";
import { withScratch } from "../object-store/scratch.ts";
import type { Measurement, Pair } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import {
  type SizedRounds,
  type Stores,
  freshName,
  lengthOf,
  measureParts,
  medianTarget,
  randomContent,
  secretbox,
  sha256,
  sizedRounds,
  storesIn,
} from "./round-trip.ts";

const PARTS = {
  transfer: "download",
  header: "parse",
  hash: "hash",
  cipher: "decrypt",
} as const;

export async function decryptionPerf(context: SuiteContext): Promise<Findings> {
  const random = seededRandom(context.seed);
  const measurements: Measurement[] = [];
  const pairs: Pair[] = [];
  await withScratch(context.store, "decryption-perf", async (scratch) => {
    const stores = await storesIn(scratch.at("store"));
    const bare = bareS3(scratch.at("bare"));
    for (const sized of sizedRounds(context)) {
      const { size } = sized;
      context.log(`${sizeName(size)}, ${sized.rounds} rounds`);
      const found = await measureSize(sized, { stores, bare, context });
      measurements.push(...found);
      if (sized.rounds > 1) {
        const of = (name: string) => named(found, `${name} ${sizeName(size)}`);
        const title = `${sizeName(size)}: read again by the same store`;
        pairs.push(pairOf(title, of("first get"), of("get"), random));
      }
      await scratch.clear();
    }
  });
  const judged = measurements.some(({ name }) => name === "get 1 MB");
  const of = (name: string) => named(measurements, `${name} 1 MB`);
  return {
    measurements,
    pairs,
    targets: [
      ...medianTarget("1 MB downloaded and decrypted", measurements, "get 1 MB", 0.3),
      ...medianTarget("10 MB downloaded and decrypted", measurements, "get 10 MB", 3),
      ...(judged
        ? [
            ratioTarget(
              "1 MB: get to bare GET + SHA-256 + secretbox",
              { whole: of("get"), parts: [of("bare GET"), of("SHA-256"), of("secretbox")] },
              { most: 1.1 },
              random,
            ),
          ]
        : []),
    ],
    notes: [
      "contents are random and not padded, so that a get and a bare GET transfer the same bytes; the server has them in memory",
      "get reads the content with chunks(), which copies nothing; get as bytes copies it into new memory",
      "first get includes the set-up of a newly opened store; get is one of many by the same store",
      "parts are measured in additional gets, by timing the store's NaCl and its backend; hash is addressOf over the same number of bytes, run separately",
      "contents over 1 MiB have several chunks in flight: their parts overlap",
    ],
  };
}

interface Setting {
  readonly stores: Stores;
  readonly bare: BareS3;
  readonly context: SuiteContext;
}

async function measureSize(
  sized: SizedRounds,
  { stores, bare, context: { signal, seed } }: Setting,
): Promise<Measurement[]> {
  const { size, rounds } = sized;
  const content = randomContent(size);
  const hash = sha256(content);
  const name = freshName();
  await bare.put(name, content, hash);
  let counted: CountingBackend | undefined;
  await using store = stores.open((backend) => (counted = counting(backend)).backend);
  const address = await store.put(content);
  const read = await (await store.get(address)).bytes();
  if (sha256(read) !== hash) throw new Error(`${sizeName(size)}: got other bytes`);

  const readBy = async (reader: Store) =>
    expectLength(size, await lengthOf((await reader.get(address)).chunks()));
  const buffer = new Uint8Array(size);
  const box = await secretbox(size);
  let fresh = stores.open();
  const labels = (series: string) => ({
    name: `${series} ${sizeName(size)}`,
    series,
    x: { value: size, unit: "bytes" as const },
    bytesPerOperation: size,
  });
  const tasks: Task[] = [
    { ...labels("get"), run: () => readBy(store), counts: () => counted!.counts() },
    { ...labels("bare GET"), run: async () => expectLength(size, await bare.get(name, buffer)) },
    { ...labels("SHA-256"), run: () => sha256(content) },
    { ...labels("secretbox"), run: box.open },
    {
      ...labels("get as bytes"),
      run: async () => expectLength(size, (await (await store.get(address)).bytes()).length),
    },
    {
      ...labels("first get"),
      prepare: async () => {
        await fresh.close();
        fresh = stores.open();
      },
      run: () => readBy(fresh),
    },
  ];
  const { store: metered, meter } = await stores.openMetered();
  try {
    const measurements = await sampleInterleaved(tasks, { rounds, signal, seed });
    // Parts have no targets, so fewer rounds are enough.
    const fewer = { size, rounds: Math.ceil(rounds / 2) };
    const how = { random: seededRandom(seed), signal };
    const parts = await measureParts(fewer, PARTS, meter, () => readBy(metered), how);
    return [...measurements, ...parts];
  } finally {
    await metered.close();
    await fresh.close();
  }
}

function expectLength(expected: number, length: number): void {
  if (length !== expected) throw new Error(`got ${length} of ${expected} bytes`);
}
