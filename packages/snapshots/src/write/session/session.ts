import { HASH_LENGTH, UUID_LENGTH } from "../../format/limits.ts";
import type { ReusablePacks, SessionStart } from "./start.ts";
import { type Committing, type ToCommit, commit } from "./commit.ts";
import type { Marker } from "../../format/names/marker.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import type { WriterState } from "./state.ts";
import { packFills, sparsePacks } from "./sparse.ts";
import { toHex } from "@idk/storage/blobs";

/** What a pack is taken for whose use is not known yet. */
const PACK_BYTES = 2 ** 20;

/** What the next session has to know of the tree of a snapshot. */
type TreeState = Pick<WriterState, "nextLinks" | "treeId" | "files" | "directories" | "bytes">;

/** A session that stores packs: what it may use of earlier ones, and the heads that it ends with. */
export interface Session {
  /** Whether what is in a pack can be used again. */
  isUsable(pack: number): boolean;
  /** Notes that the snapshot needs a pack, and bytes of it. */
  use(pack: number, bytes: number): void;
  /** From which of the store's times on what was stored so far has to be held by a part. */
  partDue(): number;
  /**
   * Holds what was stored so far by a head, so that it stays while the session goes on.
   *
   * @throws StorageError as `commit`
   */
  part(): Promise<Marker>;
  /**
   * Ends with a snapshot.
   *
   * @param snapshotOf its content, from the sessions whose packs it needs
   * @throws StorageError as `commit`
   */
  end(snapshotOf: (sessions: Iterable<SessionId>) => Uint8Array, tree: TreeState): Promise<Marker>;
}

export function runningSession(
  committing: Committing,
  start: SessionStart,
  reusable: ReusablePacks,
): Session {
  const { cache, times } = committing;
  const firstOwn = cache.newPack() + 1;
  let { base, listedAt, isNewest } = start;
  /** Packs of interrupted sessions that no head holds. */
  let areInterruptedHeld = false;
  const used = new Map<number, number>();
  let oldestUsed = Infinity;

  const isUsable = (pack: number): boolean => pack >= firstOwn || reusable.has(pack);
  const oldestOf = (interrupted: number): number => {
    const oldest = isNewest ? Infinity : (base?.sentAt ?? Infinity);
    return areInterruptedHeld ? oldest : Math.min(oldest, interrupted);
  };
  const sessionsOf = (packs: Iterable<number>): Map<SessionId, number> => {
    const sessions = new Map<SessionId, number>();
    for (const id of packs) {
      const session = toHex(cache.pack(id)!.row.subarray(0, UUID_LENGTH)) as SessionId;
      sessions.set(session, (sessions.get(session) ?? 0) + (used.get(id) ?? PACK_BYTES));
    }
    return sessions;
  };
  const head = async (what: Omit<ToCommit, "base" | "listedAt">): Promise<Marker> => {
    base = await commit(committing, { ...what, base, listedAt });
    listedAt = base.sentAt;
    isNewest = true;
    areInterruptedHeld = true;
    return base.marker;
  };

  return {
    isUsable,
    use(pack, bytes) {
      used.set(pack, (used.get(pack) ?? 0) + bytes);
      if (areInterruptedHeld || pack >= firstOwn) return;
      oldestUsed = Math.min(oldestUsed, reusable.interruptedAt(pack) ?? Infinity);
    },
    partDue() {
      const oldest = oldestOf(reusable.oldestInterrupted);
      return Math.min(listedAt + times.part, oldest + times.half - times.margin);
    },
    part() {
      const packs: number[] = [];
      for (const { id } of cache.packs()) if (isUsable(id)) packs.push(id);
      const { last } = start;
      return head({
        snapshot: undefined,
        packs,
        oldest: oldestOf(reusable.oldestInterrupted),
        // The cache's records stay those of the last snapshot.
        state: {
          nextLinks: last?.nextLinks ?? 1,
          sessions: sessionsOf(packs),
          fills: packFills(base?.fills, used, packs),
          sparse: [],
          treeId: last?.treeId ?? new Uint8Array(HASH_LENGTH),
          files: last?.files ?? 0,
          directories: last?.directories ?? 0,
          bytes: last?.bytes ?? 0,
        },
      });
    },
    end(snapshotOf, tree) {
      const packs = [...used.keys()];
      const sessions = sessionsOf(packs);
      const fills = packFills(base?.fills, used, packs);
      return head({
        snapshot: snapshotOf(sessions.keys()),
        packs,
        oldest: oldestOf(oldestUsed),
        state: { ...tree, sessions, fills, sparse: sparsePacks(used, fills) },
      });
    },
  };
}
