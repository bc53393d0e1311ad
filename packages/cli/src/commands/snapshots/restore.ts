import { type FoundSnapshot, restore as restoreFiles, type RestoreSummary } from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { field, flag, newPath, optional, snapshot, texts, workers } from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { quotedWord } from "../../output/secrets.ts";
import { count, roundBytes } from "../../output/text.ts";
import { identityJson, identityText } from "../../snapshots/entries.ts";
import { splitSnapshotPath } from "../../snapshots/names.ts";
import { READING } from "../../snapshots/opening/open-repository.ts";
import { restoreReports } from "../../snapshots/progress/restore.ts";
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
