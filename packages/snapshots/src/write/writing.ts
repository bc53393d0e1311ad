import type { BackupOptions } from "./options.ts";
import type { Committing } from "./session/commit.ts";
import { type DataPacker, dataPacker } from "./packs/data-packer.ts";
import { type EntryQueue, entryQueue } from "./entry-queue.ts";
import { type BuiltTree, type TreeBuilder, treeBuilder } from "./tree/tree-builder.ts";
import type { ReusablePacks, SessionStart } from "./session/start.ts";
import { fromHex } from "@idk/storage/blobs";
import type { LinkGroups } from "../walk/link-groups.ts";
import { type MetadataPacker, metadataPacker } from "./packs/metadata-packer.ts";
import type { Marker } from "../format/names/marker.ts";
import type { Report } from "./report.ts";
import type { ChainId, SessionId } from "../format/names/identifiers.ts";
import type { Threads } from "./packs/threads.ts";
import type { WalkSink } from "./folder-walk.ts";
import { decodeRow } from "../format/packs/row.ts";
import { encodeSnapshot } from "../format/records/snapshot.ts";
import { packStore } from "./packs/pack-store.ts";
import { runningSession } from "./session/session.ts";
import { throwIfAborted } from "../read/aborted.ts";

/** How long the event loop may have to wait, so that packs are sent while files are read. */
const TURN_MS = 10;
/** Of the paths and of the excludes in a snapshot, which is one blob. */
const RECORDED_MAX = 2 ** 16;
/** How long nothing is stored before the time is looked at. */
const LOOK_MS = 10_000;

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
  const { cache, clock, ownTime, signal, repository } = committing;
  const { counts } = report;
  const running = runningSession(committing, given.start, reusable);
  const { isUsable } = running;
  const onUsed = (pack: number, bytes: number): void => running.use(pack, bytes);
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
    onTooLarge: (path) => {
      report.error(path, new Error("the folder has too many entries, so it is left out"));
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
  /** When the time was looked at, by this host's clock, and packs that were stored then. */
  let [lookedAt, timed] = [ownTime(), 0];

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
    const now = ownTime();
    // Time passes, too, while nothing is stored.
    if (store.storedPacks > timed || Math.abs(now - lookedAt) > LOOK_MS) {
      [lookedAt, timed] = [now, store.storedPacks];
      if ((await clock.recent()) >= running.partDue()) await endPart();
    }
    lastTurn = performance.now();
  };

  /** Holds what was stored so far by a head, so that it stays while the session goes on. */
  const endPart = async (): Promise<void> => {
    await packer.flush(true);
    queue.drain();
    await metadata.settled();
    await store.settled();
    const marker = await running.part();
    report.event({ kind: "part", marker });
  };

  const snapshotOf = (
    { treeId, nodes, totals }: BuiltTree,
    sessions: Iterable<SessionId>,
  ): Uint8Array => {
    const { pinned } = repository;
    const sessionKeys = new Map<SessionId, Uint8Array>();
    for (const id of sessions) {
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
      excludes: recordedExcludes(options.excludes ?? []),
      start: given.startTime,
      end: Math.trunc(ownTime()),
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
      const marker = await running.end((sessions) => snapshotOf(built, sessions), {
        nextLinks: links.next,
        treeId,
        ...totals,
      });
      return { marker, treeId };
    },
    async close() {
      tree.close();
      await store.abandon();
    },
  };
}

/** A restore deletes nothing that matches them. So if there is no room for all, the last one is `*`. */
function recordedExcludes(excludes: readonly string[]): string[] {
  const recorded = upTo(excludes, ({ length }) => 3 * length);
  return recorded.length === excludes.length ? recorded : [...recorded, "*"];
}

/** As many items as a snapshot has room for. */
function upTo<T>(items: readonly T[], lengthOf: (item: T) => number): T[] {
  let length = 0;
  return items.filter((item) => {
    length += lengthOf(item) + 5;
    return length <= RECORDED_MAX;
  });
}
