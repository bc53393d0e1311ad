import type { PutOptions } from "@idk/storage";
import { usage } from "../errors/failures.ts";
import { openInput } from "../input/input.ts";
import type { Session } from "../session.ts";
import { openStore } from "../stores/open-store.ts";
import { fileJournals, type FileJournalSettings, type FilePutOptions } from "./file-journals.ts";
import { storeAndPrint } from "./store-and-print.ts";

interface PutFileSettings extends FileJournalSettings {
  /** Number of threads; undefined for the library's default. */
  readonly workers: number | undefined;
  /** Bytes that the process may take; undefined for the library's default. */
  readonly memory: number | undefined;
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
  const { resume, store, workers, memory, used } = settings;
  const { content, file } = await openInput(path);
  if (resume === true && file === undefined) {
    throw usage("--resume takes a regular file, because the file is read again");
  }
  await using opened = await openStore(store, session, { workers, memory });
  const journal = await fileJournals(options, settings, session.out)(path, file);
  using meter = session.progress.start({ command: "put", name: path, totalBytes: file?.size });
  const upload = (onReport: PutOptions["onReport"]) =>
    opened.put(content, { ...options, journal, onProgress: meter.part(), onReport });
  await storeAndPrint({ store: upload, journal, meter, details: used }, session);
}
