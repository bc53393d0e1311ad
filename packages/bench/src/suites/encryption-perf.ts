/**
 * Sealing and uploading one content at a time: a store's `put` against a bare signed upload of the
 * same bytes and, each by itself, sealing and hashing them. What those three take together is the
 * least that any put could.
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
      ...(judged ? [besides(againstBare("", PLAIN))] : []),
      "contents are random and not padded, so that a put and a bare PUT move the same bytes",
      "parts are those of further puts, by a stopwatch in the store's NaCl and in its backend; hash is addressOf over as many bytes, done again",
      "of contents over 1 MiB several chunks are on their way at once: their parts overlap",
    ],
  };
}

/**
 * A put has the store keep a SHA-256, by which it can attest the blob later. A server hashes a second
 * time for that, which is no part of what this library takes: the bound is the request that has the
 * same done, and how far it is from one without is told beside it.
 */
const TO_CHECKED = "1 MB: put to bare PUT with kept checksum + secretbox + SHA-256";
const CHECKED = "bare PUT, checksum kept";
const PLAIN = "bare PUT";

function besides({ value, interval }: Target): string {
  const range = interval ? ` (${interval.low.toFixed(2)} to ${interval.high.toFixed(2)})` : "";
  return (
    `to a bare PUT without the checksum that the store keeps, for which it hashes a second time, ` +
    `+ secretbox + SHA-256, a put of 1 MB has the ratio ${value.toFixed(2)}${range}`
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
  if (sha256(read) !== hash) throw new Error(`${sizeName(size)}: other bytes came back`);
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

/** Parts are not judged: fewer rounds will do. */
function halved({ size, rounds }: SizedRounds): SizedRounds {
  return { size, rounds: Math.ceil(rounds / 2) };
}
