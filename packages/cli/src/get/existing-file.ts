import type { StoredContent } from "@idk/storage";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { reasonOf, usage } from "../errors/failures.ts";

/** A file that exists before its content is fetched. */
export interface ExistingFile {
  /**
   * Whether it has exactly this content. Compares chunk hashes without fetching chunks; compressed
   * content has to be fetched.
   *
   * @param onCompared receives the number of leading bytes compared
   */
  matches(content: StoredContent, onCompared: (bytes: number) => void): Promise<boolean>;
  close(): Promise<void>;
}

const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;

/** @returns undefined if there is no regular file, or it cannot be read */
export async function openExistingFile(
  path: string,
  { follow }: { readonly follow: boolean },
): Promise<ExistingFile | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  } catch {
    return undefined;
  }
  const stats = await handle.stat();
  if (!stats.isFile()) {
    await handle.close();
    return undefined;
  }
  const read = async (offset: number, into: Uint8Array): Promise<number> => {
    try {
      for (let filled = 0; ;) {
        const left = into.length - filled;
        const { bytesRead } = await handle.read(into, filled, left, offset + filled);
        filled += bytesRead;
        if (bytesRead === 0 || filled === into.length) return filled;
      }
    } catch (error) {
      throw usage(`cannot read ${path}: ${reasonOf(error)}`, error);
    }
  };
  return {
    async matches(content, onCompared) {
      if (stats.size !== content.size) return false;
      if (content.metadata["enc"] === undefined) {
        const matching = await content.matchingPrefix(async (offset, into) => {
          const length = await read(offset, into);
          onCompared(offset + length);
          return length;
        });
        return matching === content.size;
      }
      let offset = 0;
      for await (const piece of content.chunks()) {
        const mine = new Uint8Array(piece.length);
        if ((await read(offset, mine)) !== mine.length || Buffer.compare(mine, piece) !== 0) {
          return false;
        }
        offset += piece.length;
        onCompared(offset);
      }
      return true;
    },
    close: () => handle.close(),
  };
}
