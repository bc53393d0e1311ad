import { StorageError } from "@idk/storage";
import { codeOf } from "../files/errors.ts";
import { isFaultForNow } from "../repository/find-heads.ts";

/** What no other file would be spared either. */
const FATAL: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full: make room, and run the same restore again",
  EDQUOT: "the disk quota is exhausted: make room, and run the same restore again",
  EROFS: "the file system is read-only",
};

/**
 * Returns if a failure is of one entry, so that the others can be restored.
 *
 * @throws StorageError if it is not
 */
export function assertOfOne(error: unknown): void {
  const code = codeOf(error);
  const fatal = code === undefined ? undefined : FATAL[code];
  if (fatal !== undefined) throw new StorageError("unavailable", fatal, { cause: error });
  const isOfOne: boolean = isFaultForNow(error);
  // Without a code it is a mistake of ours.
  if (!isOfOne && (error instanceof StorageError || code === undefined)) throw error;
}
