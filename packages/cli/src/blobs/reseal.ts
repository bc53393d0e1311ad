import type { ResealOptions, Store } from "@idk/storage";
import { isResumed } from "../config/settings.ts";
import { usage } from "../errors/failures.ts";
import type { Meter } from "../progress/meter.ts";
import { formatBytes } from "../output/text.ts";
import type { FileJournalSettings } from "../put/file-journals.ts";
import type { OpenPutJournal } from "../put/put-journal.ts";
import { storeAndPrint } from "../put/store-and-print.ts";
import type { Session } from "../session.ts";

export interface ResealSettings extends FileJournalSettings {
  /** The most bytes to store again, with padding; undefined for no limit. */
  readonly maxSize: number | undefined;
}

/**
 * Stores content again under new keys, resuming an interrupted run, and prints its new address.
 *
 * @param used added to the result in JSON
 * @param meter the progress of several contents, of which this is one
 */
export async function resealContent(
  opened: Store,
  previous: string,
  recipients: readonly string[],
  settings: ResealSettings,
  used: object,
  session: Session,
  meter?: Meter,
): Promise<void> {
  const { signal } = session;
  const { maxSize } = settings;
  const { size, encodedSize = size, padding } = await opened.stat(previous, { signal });
  // What is written: compressed content stays compressed, whatever length it claims to expand to.
  const length = encodedSize + padding;
  if (maxSize !== undefined && length > maxSize) {
    throw usage(
      `${previous} has ${formatBytes(length)} to store again, and --max-size allows ${maxSize}: raise ` +
        "it to reseal this content",
    );
  }
  const journal = await openJournal(previous, size, recipients, settings, session);
  using own =
    meter === undefined ? session.progress.start({ command: "rewrap", name: previous }) : undefined;
  const update = (meter ?? own)?.part();
  const store = (onReport: ResealOptions["onReport"]) =>
    opened.reseal(previous, recipients, {
      journal,
      signal,
      onProgress(done) {
        own?.setTotals({ totalBytes: done.total });
        update?.(done);
      },
      onReport,
    });
  const one = meter === undefined ? undefined : previous;
  const details = { previous, ...used };
  await storeAndPrint({ store, journal, meter: own, one, details }, session);
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
