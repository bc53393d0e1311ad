import { join } from "node:path";
import type { ProcessPair, ProcessSide } from "../../src/report/report.ts";

/** The file that record-noise.ts writes. */
export interface RecordedNoise {
  readonly what: string;
  readonly runs: number;
  /** The pairs of each run of each task, encoded by `encodePair`. */
  readonly tasks: Readonly<Record<string, readonly (readonly string[])[]>>;
}

/** Logarithms of head over base of one pair of processes. */
export interface NoisePair {
  readonly cpu: readonly number[];
  readonly elapsed: readonly number[];
  readonly memory: number;
}

const UNIT = 1e-4;

/** "12 -30|110 95|3": a short form, because there are thousands. */
export function encodePair({ base, head }: ProcessPair): string {
  const encoded = (before: readonly number[], after: readonly number[]) =>
    after.map((value, i) => Math.round(Math.log(value / before[i]!) / UNIT)).join(" ");
  return [
    encoded(base.cpu, head.cpu),
    encoded(base.elapsed, head.elapsed),
    encoded([base.memory], [head.memory]),
  ].join("|");
}

function decodePair(text: string): NoisePair {
  const [cpu, elapsed, memory] = text
    .split("|")
    .map((part) => part.split(" ").map((value) => Number(value) * UNIT));
  return { cpu: cpu!, elapsed: elapsed!, memory: memory![0]! };
}

/** The recorded pairs of each task, by run. */
export async function recordedNoise(): Promise<{
  readonly runs: number;
  readonly tasks: ReadonlyMap<string, readonly (readonly NoisePair[])[]>;
}> {
  const file = Bun.file(join(import.meta.dir, "recorded-noise.json"));
  const { runs, tasks } = (await file.json()) as RecordedNoise;
  const decoded = Object.entries(tasks).map(
    ([task, pairs]) => [task, pairs.map((run) => run.map(decodePair))] as const,
  );
  return { runs, tasks: new Map(decoded) };
}

/** A pair with these ratios, whose base takes 1. */
export function pairOf({ cpu, elapsed, memory }: NoisePair, factor: Factor = {}): ProcessPair {
  const side = (of: (ratio: number) => number, own: Factor): ProcessSide => ({
    cpu: cpu.map((ratio) => of(ratio) * (own.cpu ?? 1)),
    elapsed: elapsed.map((ratio) => of(ratio) * (own.elapsed ?? 1)),
    memory: of(memory) * (own.memory ?? 1),
  });
  return { base: side(() => 1, {}), head: side(Math.exp, factor) };
}

/** How many times as much the head takes. */
export type Factor = Partial<Record<"cpu" | "elapsed" | "memory", number>>;
