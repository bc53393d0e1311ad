/** Measured rounds, and more of them while noise hides a verdict. */
import type { Measurement, Target } from "../report/report.ts";
import { seededRandom } from "../statistics/random.ts";
import { interleave } from "./interleave.ts";
import { type Labels, type Lookup, type Sample, isOpen, lookup, measurementOf } from "./results.ts";

export interface Sampling {
  /** Measured rounds, 1 or more. */
  readonly rounds: number;
  /** Unmeasured rounds before them, to warm up caches, compilers and allocators; by default 1. */
  readonly warmups?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Seed of the confidence intervals, by default 1. */
  readonly seed?: number | undefined;
}

export interface Sampled {
  readonly measurements: readonly Measurement[];
  readonly targets: readonly Target[];
}

/** While a target is inconclusive, rounds are added until there are this many times as many. */
const BUDGET = 3;

/**
 * Samples rounds. While a target is inconclusive, adds half as many, up to three times the rounds.
 *
 * @param evaluate computes measurements and targets from all samples so far
 */
export async function untilSettled<Result extends Pick<Sampled, "targets">>(
  { rounds, warmups = 1 }: Pick<Sampling, "rounds" | "warmups">,
  sampleRounds: (rounds: number, warmups: number) => Promise<void>,
  evaluate: () => Result,
): Promise<Result> {
  await sampleRounds(rounds, warmups);
  let done = evaluate();
  for (let all = rounds; all < BUDGET * rounds && done.targets.some(isOpen);) {
    const more = Math.ceil(rounds / 2);
    await sampleRounds(more, 0);
    all += more;
    done = evaluate();
  }
  return done;
}

/** Something that measures itself, such as another process, and may take several samples at once. */
export interface Lane {
  /** One for each sample. */
  readonly labels: readonly Labels[];
  /** Compares by SHA-256 what was done, outside of the measured time, and throws if it is wrong. */
  sample(): Promise<readonly Sample[]>;
}

/** Interleaves lanes as `sampleInterleaved` does tasks. */
export async function sampleLanes(
  lanes: readonly Lane[],
  { rounds, warmups, seed = 1, signal }: Sampling,
  targetsOf: (of: Lookup) => readonly Target[] = () => [],
): Promise<Sampled> {
  const taken = lanes.map((lane) => ({ lane, columns: lane.labels.map((): Sample[] => []) }));
  const sampleRounds = (count: number, unmeasured: number): Promise<void> =>
    interleave(taken, { rounds: count, warmups: unmeasured, signal }, async (record, round) => {
      const samples = await record.lane.sample();
      if (round >= 0) for (const [i, sample] of samples.entries()) record.columns[i]!.push(sample);
    });
  return untilSettled({ rounds, warmups }, sampleRounds, () => {
    const random = seededRandom(seed);
    const measurements = taken.flatMap(({ lane, columns }) =>
      columns.map((samples, i) => measurementOf(lane.labels[i]!, samples, random)),
    );
    return { measurements, targets: targetsOf(lookup(measurements)) };
  });
}
