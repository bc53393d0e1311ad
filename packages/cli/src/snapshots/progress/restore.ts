import type { RestoreEvent } from "@idk/snapshots";
import { codeOf, type FailureCode, reasonOrMessageOf, worstOf } from "../../errors/failures.ts";
import { printQueue } from "../../output/print-queue.ts";
import { printable } from "../../output/text.ts";
import type { Meter } from "../../progress/meter.ts";
import type { Session } from "../../session.ts";
import { pathText, textOrBytes } from "../entries.ts";

/** Prints what a restore reports. */
export interface RestoreReports {
  /** @returns a promise if the restore should wait for what is printed */
  onEvent(event: RestoreEvent): Promise<void> | undefined;
  /** Resolves when all is printed. */
  finish(): Promise<void>;
  /** The code of the worst error so far. */
  worst(): FailureCode;
}

/** Warnings that are printed; the number of others is in the summary. */
const WARNINGS_MAX = 100;

/** Prints failures as they occur; with --json, and in a dry run, every entry too. */
export function restoreReports(
  meter: Meter,
  { out }: Pick<Session, "out">,
  { target, dryRun }: { readonly target: string; readonly dryRun: boolean },
): RestoreReports {
  const queue = printQueue();
  const codes = new Set<FailureCode>();
  let warnings = 0;
  const update = meter.part();
  const shown = (path: Uint8Array): string => printable(target) + pathText(path);
  return {
    onEvent(event) {
      switch (event.kind) {
        case "start": {
          const { announced, lost } = event;
          meter.setTotals({ totalBytes: announced.bytes, totalItems: announced.files });
          if (lost.length > 0 && !out.json) {
            const warning = `idk: warning: this system cannot restore ${lost.join(", ")}`;
            return queue.add(() => out.note(warning));
          }
          return undefined;
        }
        case "progress": {
          const { bytes, files } = event.counts;
          update({ bytes, items: files });
          return undefined;
        }
        case "entry": {
          const { type, action } = event;
          if (out.json) {
            return queue.add(() => out.report({ path: textOrBytes(event.path), type, action }));
          }
          if (!dryRun || action === "unchanged" || action === "kept") return undefined;
          return queue.add(() => out.result(`${action.padEnd(9)} ${shown(event.path)}`, undefined));
        }
        case "deleted": {
          const { path } = event;
          if (out.json) {
            return queue.add(() => out.report({ path: textOrBytes(path), action: "deleted" }));
          }
          if (!dryRun) return undefined;
          return queue.add(() => out.result(`deleted   ${shown(path)}`, undefined));
        }
        case "error": {
          const { path, error } = event;
          const code = codeOf(error);
          // A system error is of the target.
          codes.add(code === "unexpected" ? "output" : code);
          const message = reasonOrMessageOf(error);
          return queue.add(async () => {
            await out.report({ ok: false, path: textOrBytes(path), error: { code, message } });
            if (!out.json) await out.fault(`idk: cannot restore ${shown(path)}: ${message}`);
          });
        }
        case "warning": {
          const { path, message } = event;
          warnings += 1;
          if (warnings > WARNINGS_MAX) return undefined;
          return queue.add(async () => {
            await out.report({ warning: message, path: textOrBytes(path) });
            if (!out.json) await out.note(`idk: warning: ${shown(path)}: ${message}`);
          });
        }
        default:
          return event satisfies never;
      }
    },
    finish: () => queue.settled(),
    worst: () => worstOf([...codes]),
  };
}
