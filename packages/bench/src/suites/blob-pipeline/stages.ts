import { measurementOf } from "../../harness/results.ts";
import type { Measurement } from "../../report/report.ts";
import { mean } from "../../statistics/describe.ts";
import type { Random } from "../../statistics/random.ts";

/** What a file goes through, in this order. */
export const STAGES = ["read", "compress", "key", "encrypt", "encode", "write"] as const;

export type Stage = (typeof STAGES)[number];

/** Seconds of each stage, of one file. */
export type StageTimes = Readonly<Record<Stage, number>>;

/** Adds up the seconds between laps, for one file. */
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

/** What the stages took; a sample is that of a file. */
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
        return `${pipeline}, ms of a file on average: ${parts.join(", ")}`;
      }),
      "The stages of idk: key is X25519, encrypt secretbox, write the backend's put; compress is the same codec by itself over the same bytes; encode is what is left, with derived keys, SHA-256, layout, and what the store does around the codec.",
    ],
  };
}

function milliseconds(samples: readonly { readonly seconds: number }[]): string {
  return (1000 * mean(samples.map(({ seconds }) => seconds))).toFixed(3);
}
