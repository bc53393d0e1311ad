import { measurementOf } from "../../harness/results.ts";
import type { Measurement } from "../../report/report.ts";
import { mean } from "../../statistics/describe.ts";
import type { Random } from "../../statistics/random.ts";

/** The stages of storing a file, in order. */
export const STAGES = ["read", "compress", "key", "encrypt", "encode", "write"] as const;

export type Stage = (typeof STAGES)[number];

/** Seconds per stage of one file. */
export type StageTimes = Readonly<Record<Stage, number>>;

/** Assigns the time since the last lap to a stage. For one file. */
export function stopwatch(): { lap(stage: Stage): void; times(): StageTimes } {
  const times: Record<Stage, number> = {
    read: 0,
    compress: 0,
    key: 0,
    encrypt: 0,
    encode: 0,
    write: 0,
  };
  let last = performance.now();
  return {
    lap(stage) {
      const now = performance.now();
      times[stage] += (now - last) / 1000;
      last = now;
    },
    times: () => times,
  };
}

/** Measurements of the stages, with one sample per file. */
export function stageMeasurements(
  taken: Readonly<Record<string, readonly StageTimes[]>>,
  bytes: number,
  random: Random,
): { measurements: Measurement[]; notes: string[] } {
  const each = Object.entries(taken).flatMap(([pipeline, times]) =>
    STAGES.map((stage) => {
      const name = `${pipeline}, a file: ${stage}`;
      const samples = times.map((one) => ({ seconds: one[stage] }));
      return { pipeline, stage, name, series: `${pipeline}: ${stage}`, samples };
    }),
  );
  return {
    measurements: each.map(({ name, series, samples }) =>
      measurementOf({ name, series, bytesPerOperation: bytes }, samples, random),
    ),
    notes: [
      ...Object.keys(taken).map((pipeline) => {
        const parts = each
          .filter((one) => one.pipeline === pipeline)
          .map(({ stage, samples }) => `${stage} ${milliseconds(samples)}`);
        return `${pipeline}, mean ms per file: ${parts.join(", ")}`;
      }),
      "The stages of idk: key is X25519, encrypt is secretbox, write is the backend's put; compress runs the same codec separately on the same bytes; encode is the rest: derived keys, SHA-256, layout, and the store's overhead around the codec.",
    ],
  };
}

function milliseconds(samples: readonly { readonly seconds: number }[]): string {
  return (1000 * mean(samples.map(({ seconds }) => seconds))).toFixed(3);
}
