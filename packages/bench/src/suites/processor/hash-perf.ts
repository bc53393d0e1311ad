/** The speed of the library's `addressOf`, compared with `createHash`, the fastest hash of the runtime. */
import { createHash } from "node:crypto";
import { addressOf } from "@idk/storage";
import { noise, sizeName } from "../../harness/content.ts";
import { type Findings, labelsFor, together } from "../../harness/results.ts";
import { type Task, sampleInterleaved } from "../../harness/sampling.ts";
import { ratioTarget, sampledTarget, timeTarget } from "../../harness/targets.ts";
import type { Measurement, Target } from "../../report/report.ts";
import { median } from "../../statistics/describe.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { SuiteContext } from "../../suite.ts";

const MB = 1e6;
const PIECE = 64 * 1024;
/** Bytes of a sample: shorter contents are hashed several times. */
const SAMPLE = 10 * MB;
/** Lengths of small blobs in bytes, and the most seconds to hash one. */
const SMALL = [
  [1000, 0.001],
  [100_000, 0.01],
] as const;

type Hash = (content: Uint8Array) => string;

const digest =
  (algorithm: string): Hash =>
  (content) =>
    createHash(algorithm).update(content).digest("hex");

const HASHES: Readonly<Record<string, readonly [algorithm: string, hash: Hash]>> = {
  addressOf: ["sha256", addressOf],
  "bare createHash": ["sha256", digest("sha256")],
  "SHA-256 incremental": ["sha256", incremental],
  "SHA-1": ["sha1", digest("sha1")],
  "SHA-512": ["sha512", digest("sha512")],
};

function incremental(content: Uint8Array): string {
  const hash = createHash("sha256");
  for (let i = 0; i < content.length; i += PIECE) hash.update(content.subarray(i, i + PIECE));
  return hash.digest("hex");
}

export async function hashPerf(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const sizes = context.sizes ?? (quick ? [1, 4] : [1, 10, 50, 100]).map((size) => size * MB);
  const rounds = context.iterations ?? (quick ? 3 : 10);
  const content = noise(Math.max(...sizes, 100_000), seededRandom(seed));
  const tasksOf = (names: readonly string[]): Task[] =>
    sizes.flatMap((size) => names.map((series) => taskOf(series, content.subarray(0, size))));
  const small = SMALL.map(([length]) =>
    Object.assign(taskOf("addressOf", content.subarray(0, length)), { series: "addressOf, small" }),
  );
  context.log(`hashing ${sizes.map(sizeName).join(", ")}, ${rounds} rounds`);
  const sampling = { rounds, signal };
  const judged = [...tasksOf(["addressOf", "bare createHash"]), ...small];
  const sampled = await sampleInterleaved(judged, sampling, (of) => {
    const own = (size: number) => of(`addressOf ${sizeName(size)}`);
    const rate = { unit: "bytes/s", kind: "wall" } as const;
    return [
      ...sizes.flatMap((size) => {
        const name = sizeName(size);
        const sides = { of: of(`bare createHash ${name}`), to: own(size), kind: "cpu" } as const;
        const title = `${name}: rate of addressOf to that of a bare createHash`;
        return [
          sampledTarget(`${name}: rate of SHA-256`, ratesOf(own(size)), { least: 100 * MB }, rate),
          ratioTarget(title, sides, { least: 0.9 }),
        ];
      }),
      spreadTarget(
        sizes.map(own),
        sizes.map((size) => of(`bare createHash ${sizeName(size)}`)),
      ),
      ...SMALL.map(([length, most]) =>
        timeTarget(`${sizeName(length)}, median`, own(length), { most }),
      ),
    ];
  });
  const others = tasksOf(["SHA-256 incremental", "SHA-1", "SHA-512"]);
  const shown = await sampleInterleaved(others, sampling);
  const notes = [
    "addressOf names and verifies every blob: SHA-256 of all its bytes, as hex digits. The rates are compared by CPU time, round by round.",
    `Incremental hashing takes pieces of ${PIECE / 1024} KiB, as in a stream. Contents below ${SAMPLE / MB} MB are hashed several times in a sample.`,
    "The spread is (most − least) / median of the rates of all sizes by CPU time, in each round. It may be half, or a fifth more than that of a bare createHash: contents that exceed the cache are hashed as fast as memory is read.",
  ];
  return together([sampled, shown, { notes }]);
}

function taskOf(series: string, content: Uint8Array): Task {
  const [algorithm, hash] = HASHES[series]!;
  const labels = labelsFor(content.length)(series);
  const expected = digest(algorithm)(content);
  return {
    ...labels,
    calls: Math.ceil(SAMPLE / content.length),
    run: () => hash(content),
    check(found) {
      if (found !== expected) throw new Error(`${labels.name} is wrong`);
    },
  };
}

/** Bytes per second of each sample. */
function ratesOf({ bytesPerOperation = 0, samples }: Measurement, times = samples): number[] {
  return times.map((seconds) => bytesPerOperation / seconds);
}

/** How much a spread may exceed that of the bare hash, where the machine itself has one. */
const SPREAD_MORE = 1.2;

/**
 * How different the rates of all sizes are. What a machine whose memory is slower than its cache does to any
 * hash is not counted.
 *
 * @param bare of the same sizes, without what is measured
 */
export function spreadTarget(own: readonly Measurement[], bare: readonly Measurement[]): Target {
  const most = Math.max(0.5, SPREAD_MORE * median(spreadsOf(bare)));
  const how = { unit: "ratio", kind: "cpu" } as const;
  return sampledTarget(
    "spread of the rates of all sizes, to their median",
    spreadsOf(own),
    { most },
    how,
  );
}

/** The spread of the rates of all sizes in each round, relative to their median; 0 if all are equal. */
function spreadsOf(measurements: readonly Measurement[]): number[] {
  const rates = measurements.map((each) => ratesOf(each, each.cpuSamples));
  return rates[0]!.map((_, round) => {
    const all = rates.map((samples) => samples[round]!);
    return (Math.max(...all) - Math.min(...all)) / median(all);
  });
}
