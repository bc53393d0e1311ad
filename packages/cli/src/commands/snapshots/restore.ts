import {
  type FoundSnapshot,
  restore as restoreFiles,
  type RestoreEvent,
  type RestoreSummary,
} from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { field, flag, newPath, optional, snapshot, texts, workers } from "../../config/settings.ts";
import {
  codeOf,
  Failure,
  type FailureCode,
  reasonOrMessageOf,
  usage,
  worstOf,
} from "../../errors/failures.ts";
import { quotedWord } from "../../output/secrets.ts";
import { count, printable, roundBytes } from "../../output/text.ts";
import type { Meter } from "../../progress/meter.ts";
import type { Session } from "../../session.ts";
import { identityJson, identityText, pathText, textOrBytes } from "../../snapshots/entries.ts";
import { splitSnapshotPath } from "../../snapshots/names.ts";
import { READING } from "../../snapshots/opening/open-repository.ts";
import { unreadText } from "../../snapshots/unfinished.ts";
import { withPathHint } from "../../snapshots/resolve.ts";
import { startReading } from "./open.ts";

const OVERWRITES = ["always", "if-changed", "never"] as const;

function parseOverwrite(given: string): (typeof OVERWRITES)[number] {
  const known = OVERWRITES.find((name) => name === given);
  if (known === undefined) throw new Error("must be always, if-changed or never");
  return known;
}

/** Restores a snapshot, or a part of it, into a folder. */
export const restore: Command = command(
  {
    ...READING,
    snapshot,
    target: optional(newPath),
    include: texts,
    exclude: texts,
    overwrite: optional(field(parseOverwrite)),
    delete: flag,
    verify: flag,
    dryRun: flag,
    owner: flag,
    numericOwner: flag,
    setId: flag,
    devices: flag,
    workers,
    acceptRollback: flag,
  },
  async (settings, session) => {
    const { target, include, exclude, overwrite, verify, dryRun } = settings;
    const { owner, numericOwner, setId, devices, delete: deletes } = settings;
    if (target === undefined) throw usage("name the folder to restore into with --target DIR");
    const { snapshot: name, path } = splitSnapshotPath(settings.snapshot);
    const { out, signal } = session;
    await using reading = await startReading(settings, session);
    const opened = await reading.snapshot(name);
    const unread = opened.snapshot.totals.errors;
    if (deletes && unread > 0) {
      const lacking = `this snapshot lacks ${unreadText(unread)} that its backup could not read`;
      const warning = `${lacking}; --delete deletes such files from the target`;
      if (out.json) await out.report({ warning });
      else await out.note(`idk: warning: ${warning}`);
    }
    using meter = session.progress.start({ command: "restore", noun: "file" });
    const reports = restoreReports(meter, session, { target, dryRun });
    const run = restoreFiles(opened, {
      target,
      ...(path !== undefined && path !== "" && { path }),
      include,
      exclude,
      overwrite: overwrite ?? "always",
      delete: deletes,
      verify,
      dryRun,
      owner,
      numericOwner,
      setId,
      devices,
      workers: settings.workers,
      onEvent: reports.onEvent,
      signal,
    });
    const summary = await run.catch(async (error: unknown) => {
      if (signal.aborted && !dryRun && !out.json) {
        await out.note("idk: to continue, run it again with --overwrite if-changed");
      }
      throw withPathHint(error, name);
    });
    meter.finish();
    await reports.finish();
    const { found } = opened;
    await out.result(describe(summary, { found, target, dryRun }), {
      ...counts(summary),
      ...identityJson(found),
      target,
      dryRun,
    });
    await out.flush();
    if (summary.errors > 0) {
      const message = `${count(summary.errors, "file")} could not be restored`;
      throw new Failure(reports.worst(), message);
    }
    const { files, directories, kept, skipped } = summary;
    if (include.length > 0 && files + directories + kept + skipped === 0) {
      const patterns = include.map((each) => quotedWord(each)).join(" or ");
      throw new Failure("not-found", `nothing in the snapshot matches --include ${patterns}`);
    }
  },
);

