import type { PutReport, Store } from "@idk/storage";
import { isResumed } from "../config/settings.ts";
import { count } from "../output/text.ts";
import { closeUnfinished, type FileJournalSettings } from "../put/file-journals.ts";
import type { OpenPutJournal } from "../put/put-journal.ts";
import type { Session } from "../session.ts";

/**
 * Stores content again under new keys, resuming an interrupted run, and prints its new address.
 *
 * @param used added to the result in JSON
 */
export async function resealContent(
  opened: Store,
  previous: string,
  recipients: readonly string[],
  settings: FileJournalSettings,
  used: object,
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  const { size } = await opened.stat(previous, { signal });
  const journal = await openJournal(previous, size, recipients, settings, session);
  const continues = (journal?.count() ?? 0) > 0;
  using meter = session.progress.start({ command: "rewrap", name: previous });
  const update = meter.part();
  let report: PutReport | undefined;
  let summary: string | undefined;
  try {
    const address = await opened.reseal(previous, recipients, {
      journal,
      signal,
      onProgress(done) {
        meter.setTotals({ totalBytes: done.total });
        update(done);
      },
      onReport(made) {
        report = made;
      },
    });
    summary = meter.finish();
    await out.result(address, { address, previous, ...report, ...used });
    // Before anything else: a reseal that did not print its address has to be repeated.
    await out.flush();
  } catch (error) {
    const note = closeUnfinished(journal, error);
    if (note !== undefined && !out.json) await out.note(`idk: ${note}`);
    throw error;
  }
  journal?.remove();
  if (out.json || report === undefined) return;
  if (summary !== undefined) await out.note(`idk: stored ${summary}`);
  const { chunks, skippedChunks } = report;
  if (continues && skippedChunks > 0) {
    await out.note(
      `idk: resumed: ${skippedChunks} of ${count(chunks, "chunk")} were already stored`,
    );
  }
}

async function openJournal(
  address: string,
  size: number,
  recipients: readonly string[],
  { resume, store, folders }: FileJournalSettings,
  { out }: Session,
): Promise<OpenPutJournal | undefined> {
  if (!isResumed(resume, size)) return undefined;
  // Load SQLite only if a journal is needed.
  const { openPutJournal } = await import("../put/put-journal.ts");
  // Content never changes under its address.
  const file = { size, mtimeNs: 0n, inode: 0n };
  const source = `reseal of ${address}`;
  const binding = {
    path: address,
    source,
    file,
    store,
    recipients,
    cut: {},
    dedupSecret: undefined,
  };
  return openPutJournal(binding, folders, out);
}
