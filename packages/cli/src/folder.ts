import { reasonOf, usage } from "./failures.ts";
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
    throw usage(`cannot create the folder ${path}: ${reasonOf(error)}`, error);
  }
}
