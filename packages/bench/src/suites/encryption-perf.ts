/**
 * Seals and uploads one content at a time: a `put` of a store, compared with a bare signed upload,
 * sealing a secretbox, and hashing of the same bytes. Any put needs at least the sum of those three.
 */
import { sizeName } from "../harness/content.ts";
import { type CountingBackend, counting } from "../harness/counting.ts";
import { type Findings, named } from "../harness/results.ts";
import { type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget } from "../harness/targets.ts";
import { type BareS3, bareS3 } from "../object-store/bare-s3.ts";
import { withScratch } from "../object-store/scratch.ts";
import type { Measurement, Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import {
  type SizedRounds,
  type Stores,
  freshName,
  measureParts,
  medianTarget,
  randomContent,
  secretbox,
  sha256,
  sizedRounds,
  storesIn,
} from "./round-trip.ts";

const PARTS = {
  cipher: "encrypt",
  header: "header",
  hash: "hash",
  transfer: "upload",
} as const;

export async function encryptionPerf(context: SuiteContext): Promise<Findings> {
  const random = seededRandom(context.seed);
  const measurements: Measurement[] = [];
  await withScratch(context.store, "encryption-perf", async (scratch) => {
    const stores = await storesIn(scratch.at("store"));
    const bare = {
      plain: bareS3(scratch.at("bare")),
      checked: bareS3(scratch.at("bare"), { checksums: true }),
    };
    for (const sized of sizedRounds(context)) {
      context.log(`${sizeName(sized.size)}, ${sized.rounds} rounds`);
      measurements.push(...(await measureSize(sized, { stores, bare, context })));
      context.log(`${sizeName(sized.size)}, in parts`);
      measurements.push(...(await measureInParts(sized, { stores, context })));
      await scratch.clear();
    }
  });
  const judged = measurements.some(({ name }) => name === "put 1 MB");
  const of = (name: string) => named(measurements, `${name} 1 MB`);
  const againstBare = (name: string, series: string): Target =>
    ratioTarget(
      name,
      { whole: of("put"), parts: [of(series), of("secretbox"), of("SHA-256")] },
      { most: 1.1 },
      random,
    );
  return {
    measurements,
    targets: [
      ...medianTarget("1 MB encrypted and uploaded", measurements, "put 1 MB", 0.5),
      ...medianTarget("10 MB encrypted and uploaded", measurements, "put 10 MB", 5),
      ...(judged ? [againstBare(TO_CHECKED, CHECKED)] : []),
    ],
    notes: [
      ...(judged ? [ratioToPlain(againstBare("", PLAIN))] : []),
      "contents are random and not padded, so that a put and a bare PUT transfer the same bytes",
      "parts are measured in additional puts, by timing the store's NaCl and its backend; hash is addressOf over the same number of bytes, run separately",
      "contents over 1 MiB have several chunks in flight: their parts overlap",
    ],
  };
}

/**
 * A put makes the server verify and store a SHA-256, so that it can report the checksum later. The server
 * hashes a second time for that, which is not the library's time. The bound is therefore a request that
 * does the same; a note has the ratio to a request without the checksum.
 */
const TO_CHECKED = "1 MB: put to bare PUT with kept checksum + secretbox + SHA-256";
const CHECKED = "bare PUT, checksum kept";
const PLAIN = "bare PUT";

function ratioToPlain({ value, interval }: Target): string {
  const range = interval ? ` (${interval.low.toFixed(2)} to ${interval.high.toFixed(2)})` : "";
  return (
    `1 MB: the ratio of put to bare PUT + secretbox + SHA-256 is ${value.toFixed(2)}${range} if the ` +
    `bare PUT has no checksum that the server stores, for which it hashes a second time`
  );
}

interface BarePuts {
  readonly plain: BareS3;
  readonly checked: BareS3;
}

interface Setting {
  readonly stores: Stores;
  readonly context: SuiteContext;
}

async function measureSize(
  { size, rounds }: SizedRounds,
  { stores, bare, context: { signal, seed } }: Setting & { readonly bare: BarePuts },
): Promise<Measurement[]> {
  const content = randomContent(size);
  const hash = sha256(content);
  let counted: CountingBackend | undefined;
  await using store = stores.open((backend) => (counted = counting(backend)).backend);
  let name = freshName();
  let address = "";
  const labels = (series: string) => ({
    name: `${series} ${sizeName(size)}`,
    series,
    x: { value: size, unit: "bytes" as const },
    bytesPerOperation: size,
  });
  const box = await secretbox(size);
  const prepare = (): void => {
    name = freshName();
  };
  const tasks: Task[] = [
    {
      ...labels("put"),
      run: async () => {
        address = await store.put(content);
      },
      counts: () => counted!.counts(),
    },
    {
      ...labels(CHECKED),
      prepare,
      run: () => bare.checked.put(name, content, hash),
    },
    {
      ...labels(PLAIN),
      prepare,
      run: () => bare.plain.put(name, content, hash),
    },
    { ...labels("secretbox"), run: box.seal },
    { ...labels("SHA-256"), run: () => sha256(content) },
  ];
  const measurements = await sampleInterleaved(tasks, { rounds, signal, seed });
  const read = await (await store.get(address)).bytes();
  if (sha256(read) !== hash) throw new Error(`${sizeName(size)}: got other bytes`);
  return measurements;
}

async function measureInParts(
  sized: SizedRounds,
  { stores, context: { signal, seed } }: Setting,
): Promise<Measurement[]> {
  const content = randomContent(sized.size);
  const { store, meter } = await stores.openMetered();
  try {
    const random = seededRandom(seed);
    const put = () => store.put(content);
    return await measureParts(halved(sized), PARTS, meter, put, { random, signal });
  } finally {
    await store.close();
  }
}

/** Parts have no targets, so fewer rounds are enough. */
function halved({ size, rounds }: SizedRounds): SizedRounds {
  return { size, rounds: Math.ceil(rounds / 2) };
}