/** Without the lists, which were printed. */
function counts(summary: RestoreSummary): object {
  const { errorList: _, warningList: __, ...rest } = summary;
  return rest;
}

function describe(
  summary: RestoreSummary,
  {
    found,
    target,
    dryRun,
  }: { readonly found: FoundSnapshot; readonly target: string; readonly dryRun: boolean },
): string {
  const { files, directories, bytes, unchanged, kept, skipped, deleted, errors } = summary;
  const parts = [
    `${count(files, "file")} and ${count(directories, "folder")}`,
    `${roundBytes(bytes)} ${dryRun ? "to write" : "written"}`,
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(kept > 0 ? [`${kept} kept as they were`] : []),
    ...(skipped > 0 ? [`${skipped} skipped (devices: --devices)`] : []),
    ...(deleted > 0 ? [`${deleted} deleted`] : []),
    ...(errors > 0 ? [`${errors} failed`] : []),
  ];
  const verb = dryRun ? "would restore" : "restored";
  return `${verb} ${identityText(found)}: ${parts.join(", ")}, in ${target}`;
}

/** Warnings that are printed; the number of others is in the summary. */
const WARNINGS_MAX = 100;

/** Prints failures as they occur; with --json, and in a dry run, every entry too. */
function restoreReports(
  meter: Meter,
  { out }: Session,
  { target, dryRun }: { readonly target: string; readonly dryRun: boolean },
) {
  let printed = Promise.resolve();
  const codes = new Set<FailureCode>();
  let warnings = 0;
  const update = meter.part();
  const shown = (path: Uint8Array): string => printable(target) + pathText(path);
  const print = (work: () => Promise<void>): void => {
    printed = printed.then(work);
    // Awaited in the end; until then a rejection must not count as unhandled.
    printed.catch(() => undefined);
  };
  return {
    onEvent(event: RestoreEvent): void {
      switch (event.kind) {
        case "start": {
          const { announced, lost } = event;
          meter.setTotals({ totalBytes: announced.bytes, totalItems: announced.files });
          if (lost.length > 0 && !out.json) {
            print(() => out.note(`idk: warning: this system cannot restore ${lost.join(", ")}`));
          }
          break;
        }
        case "progress": {
          const { bytes, files } = event.counts;
          update({ bytes, items: files });
          break;
        }
        case "entry": {
          const { type, action } = event;
          if (out.json) print(() => out.report({ path: textOrBytes(event.path), type, action }));
          else if (dryRun && action !== "unchanged" && action !== "kept") {
            print(() => out.result(`${action.padEnd(9)} ${shown(event.path)}`, undefined));
          }
          break;
        }
        case "deleted": {
          const { path } = event;
          if (out.json) print(() => out.report({ path: textOrBytes(path), action: "deleted" }));
          else if (dryRun) print(() => out.result(`deleted   ${shown(path)}`, undefined));
          break;
        }
        case "error": {
          const { path, error } = event;
          const code = codeOf(error);
          // A system error is of the target.
          codes.add(code === "unexpected" ? "output" : code);
          const message = reasonOrMessageOf(error);
          print(async () => {
            await out.report({ ok: false, path: textOrBytes(path), error: { code, message } });
            if (!out.json) await out.fault(`idk: cannot restore ${shown(path)}: ${message}`);
          });
          break;
        }
        case "warning": {
          const { path, message } = event;
          warnings += 1;
          if (warnings > WARNINGS_MAX) break;
          print(async () => {
            await out.report({ warning: message, path: textOrBytes(path) });
            if (!out.json) await out.note(`idk: warning: ${shown(path)}: ${message}`);
          });
          break;
        }
        default:
          event satisfies never;
      }
    },
    finish: () => printed,
    worst: () => worstOf([...codes]),
  };
}
