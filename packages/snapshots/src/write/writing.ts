import type { BackupOptions } from "./options.ts";
import { type Committing, type ToCommit, commit } from "./session/commit.ts";
import { type DataPacker, dataPacker } from "./packs/data-packer.ts";
import { type EntryQueue, entryQueue } from "./entry-queue.ts";
import { HASH_LENGTH, UUID_LENGTH } from "../format/limits.ts";
import { type BuiltTree, type TreeBuilder, treeBuilder } from "./tree/tree-builder.ts";
import type { ReusablePacks, SessionStart } from "./session/start.ts";
import { fromHex, toHex } from "@idk/storage/blobs";
import type { LinkGroups } from "../walk/link-groups.ts";
import { type MetadataPacker, metadataPacker } from "./packs/metadata-packer.ts";
import type { Marker } from "../format/names/marker.ts";
import type { Report } from "./report.ts";
import type { ChainId, SessionId } from "../format/names/identifiers.ts";
import { StorageError } from "@idk/storage";
import type { Threads } from "./packs/threads.ts";
import type { WalkSink } from "./folder-walk.ts";
import { decodeRow } from "../format/packs/row.ts";
import { encodeSnapshot } from "../format/records/snapshot.ts";
import { packStore } from "./packs/pack-store.ts";

/** How long the event loop may have to wait, so that packs are sent while files are read. */
const TURN_MS = 10;
/** Of the paths and of the excludes in a snapshot, which is one blob. */
const RECORDED_MAX = 2 ** 16;
/** What a pack is taken for whose use is not known yet. */
const PACK_BYTES = 2 ** 20;

export interface WritingOptions {
  readonly committing: Committing;
  readonly chain: ChainId;
  readonly options: BackupOptions;
  readonly start: SessionStart;
  readonly reusable: ReusablePacks;
  readonly session: { readonly id: SessionId; readonly secret: Uint8Array };
  readonly sessionKey: Uint8Array;
  readonly threads: Threads;
  readonly links: LinkGroups;
  readonly report: Report;
  readonly host: string;
  readonly user: string;
  readonly startTime: number;
  readonly freeMemory: () => void;
}

/** A session that stores what is new. */
export interface Writing {
  readonly sink: WalkSink;
  /** Ends the session with a snapshot, after the walk. */
  finish(): Promise<{ readonly marker: Marker; readonly treeId: Uint8Array }>;
  /** Ends it without, if it is not finished, and waits for what is being stored. */
  close(): Promise<void>;
}

