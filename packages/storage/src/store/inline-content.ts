import { throwIfAborted } from "../abort.ts";
import type { ContentReader } from "./content-reader.ts";
import type { LentRoot } from "./read-root.ts";
import { equal } from "../bytes.ts";

/**
 * Content that came with its root. It stays where it was opened and is handed out once, without a
 * copy; whoever reads it again has the root fetched again, as chunks are.
 */
export function inlineContent(
  lent: LentRoot,
  fetchAgain: (signal: AbortSignal) => Promise<LentRoot>,
): ContentReader {
  let held: LentRoot | undefined = lent;
  const take = async (signal: AbortSignal): Promise<LentRoot> => {
    throwIfAborted(signal);
    const taken = held;
    held = undefined;
    return taken ?? fetchAgain(signal);
  };
  return {
    async matchingPrefix(have, { start, end }, { signal }) {
      const { root, release } = await take(signal);
      const mine = new Uint8Array(end - start);
      const matches = (await have(start, mine)) === mine.length && equal(mine, root.body);
      release();
      return matches ? mine.length : 0;
    },
    async *pieces({ start, end }, { signal, onProgress }) {
      const { root, release } = await take(signal);
      onProgress?.({ bytes: end - start, total: end - start, chunks: 0 });
      if (end > start) yield root.body.subarray(start, end);
      release();
    },
    async copyTo(result, { start, end }, { signal, onProgress }) {
      const { root, release } = await take(signal);
      onProgress?.({ bytes: end - start, total: end - start, chunks: 0 });
      result.set(root.body.subarray(start, end));
      release();
    },
  };
}
