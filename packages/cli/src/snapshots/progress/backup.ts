import type { BackupCounts, BackupEvent } from "@idk/snapshots";
import { codeOf, reasonOrMessageOf } from "../../errors/failures.ts";
import { printQueue } from "../../output/print-queue.ts";
import type { Meter } from "../../progress/meter.ts";
import type { Session } from "../../session.ts";
import { pathJson, pathText, rootless } from "../entries.ts";

/** Prints what a backup reports. */
export interface BackupReports {
  onEvent(event: BackupEvent): void;
  /** Whether the last snapshot shows about how much there is. */
  hasTotals(): boolean;
  /** Resolves when all is printed. */
  finish(): Promise<void>;
}

/** Warnings that are printed; the number of others is in the summary. */
const WARNINGS_MAX = 100;

/**
 * Shows the counts on the meter, and prints what could not be read as it is found: on standard error,
 * and with `--json` on standard output, because it is a result.
 */
export function backupReports(meter: Meter, { out }: Session): BackupReports {
  const queue = printQueue();
  let warnings = 0;
  let hasTotals = false;
  const update = meter.part();
  const amount = createAmounts();
  const note = (text: string): void => void queue.add(() => out.note(`idk: ${text}`));
  return {
    onEvent(event) {
      switch (event.kind) {
        case "start": {
          const { expected, notReused, resumedPacks, lost } = event;
          if (expected !== undefined) {
            hasTotals = true;
            meter.setTotals({ totalBytes: expected.bytes, totalItems: expected.files });
          }
          if (out.json) break;
          if (notReused !== undefined) note(`note: ${notReused}`);
          if (resumedPacks > 0) note("continuing an interrupted backup");
          if (lost.length > 0) note(`warning: this system cannot back up ${lost.join(", ")}`);
          break;
        }
        case "progress":
          update(amount(event.counts));
          break;
        case "error": {
          const { path, error } = event;
          const message = reasonOrMessageOf(error);
          void queue.add(async () => {
            const failure = { code: codeOf(error), message };
            await out.report({ ok: false, path: pathJson(rootless(path)), error: failure });
            if (!out.json)
              await out.fault(`idk: cannot read ${pathText(rootless(path))}: ${message}`);
          });
          break;
        }
        case "warning": {
          const { path, message } = event;
          warnings += 1;
          if (warnings > WARNINGS_MAX && path !== undefined) break;
          const of = path && rootless(path);
          void queue.add(async () => {
            await out.report({ warning: message, ...(of && { path: pathJson(of) }) });
            if (!out.json)
              await out.note(
                `idk: warning: ${of === undefined ? "" : `${pathText(of)}: `}${message}`,
              );
          });
          break;
        }
        case "part":
          break;
        default:
          event satisfies never;
      }
    },
    hasTotals: () => hasTotals,
    finish: () => queue.settled(),
  };
}

/**
 * What to show of the counts. A file counts when it has been read, which takes minutes for a large one:
 * until then its new bytes do.
 */
export function createAmounts(): (counts: BackupCounts) => {
  readonly bytes: number;
  readonly items: number;
  readonly newBytes: number;
} {
  let [whole, newThen, shown] = [0, 0, 0];
  return ({ files, bytes, newBytes }) => {
    if (bytes !== whole) [whole, newThen] = [bytes, newBytes];
    shown = Math.max(shown, whole + newBytes - newThen);
    return { bytes: shown, items: files, newBytes };
  };
}
