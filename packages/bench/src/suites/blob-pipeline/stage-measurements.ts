import { STAGES, type StageTimes } from "./stages.ts";
import type { Measurement } from "../../report/report.ts";
import type { Random } from "../../statistics/random.ts";
import { measurementOf } from "../../harness/results.ts";
import { mean } from "../../statistics/describe.ts";

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
