import type { PutOptions } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { resolve } from "node:path";
import { isResumed } from "../config/settings.ts";
import { codeOf } from "../errors/failures.ts";
import type { UserFolders } from "../folders.ts";
import type { FileState } from "../input/input.ts";
import type { Output } from "../output/output.ts";
import { count } from "../output/text.ts";
import type { OpenPutJournal } from "./put-journal.ts";

/** The put options of files, with explicit defaults. */
export type FilePutOptions = Pick<
  PutOptions,
  "metadata" | "chunkSize" | "dedupSecret" | "signal"
> & {
  readonly recipients: readonly string[];
  readonly padding: "padme" | "none";
  readonly compression: NonNullable<PutOptions["compression"]>;
};

export interface FileJournalSettings {
  /** The value of `--resume` and `--no-resume`. */
  readonly resume: boolean | undefined;
  readonly store: StoreLocation;
  readonly folders: UserFolders;
}

/** @returns undefined if the file needs no journal or cannot have one */
export type OpenFileJournal = (
  path: string,
  file: FileState | undefined,
) => Promise<OpenPutJournal | undefined>;

/** Opens the journals of files stored with the same options. */
export function fileJournals(
  options: FilePutOptions,
  { resume, store, folders }: FileJournalSettings,
  out: Output,
): OpenFileJournal {
  const { recipients, chunkSize, padding, compression, dedupSecret } = options;
  const cut = { chunkSize, padding: padding === "padme", compress: compression };
  return async (path, file) => {
    if (file === undefined || !isResumed(resume, file.size)) return undefined;
    // Load SQLite only if a journal is needed.
    const { openPutJournal } = await import("./put-journal.ts");
    const binding = { path, source: resolve(path), file, store, recipients, cut, dedupSecret };
    return openPutJournal(binding, folders, out);
  };
}

/**
 * Closes the journal of a put that failed.
 *
 * @returns a note for the user if the next run can resume
 */
export function closeUnfinished(
  journal: OpenPutJournal | undefined,
  error: unknown,
): string | undefined {
  const noted = journal?.count() ?? 0;
  journal?.close();
  // A file that has changed cannot be resumed.
  if (noted === 0 || codeOf(error) === "usage") return undefined;
  return `${count(noted, "chunk")} are stored: run the same command again to resume`;
}
