import type { Session } from "../../session.ts";

interface StageProgress {
  readonly stage: string;
  readonly done: number;
  readonly total?: number | undefined;
}

/** Shows the progress of work in stages, each of which counts something else. */
export interface StageMeter extends Disposable {
  onProgress(progress: StageProgress): void;
  finish(): void;
}

/** What the items of the stages are called. */
const NOUNS: Readonly<Record<string, string>> = {
  blobs: "blob",
  checking: "head",
  deleting: "deletion",
  files: "file",
  heads: "head",
  packs: "pack",
  reaches: "list of packs",
  trees: "folder",
};

export function stageMeter(command: string, { progress }: Session): StageMeter {
  let current:
    | { readonly stage: string; readonly meter: ReturnType<typeof progress.start> }
    | undefined;
  let update: ((amount: { bytes: number; items: number }) => void) | undefined;
  const end = (): void => {
    current?.meter.finish();
    current = undefined;
  };
  return {
    onProgress({ stage, done, total }) {
      if (current?.stage !== stage) {
        end();
        const meter = progress.start({ command, noun: NOUNS[stage] ?? stage });
        current = { stage, meter };
        update = meter.part();
      }
      if (total !== undefined) current.meter.setTotals({ totalItems: total });
      update?.({ bytes: 0, items: done });
    },
    finish: end,
    [Symbol.dispose]: end,
  };
}
