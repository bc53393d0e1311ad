/** The speed of the library's `addressOf`, compared with `createHash`, the fastest hash of the runtime. */
import { createHash } from "node:crypto";
import { addressOf } from "@idk/storage";
import { noise, sizeName } from "../harness/content.ts";
import type { Findings } from "../harness/results.ts";
import { type Task, sampleInterleaved } from "../harness/sampling.ts";
import { ratioTarget, sampledTarget, timeTarget } from "../harness/targets.ts";
import type { Measurement, Target } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { type Random, seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";

const MB = 1e6;
const PIECE = 64 * 1024;
/** Lengths in bytes, the maximum time in seconds to hash them, and how often that is done at once. */
const SMALL = [
  { length: 1000, most: 0.001, calls: 1000 },
  { length: 100_000, most: 0.01, calls: 50 },
];

export async function hashPerf(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const sizes = context.sizes ?? (quick ? [1, 4] : [1, 10, 50, 100]).map((size) => size * MB);
  const rounds = context.iterations ?? (quick ? 3 : 15);
  const random = seededRandom(seed);
  const content = noise(Math.max(...sizes, 100_000), random);

  context.log(`hashing ${sizes.map(sizeName).join(", ")}, ${rounds} rounds`);
  const small = SMALL.filter(({ length }) => !sizes.includes(length));
  const sampled = await sampleInterleaved(
    [
      ...sizes.flatMap((size) => tasksOf(content.subarray(0, size))),
      ...small.map(({ length, calls }) => smallTask(content.subarray(0, length), calls)),
    ],
    { rounds, signal, seed },
    (of) => [
      ...sizes.flatMap((size) => {
        const name = sizeName(size);
        const [own, bare] = [of(`addressOf ${name}`), of(`bare createHash ${name}`)];
        const title = `${name}: rate of addressOf to that of a bare createHash`;
        return [
          sampledTarget(
            `${name}: rate of SHA-256`,
            ratesOf(own),
            { least: 100 * MB },
            rate(random),
          ),
          ratioTarget(title, { of: bare, to: own, kind: "cpu" }, { least: 0.9 }, random),
        ];
      }),
      spreadTarget(
        sizes.map((size) => of(`addressOf ${sizeName(size)}`)),
        random,
      ),
      ...SMALL.map(({ length, most }) => {
        const name = sizeName(length);
        return timeTarget(`${name}, median`, of(`addressOf ${name}`), { most }, random);
      }),
    ],
  );
  return {
    ...sampled,
    notes: [
      "addressOf names and verifies every blob: SHA-256 of all its bytes, as hex digits. The rates are compared by CPU time, round by round.",
      `Incremental hashing takes pieces of ${PIECE / 1024} KiB, as in a stream.`,
      "The spread is (most − least) / median of the rates of all sizes by CPU time, in each round.",
    ],
  };
}

function rate(random: Random) {
  return { unit: "bytes/s", kind: "wall", random } as const;
}

function tasksOf(content: Uint8Array): Task[] {
  const size = sizeName(content.length);
  const expected = createHash("sha256").update(content).digest("hex");
  const task = (series: string, run: () => unknown, result?: string): Task => ({
    name: `${series} ${size}`,
    series,
    x: { value: content.length, unit: "bytes" },
    bytesPerOperation: content.length,
    run,
    check(hash) {
      if (result !== undefined && hash !== result) throw new Error(`${series} ${size} is wrong`);
    },
  });
  const other = (algorithm: string) => () => createHash(algorithm).update(content).digest("hex");
  return [
    task("addressOf", () => addressOf(content), expected),
    task("bare createHash", other("sha256"), expected),
    task(
      "SHA-256 incremental",
      () => {
        const hash = createHash("sha256");
        for (let i = 0; i < content.length; i += PIECE) hash.update(content.subarray(i, i + PIECE));
        return hash.digest("hex");
      },
      expected,
    ),
    task("SHA-1", other("sha1")),
    task("SHA-512", other("sha512")),
  ];
}

function smallTask(content: Uint8Array, calls: number): Task {
  const length = content.length;
  return {
    name: `addressOf ${sizeName(length)}`,
    series: "addressOf, small",
    x: { value: length, unit: "bytes" },
    bytesPerOperation: length,
    calls,
    run: () => addressOf(content),
  };
}

/** Bytes per second of each sample. */
function ratesOf({ bytesPerOperation = 0, samples }: Measurement, times = samples): number[] {
  return times.map((seconds) => bytesPerOperation / seconds);
}

/** The spread of the rates of all sizes in each round, relative to their median; 0 if all are equal. */
export function spreadTarget(measurements: readonly Measurement[], random: Random): Target {
  const rates = measurements.map((each) => ratesOf(each, each.cpuSamples));
  const spreads = rates[0]!.map((_, round) => {
    const own = rates.map((samples) => samples[round]!);
    return (Math.max(...own) - Math.min(...own)) / median(own);
  });
  const how = { unit: "ratio", kind: "cpu", random } as const;
  return sampledTarget(
    "spread of the rates of all sizes, to their median",
    spreads,
    { most: 0.5 },
    how,
  );
}
