import { backupStatus } from "@idk/snapshots";
import { command, type Command } from "../../command.ts";
import { loadRecipients } from "../../keys/recipients.ts";
import { roundBytes } from "../../output/text.ts";
import { loadLastRun } from "../../snapshots/last-run.ts";
import {
  failedLines,
  unfinishedLine,
  unfinishedOf,
  unreadText,
} from "../../snapshots/unfinished.ts";
import { backupReports } from "../../snapshots/progress/backup.ts";
import { timeText } from "../../snapshots/entries.ts";
import { openForWriting } from "../../snapshots/opening/open-for-writing.ts";
import {
  failIfIncomplete,
  optionsOf,
  reportNew,
  summaryJson,
  WHAT,
  whatToStore,
} from "./backup.ts";

/** Prints what a backup of the same paths would store now, and what this machine knows of the last. */
export const status: Command = command(WHAT, async (settings, session) => {
  const { out, signal } = session;
  const what = await whatToStore(settings, session);
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
  const { backend, pinned } = opened.repository;
  // Packs have the store's times, and the clock of this machine may be wrong.
  const now = unfinished === undefined ? 0 : await backend.currentTime({ signal });
  const sessions = unfinishedOf(unfinished, pinned, now);
  const { newFiles, changedFiles, goneFiles, unchangedFiles, newBytes, errors } = pending;
  const lines = [
    `name        ${what.name}`,
    `last        ${last === undefined ? "none from this machine, so a backup sends everything" : `${last.address.slice(0, 20)}  ${timeText(last.storedAt)} UTC`}`,
    `to store    ${newFiles} new and ${changedFiles} changed files, ${roundBytes(newBytes)}; ${goneFiles} gone, ${unchangedFiles} unchanged`,
    ...(errors > 0 ? [`unreadable  ${unreadText(errors)}`] : []),
    ...failedLines(lastRun),
    unfinishedLine(sessions),
  ];
  await out.result(lines.join("\n"), {
    name: what.name,
    last: last ?? null,
    lastRun: lastRun ?? null,
    unfinished: sessions ?? null,
    pending: summaryJson(pending),
    ...(opened.isNew && { newRepository: true }),
  });
  await out.flush();
  failIfIncomplete(pending, true);
});
