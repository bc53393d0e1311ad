import type { PutOptions } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { isResumed } from "../config/settings.ts";
import { codeOf } from "../errors/failures.ts";
import type { UserFolders } from "../folders.ts";
import type { FileState } from "../input/input.ts";
import type { Output } from "../output/output.ts";
import { count } from "../output/text.ts";
import type { OpenPutJournal } from "./put-journal.ts";

/** How the content of files is cut and sealed, all of it said. */
export type FilePutOptions = Pick<
  PutOptions,
  "metadata" | "chunkSize" | "dedupSecret" | "signal"
> & {
  readonly recipients: readonly string[];
  readonly padding: "padme" | "none";
  readonly compression: NonNullable<PutOptions["compression"]>;
};

export interface FileJournalSettings {
  /** What `--resume` and `--no-resume` say. */
  readonly resume: boolean | undefined;
  readonly store: StoreLocation;
  readonly folders: UserFolders;
}

/** @returns undefined where the file is to have no journal, or cannot have one */
export type OpenFileJournal = (
  path: string,
  file: FileState | undefined,
) => Promise<OpenPutJournal | undefined>;

/** Opens the journals of files that are put in one way. */
export function fileJournals(
  options: FilePutOptions,
  { resume, store, folders }: FileJournalSettings,
  out: Output,
): OpenFileJournal {
  const { recipients, chunkSize, padding, compression, dedupSecret } = options;
  const cut = { chunkSize, padding: padding === "padme", compress: compression };
  return async (path, file) => {
    if (file === undefined || !isResumed(resume, file.size)) return undefined;
    // SQLite is loaded where there is something to keep.
    const { openPutJournal } = await import("./put-journal.ts");
    return openPutJournal({ path, file, store, recipients, cut, dedupSecret }, folders, out);
  };
}

/**
 * Closes the journal of a put that failed.
 *
 * @returns what to tell people, where the next run has something to continue
 */
export function closeUnfinished(
  journal: OpenPutJournal | undefined,
  error: unknown,
): string | undefined {
  const noted = journal?.count() ?? 0;
  journal?.close();
  // A file that changed is another one the next time.
  if (noted === 0 || codeOf(error) === "usage") return undefined;
  return `${count(noted, "chunk")} are stored: the same command continues there`;
}
