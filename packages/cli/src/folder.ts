import { type Failure, reasonOf, systemCodeOf, usage } from "./failures.ts";
import { mkdir } from "node:fs/promises";

/**
 * Makes the folder of a store, unless it is there.
 *
 * @returns whether it was made
 */
export async function createFolder(path: string): Promise<boolean> {
  try {
    return (await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined;
  } catch (error) {
    throw folderFailure(path, error);
  }
}

/** What is said of a folder that could not be made. */
export function folderFailure(path: string, error: unknown): Failure {
  // A folder that is there is no error.
  const reason =
    systemCodeOf(error) === "EEXIST" ? "a file of that name is there" : reasonOf(error);
  return usage(`cannot create the folder ${path}: ${reason}`, error);
}
