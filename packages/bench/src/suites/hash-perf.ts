/** The speed of the library's `addressOf`, compared with `createHash`, the fastest hash of the runtime. */
import { createHash } from "node:crypto";
import { addressOf } from "@idk/storage";
import { noise, sizeName } from "../harness/content.ts";
import { type Findings, named } from "../harness/results.ts";
import { type MicroTask, type Task, sampleInterleaved, sampleMicro } from "../harness/sampling.ts";
import { ratioTarget, targetOf } from "../harness/targets.ts";
import type { Measurement } from "../report/report.ts";
import { median } from "../statistics/describe.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";

const MB = 1e6;
const PIECE = 64 * 1024;
/** Lengths in bytes, and the maximum time in seconds to hash them. */
const SMALL = [
  { length: 1000, most: 0.001 },
  { length: 100_000, most: 0.01 },
];

export async function hashPerf(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed } = context;
  const sizes = context.sizes ?? (quick ? [1, 4] : [1, 10, 50, 100]).map((size) => size * MB);
  const rounds = context.iterations ?? (quick ? 3 : 15);
  const random = seededRandom(seed);
  const content = noise(Math.max(...sizes, 100_000), random);

  context.log(`hashing ${sizes.map(sizeName).join(", ")}, ${rounds} rounds`);
  const large = await sampleInterleaved(
    sizes.flatMap((size) => tasksOf(content.subarray(0, size))),
    { rounds, warmups: 1, signal, seed },
  );
  context.log("hashing small blobs");
  const small = await sampleMicro(
    SMALL.map(({ length }) => smallTask(content.subarray(0, length))),
    { seconds: quick ? 0.05 : 1, signal, seed },
  );

  const own = sizes.map((size) => named(large, `addressOf ${sizeName(size)}`));
  return {
    measurements: [...large, ...small],
    targets: [
      targetOf("SHA-256, slowest size", Math.min(...own.map(rateOf)), "bytes/s", {
        least: 100 * MB,
      }),
      ...sizes.map((size) => {
        const of = (series: string) => named(large, `${series} ${sizeName(size)}`);
        const timed = { whole: of("bare createHash"), parts: [of("addressOf")] };
        const name = `${sizeName(size)}: rate of addressOf to that of a bare createHash`;
        return ratioTarget(name, timed, { least: 0.9 }, random);
      }),
      targetOf("spread of the rates of all sizes, to their median", spreadOf(own), "ratio", {
        most: 0.5,
      }),
      ...SMALL.map(({ length, most }, i) =>
        targetOf(`${sizeName(length)}, median`, small[i]!.distribution.p50, "seconds", { most }),
      ),
    ],
    notes: [
      "addressOf names and verifies every blob: SHA-256 of all its bytes, as hex digits.",
      `Incremental hashing takes pieces of ${PIECE / 1024} KiB, as in a stream.`,
      "The spread is (most − least) / median of the rates by CPU time, because other load on the processor slows down long operations more and would make the sizes look uneven.",
    ],
  };
}

function tasksOf(content: Uint8Array): Task[] {
  const size = sizeName(content.length);
  const bare = (algorithm: string) => () => createHash(algorithm).update(content).digest();
  const task = (series: string, run: () => unknown): Task => ({
    name: `${series} ${size}`,
    series,
    x: { value: content.length, unit: "bytes" },
    bytesPerOperation: content.length,
    run,
  });
  return [
    task("addressOf", () => addressOf(content)),
    task("bare createHash", () => createHash("sha256").update(content).digest("hex")),
    task("SHA-256 incremental", () => {
      const hash = createHash("sha256");
      for (let i = 0; i < content.length; i += PIECE) hash.update(content.subarray(i, i + PIECE));
      return hash.digest("hex");
    }),
    task("SHA-1", bare("sha1")),
    task("SHA-512", bare("sha512")),
  ];
}

function smallTask(content: Uint8Array): MicroTask {
  const length = content.length;
  return {
    name: `addressOf ${sizeName(length)}`,
    series: "addressOf, small",
    x: { value: length, unit: "bytes" },
    bytesPerOperation: length,
    run: () => addressOf(content),
  };
}

function rateOf({ bytesPerOperation = 0, distribution }: Measurement): number {
  return bytesPerOperation / distribution.p50;
}

/** The spread of the rates relative to their median; 0 if they are equal. */
export function spreadOf(measurements: readonly Measurement[]): number {
  const rates = measurements.map(({ bytesPerOperation = 0, distribution, cpuSeconds }) => {
    // CPU time may be 0, because it advances in long steps.
    return bytesPerOperation / (cpuSeconds || distribution.p50);
  });
  return (Math.max(...rates) - Math.min(...rates)) / median(rates);
}
