import type { Folder, Host } from "../files/host.ts";
import { closeSync, constants, readSync } from "node:fs";

/** The name of the file that marks a folder as a cache. */
export const CACHE_TAG: Buffer = Buffer.from("CACHEDIR.TAG");
/** Cache Directory Tagging Specification, version 0.6. */
const SIGNATURE = Buffer.from("Signature: 8a477f597d28d172789f06886806bc55");

/** Whether a folder has a file that marks it as a cache. One that cannot be read does not count. */
export function isCacheFolder(host: Host, folder: Folder): boolean {
  try {
    if (host.stat(folder, CACHE_TAG)?.type !== "file") return false;
    const fd = host.openFile(folder, CACHE_TAG, constants.O_RDONLY);
    try {
      const begin = Buffer.alloc(SIGNATURE.length);
      return readSync(fd, begin, 0, begin.length, 0) === begin.length && begin.equals(SIGNATURE);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}
