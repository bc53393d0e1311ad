import type { PutReport } from "@idk/storage";
import { usage } from "../errors/failures.ts";
import { openInput } from "../input/input.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";
import {
  closeUnfinished,
  fileJournals,
  type FileJournalSettings,
  type FilePutOptions,
} from "./file-journals.ts";
import { describeSkipped } from "./put-report.ts";

interface PutFileSettings extends FileJournalSettings {
  /** Number of threads; undefined for the library's default. */
  readonly workers: number | undefined;
  /** Added to the result in JSON. */
  readonly used: object;
}

/** Stores one file, resuming an interrupted put of it, and prints its address. */
export async function putFile(
  path: string,
  options: FilePutOptions,
  settings: PutFileSettings,
  session: Session,
): Promise<void> {
  const { out } = session;
  const { resume, store, workers, used } = settings;
  const { content, file } = await openInput(path);
  if (resume === true && file === undefined) {
    throw usage("--resume takes a regular file, because the file is read again");
  }
  await using opened = await openStore(store, session, { workers });
  const journal = await fileJournals(options, settings, out)(path, file);
  const continues = (journal?.count() ?? 0) > 0;
  using meter = session.progress.start({ command: "put", name: path, totalBytes: file?.size });
  let report: PutReport | undefined;
  let summary: string | undefined;
  try {
    const address = await opened.put(content, {
      ...options,
      journal,
      onProgress: meter.part(),
      onReport: (made) => {
        report = made;
      },
    });
    summary = meter.finish();
    await out.result(address, { address, ...report, ...used });
    // Print the address before anything else: a put that did not print it has to be repeated.
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
    await out.note(`idk: resumed: ${skippedChunks} of ${chunks} chunks were already stored`);
    return;
  }
  const skipped = describeSkipped(report);
  if (skipped !== undefined) await out.note(`idk: ${skipped}`);
}
