import type { Cache } from "../cache/cache.ts";
import type { Report } from "./report.ts";
import type { WalkSink } from "./folder-walk.ts";
import { isSameEntry } from "./tree/tree-builder.ts";
import { throwIfAborted } from "../read/aborted.ts";

const TURN_MS = 10;

/** Reads and counts what a backup would store. Equal new pieces are counted each time. */
export function dryRunSink(
  cache: Cache,
  report: Report,
  isUsable: (pack: number) => boolean,
  signal: AbortSignal,
): WalkSink {
  const { counts } = report;
  let lastTurn = performance.now();
  const turn = async (): Promise<void> => {
    report.progress();
    await new Promise<void>((resolve) => setImmediate(resolve));
    throwIfAborted(signal);
    lastTurn = performance.now();
  };
  return {
    cache,
    packer: undefined,
    isUsable,
    push(step) {
      if (step.kind === "same") counts.unchangedFiles += 1;
      if (step.kind !== "entry") return;
      if (step.before === undefined) counts.newFiles += 1;
      else if (isSameEntry(step.record(), step.before)) counts.unchangedFiles += 1;
      else counts.changedFiles += 1;
    },
    lastPiece: () => undefined,
    pause: () => (performance.now() - lastTurn > TURN_MS ? turn() : undefined),
    hasFailed: () => signal.aborted,
    onUsed() {
      // Nothing is committed.
    },
    onNew(bytes) {
      counts.newBytes += bytes;
    },
    onFile(bytes) {
      counts.files += 1;
      counts.bytes += bytes;
    },
    onFolder() {
      counts.directories += 1;
    },
    onGone() {
      counts.goneFiles += 1;
    },
    onError: (path, error) => report.error(path, error),
    onWarning: (path, message) => report.warning(path, message),
  };
}
