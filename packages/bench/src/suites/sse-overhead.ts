/**
 * The cost of server-side encryption: uploads and downloads of the same bytes with and without SSE
 * (AES256, keys of the server), in pairs of random order. Each is one request of the library's backend.
 */
import { type Backend, StorageError } from "@idk/storage";
import { sizeName } from "../harness/content.ts";
import { type Findings, measurementOf, pairOf } from "../harness/results.ts";
import { targetOf } from "../harness/targets.ts";
import { bareS3 } from "../object-store/bare-s3.ts";
import { type Scratch, withScratch, openBackend } from "../object-store/scratch.ts";
import type { Measurement } from "../report/report.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { freshName, randomContent, sha256 } from "./round-trip.ts";

const MB = 1e6;

const WAYS = ["plain", "SSE"] as const;
type Way = (typeof WAYS)[number];

export async function sseOverhead(context: SuiteContext): Promise<Findings> {
  const { quick, sizes = [8 * MB], options = {} } = context;
  const rounds = context.iterations ?? (quick ? 3 : 40);
  const random = seededRandom(context.seed);
  let removed = 0;
  let left = 0;
  let repeated = 0;
  const measurements: Measurement[] = [];
  const pairs = [];
  await withScratch(context.store, "sse-overhead", async (scratch) => {
    const retry = retrying(Number(options["retries"] ?? 0), context);
    for (const size of sizes) {
      const run = { size, rounds, download: options["download"] !== false };
      const seconds = await measureSize(run, { scratch, context, random, retry: retry.run });
      for (const [series, samples] of seconds) {
        measurements.push(
          measurementOf(
            {
              name: `${series} ${sizeName(size)}`,
              series,
              x: { value: size, unit: "bytes" },
              bytesPerOperation: size,
            },
            samples.map((seconds) => ({ seconds })),
            random,
          ),
        );
      }
      removed += await scratch.clear();
    }
    left = await scratch.clear();
    repeated = retry.count();
  });
  for (const head of measurements.filter(({ series }) => series.endsWith("SSE"))) {
    const base = measurements.find(({ name }) => name === head.name.replace("SSE", "plain"));
    const title = `${head.name.replace(", SSE", "")}: SSE to plain`;
    if (base && rounds > 1) pairs.push(pairOf(title, base, head, random));
  }
  return {
    measurements,
    pairs,
    targets: [targetOf("objects left behind", left, "count", { most: 0 })],
    notes: [
      "each pair transfers the same bytes; for each size, a HEAD request checks that the server encrypted one object and not the other",
      `${removed} objects were stored and removed afterwards`,
      ...(repeated > 0
        ? [`${repeated} requests failed and were retried; only successful attempts are timed`]
        : []),
    ],
  };
}

interface Run {
  readonly size: number;
  readonly rounds: number;
  readonly download: boolean;
}

interface Setting {
  readonly scratch: Scratch;
  readonly context: SuiteContext;
  readonly random: Random;
  /** Times work; if it is retried, only the last attempt counts. */
  readonly retry: (work: () => Promise<void>) => Promise<number>;
}

/** Seconds by series, such as "upload, SSE"; the same number of each. */
async function measureSize(
  { size, rounds, download }: Run,
  { scratch, context: { signal, log }, random, retry }: Setting,
): Promise<Map<string, number[]>> {
  const backends: Record<Way, Backend> = {
    plain: openBackend(scratch.at("plain")),
    SSE: openBackend(scratch.at("sse"), { encrypted: true }),
  };
  const series = (download ? ["upload", "download"] : ["upload"]).flatMap((what) =>
    WAYS.map((way) => `${what}, ${way}`),
  );
  const samples = new Map<string, number[]>(series.map((name) => [name, []]));
  const content = randomContent(size);
  const hash = sha256(content);
  const buffer = new Uint8Array(size);
  for (let round = -1; round < rounds; round++) {
    const name = freshName();
    const ways: readonly Way[] = random() < 0.5 ? WAYS : WAYS.toReversed();
    const taken: string[] = [];
    const timed = async (series: string, work: () => Promise<void>) => {
      signal.throwIfAborted();
      globalThis.Bun?.gc(true);
      const seconds = await retry(work);
      taken.push(`${series} ${(seconds * 1000).toFixed(1)} ms`);
      if (round >= 0) samples.get(series)!.push(seconds);
    };
    for (const way of ways) {
      const options = { signal, sha256: hash };
      await timed(`upload, ${way}`, () => backends[way].put(name, content, options));
    }
    if (round === -1) await expectEncryption(scratch, name);
    for (const way of download ? ways : []) {
      await timed(`download, ${way}`, async () => {
        const length = await backends[way].get(name, buffer, { signal });
        if (length !== size) throw new Error(`got ${length} of ${size} bytes`);
      });
      if (sha256(buffer) !== hash) throw new Error("got other bytes");
    }
    log(`${round < 0 ? "warm-up" : `pair ${round + 1} of ${rounds}`}: ${taken.join(", ")}`);
  }
  return samples;
}

/** @throws Error unless exactly the one object is encrypted */
async function expectEncryption(scratch: Scratch, name: string): Promise<void> {
  const encryptionIn = async (folder: string) =>
    (await bareS3(scratch.at(folder)).head(name)).get("x-amz-server-side-encryption");
  const [plain, sse] = [await encryptionIn("plain"), await encryptionIn("sse")];
  if (plain !== null) {
    throw new Error(`this bucket encrypts every upload (${plain}): there is nothing to compare`);
  }
  if (sse !== "AES256") throw new Error("the server did not encrypt the object");
}

export interface Retrying {
  /**
   * Runs work and retries it after transient errors.
   *
   * @returns seconds of the successful attempt
   * @throws the error of the last attempt
   */
  run(work: () => Promise<void>): Promise<number>;
  /** Number of retries so far. */
  count(): number;
}

/** @param retries per run, 0 or more */
export function retrying(retries: number, { log }: Pick<SuiteContext, "log">): Retrying {
  let count = 0;
  return {
    async run(work) {
      for (let left = retries; ; left--) {
        const start = performance.now();
        try {
          await work();
          return (performance.now() - start) / 1000;
        } catch (error) {
          if (left === 0 || !(error instanceof StorageError && error.transient)) throw error;
          count += 1;
          log(`retrying: ${error.message}`);
          await new Promise((resolve) => {
            setTimeout(resolve, 500);
          });
        }
      }
    },
    count: () => count,
  };
}
