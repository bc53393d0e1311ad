import { backupStatus } from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { loadRecipients } from "../../keys/recipients.ts";
import { count, roundBytes } from "../../output/text.ts";
import { type LastRun, loadLastRun } from "../../snapshots/last-run.ts";
import { backupReports } from "../../snapshots/backup-progress.ts";
import { timeText } from "../../snapshots/entries.ts";
import { openForWriting } from "../../snapshots/open-for-writing.ts";
import { optionsOf, reportNew, summaryJson, WHAT, whatToStore } from "./backup.ts";

/** Prints what a backup of the same paths would store now, and what this machine knows of the last. */
export const status: Command = command(WHAT, async (settings, session) => {
  const { out, signal } = session;
  const what = await whatToStore(settings);
  const to = await loadRecipients(settings.recipients);
  await using opened = await openForWriting(settings, { name: what.name, dryRun: true }, session);
  using meter = session.progress.start({ command: "status", noun: "file" });
  const reports = backupReports(meter, session);
  const { pending, last, unfinished } = await backupStatus(opened.repository, {
    ...(await optionsOf(settings, what, to, opened.places)),
    onEvent: reports.onEvent,
    signal,
  });
  meter.finish();
  await reports.finish();
  await reportNew(opened, session);
  const lastRun = await loadLastRun(opened.places.lastRunOf(what.name));
  const { graceSeconds } = opened.repository.pinned;
  // As the library decides what it uses again.
  const isStuck = unfinished && Date.now() - unfinished.since > (graceSeconds * 1000) / 2;
  const { newFiles, changedFiles, goneFiles, unchangedFiles, newBytes, errors } = pending;
  const lines = [
    `name        ${what.name}`,
    `last        ${last === undefined ? "none from this machine: it knows nothing of what is stored, and sends everything" : `${last.address.slice(0, 20)}  ${timeText(last.storedAt)} UTC`}`,
    `to store    ${newFiles} new and ${changedFiles} changed files, ${roundBytes(newBytes)}; ${goneFiles} gone, ${unchangedFiles} unchanged`,
    ...(errors > 0 ? [`unreadable  ${count(errors, "file")}`] : []),
    ...failedLines(lastRun),
    unfinished === undefined
      ? "unfinished  nothing"
      : `unfinished  ${count(unfinished.packs, "pack")} since ${timeText(unfinished.since)} UTC: ` +
        (isStuck
          ? "the next backup sends again what is too old to be used, and `idk prune` frees it"
          : "the next backup uses them"),
  ];
  await out.result(lines.join("\n"), {
    name: what.name,
    last: last ?? null,
    lastRun: lastRun ?? null,
    unfinished: unfinished === undefined ? null : { ...unfinished, stuck: isStuck },
    pending: summaryJson(pending),
    ...(opened.isNew && { newRepository: true }),
  });
});

/** Files that are listed; the number of others is printed. */
const FILES_MAX = 20;

/** What went wrong in the last run. */
function failedLines(run: LastRun | undefined): string[] {
  if (run === undefined || (run.failed === 0 && run.error === undefined)) return [];
  const { at, failed, files, error } = run;
  const when = `of the last backup, ${timeText(at)} UTC`;
  if (error !== undefined) return [`failed      all ${when}: ${error.message}`];
  const shown = files.slice(0, FILES_MAX);
  const more = failed - shown.length;
  return [
    `failed      ${count(failed, "file")} ${when}`,
    ...shown.map(({ path, message }) => `            ${path}: ${message}`),
    ...(more > 0 ? [`            and ${more} more`] : []),
  ];
}
