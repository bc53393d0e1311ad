import type { Address, Store } from "@idk/storage";
import { codeOf } from "../errors/failures.ts";
import { count, roundBytes } from "../output/text.ts";
import type { Session } from "../session.ts";

/** What stays in the store when a blob is removed: the chunks below a root. */
export interface ChunksLeft {
  readonly chunks: number;
  /** Bytes of the whole tree as stored. */
  readonly bytes: number;
}

/**
 * Finds out what would stay. A chunk has nothing below it, nor has a root with its content inline.
 *
 * @returns undefined if no identity opens the blob, or it cannot be read
 */
export async function chunksBelow(
  opened: Pick<Store, "stat">,
  address: Address,
  signal: AbortSignal,
): Promise<ChunksLeft | undefined> {
  try {
    const { depth, chunks, storedBytes } = await opened.stat(address, { signal });
    return depth === 0 ? NOTHING : { chunks, bytes: storedBytes };
  } catch (error) {
    signal.throwIfAborted();
    const code = codeOf(error);
    if (code === "unexpected") throw error;
    // Not a root, or longer than any root.
    return code === "format" || code === "limit" ? NOTHING : undefined;
  }
}

const NOTHING: ChunksLeft = { chunks: 0, bytes: 0 };

/** Sums up what removals leave in the store. */
export interface LeftTally {
  add(left: ChunksLeft | undefined): void;
  /** Notes what stays, and how to remove it; nothing if nothing does. */
  note(): Promise<void>;
}

const HOW =
  "To remove them, use `idk rm --tree` on another root that shares them; if there is none, `idk rm` on " +
  "their addresses, which `idk ls --long --all` lists. With --tree, rm removes a root and its chunks";

export function createLeftTally({ out }: Pick<Session, "out">): LeftTally {
  const sum = { roots: 0, chunks: 0, bytes: 0, unknown: 0 };
  return {
    add(left) {
      if (left === undefined) sum.unknown += 1;
      else if (left.chunks > 0) {
        sum.roots += 1;
        sum.chunks += left.chunks;
        sum.bytes += left.bytes;
      }
    },
    async note() {
      if (out.json) return;
      const { roots, chunks, bytes, unknown } = sum;
      if (roots > 0) {
        const below = roots === 1 ? "of this root" : `of ${count(roots, "root")}`;
        const stay = chunks === 1 ? "stays" : "stay";
        await out.note(
          `idk: note: ${count(chunks, "chunk")} ${below} ${stay} in the store, about ${roundBytes(bytes)}. ${HOW}`,
        );
      }
      if (unknown > 0) {
        await out.note(
          `idk: note: no identity opened ${count(unknown, "removed blob")}: if ${unknown === 1 ? "it was a root" : "these were roots"} ` +
            "of more than 1 MiB, the chunks stay. `idk rm --tree` removes them with a root",
        );
      }
    },
  };
}