export function writing(given: WritingOptions): Writing {
  const { committing, options, reusable, session, threads, links, report } = given;
  const { cache, clock, times, signal, repository } = committing;
  const { counts } = report;
  const firstOwn = cache.newPack() + 1;
  let { base, listedAt, isNewest } = given.start;
  /** Packs of interrupted sessions that no head holds. */
  let areInterruptedHeld = false;

  const isUsable = (pack: number): boolean => pack >= firstOwn || reusable.has(pack);
  const used = new Map<number, number>();
  let oldestUsed = Infinity;
  const onUsed = (pack: number, bytes: number): void => {
    used.set(pack, (used.get(pack) ?? 0) + bytes);
    if (areInterruptedHeld || pack >= firstOwn) return;
    oldestUsed = Math.min(oldestUsed, reusable.interruptedAt(pack) ?? Infinity);
  };
  const next = cache.begin();
  const store = packStore({
    backend: repository.backend,
    cache,
    threads,
    session,
    sessionKey: given.sessionKey,
    verify: options.verify ?? true,
    storeTime: () => clock.recent(),
    signal,
  });
  const { compression = "zstd" } = options;
  const packer: DataPacker = dataPacker(
    store,
    cache,
    threads,
    compression === "none" ? undefined : compression,
  );
  const metadata: MetadataPacker = metadataPacker(store, cache);
  const tree: TreeBuilder = treeBuilder({
    cache,
    next,
    metadata,
    isUsable,
    onUsed,
    onTooLarge: (name) => {
      report.error(name, new Error("the folder has too many entries, so it is left out"));
    },
  });
  const queue: EntryQueue = entryQueue({
    tree,
    cache,
    metadata,
    isUsable,
    onUsed,
    onEntry(change) {
      if (change === "new") counts.newFiles += 1;
      else if (change === "changed") counts.changedFiles += 1;
      else counts.unchangedFiles += 1;
    },
  });

  let hasFailed = false;
  let lastTurn = performance.now();
  /** Packs that were stored when the time was looked at. */
  let timed = 0;

  const partDue = (): number => {
    const oldest = isNewest ? Infinity : (base?.sentAt ?? Infinity);
    const held = areInterruptedHeld ? Infinity : Math.min(oldest, reusable.oldestInterrupted);
    return Math.min(listedAt + times.part, held + times.half - times.margin);
  };
  const pause = (): Promise<void> | undefined => {
    try {
      queue.drain();
    } catch (error) {
      hasFailed = true;
      throw error;
    }
    const isDue = performance.now() - lastTurn > TURN_MS;
    if (!isDue && !packer.isFull && !metadata.isFull && !queue.isLong) return undefined;
    return turn().catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  };
  const turn = async (): Promise<void> => {
    throwIfAborted(signal);
    counts.storedBytes = store.storedBytes;
    report.progress();
    await new Promise<void>((resolve) => setImmediate(resolve));
    given.freeMemory();
    while (packer.isFull || metadata.isFull || queue.isLong) {
      if (packer.isFull) await packer.room();
      if (queue.isLong) await packer.place();
      queue.drain();
      if (metadata.isFull) await metadata.room(() => packer.flush(false));
    }
    if (store.storedPacks > timed) {
      timed = store.storedPacks;
      if ((await clock.recent()) >= partDue()) await endPart();
    }
    lastTurn = performance.now();
  };

  /** The sessions of packs, and the bytes in use of each. */
  const sessionsOf = (packs: Iterable<number>): Map<SessionId, number> => {
    const sessions = new Map<SessionId, number>();
    for (const id of packs) {
      const row = cache.pack(id)!.row;
      const sid = toHex(row.subarray(0, UUID_LENGTH)) as SessionId;
      sessions.set(sid, (sessions.get(sid) ?? 0) + (used.get(id) ?? PACK_BYTES));
    }
    return sessions;
  };
  const head = async (what: Pick<ToCommit, "snapshot" | "packs" | "oldest" | "state">) => {
    const committed = await commit(committing, { ...what, base, listedAt });
    base = committed.state;
    listedAt = committed.state.sentAt;
    isNewest = true;
    areInterruptedHeld = true;
    return committed;
  };

  /** Holds what was stored so far by a head, so that it stays while the session goes on. */
  const endPart = async (): Promise<void> => {
    await packer.flush(true);
    queue.drain();
    await metadata.settled();
    await store.settled();
    const packs: number[] = [];
    for (const { id } of cache.packs()) if (isUsable(id)) packs.push(id);
    const { last } = given.start;
    const { state } = await head({
      snapshot: undefined,
      packs,
      oldest: Math.min(
        isNewest ? Infinity : (base?.sentAt ?? Infinity),
        areInterruptedHeld ? Infinity : reusable.oldestInterrupted,
      ),
      // The cache's records stay those of the last snapshot.
      state: {
        nextLinks: last?.nextLinks ?? 1,
        sessions: sessionsOf(packs),
        treeId: last?.treeId ?? new Uint8Array(HASH_LENGTH),
        files: last?.files ?? 0,
        directories: last?.directories ?? 0,
        bytes: last?.bytes ?? 0,
      },
    });
    report.event({ kind: "part", marker: state.marker });
  };

  const snapshotOf = (
    { treeId, nodes, totals }: BuiltTree,
    sessions: ReadonlyMap<SessionId, number>,
  ): Uint8Array => {
    const { pinned } = repository;
    const sessionKeys = new Map<SessionId, Uint8Array>();
    for (const id of sessions.keys()) {
      const key = cache.sessionKey(fromHex(id));
      if (key === undefined) throw new Error("the cache has lost the key of a session");
      sessionKeys.set(id, key);
    }
    return encodeSnapshot({
      repository: pinned.repository,
      chain: given.chain,
      root: nodes.map(({ pack, offset, length, name }) => {
        return { row: decodeRow(cache.pack(pack)!.row), offset, length, name };
      }),
      treeId,
      sessionKeys,
      host: given.host,
      user: given.user,
      paths: upTo(options.paths, ({ length }) => length),
      excludes: upTo(options.excludes ?? [], ({ length }) => 3 * length),
      start: given.startTime,
      end: Math.trunc(committing.ownTime()),
      totals: {
        ...totals,
        newBytes: counts.newBytes,
        storedBytes: store.storedBytes,
        errors: counts.errors,
      },
    });
  };

  return {
    sink: {
      cache,
      packer,
      isUsable,
      push: (step) => queue.push(step),
      lastPiece: () => packer.last,
      pause,
      hasFailed: () => hasFailed,
      onUsed,
      onNew(bytes) {
        counts.newBytes += bytes;
      },
      onFile(bytes) {
        counts.files += 1;
        counts.bytes += bytes;
      },
      onFolder() {
        counts.directories += 1;
      },
      onGone() {
        counts.goneFiles += 1;
      },
      onError: (path, error) => report.error(path, error),
      onWarning: (path, message) => report.warning(path, message),
    },
    async finish() {
      throwIfAborted(signal);
      await packer.flush(true);
      queue.drain();
      await metadata.flush();
      await store.settled();
      counts.storedBytes = store.storedBytes;
      const built = tree.result();
      const { treeId, totals } = built;
      const packs = [...used.keys()];
      const sessions = sessionsOf(packs);
      const snapshot = snapshotOf(built, sessions);
      const oldest = Math.min(isNewest ? Infinity : (base?.sentAt ?? Infinity), oldestUsed);
      const nextLinks = links.next;
      const { state } = await head({
        snapshot,
        packs,
        oldest,
        state: { nextLinks, sessions, treeId, ...totals },
      });
      return { marker: state.marker, treeId };
    },
    async close() {
      tree.close();
      await store.abandon();
    },
  };
}

/** As many items as a snapshot has room for. */
function upTo<T>(items: readonly T[], lengthOf: (item: T) => number): T[] {
  let length = 0;
  return items.filter((item) => {
    length += lengthOf(item) + 5;
    return length <= RECORDED_MAX;
  });
}

function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new StorageError("aborted", "the backup was aborted", { cause: signal.reason });
}
