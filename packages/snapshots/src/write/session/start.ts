import type { Cache, Pack } from "../../cache/cache.ts";
import { type GraceTimes, type SessionClock, checkClock } from "./times.ts";
import { type Marker, compareMarkers, newestMarkersFrom } from "../../format/names/marker.ts";
import { RECORD_MAX, SESSIONS_MAX, UUID_LENGTH } from "../../format/limits.ts";
import { type WriterState, decodeState } from "./state.ts";
import { fromHex, toHex } from "@idk/storage/blobs";
import { type ListedMarker, findMarker, listMarkers } from "../../repository/find-heads.ts";
import type { ChainId, SessionId } from "../../format/names/identifiers.ts";
import type { Repository } from "../../repository/repository.ts";
import { StorageError } from "@idk/storage";

/** What a session begins with. */
export interface SessionStart {
  /** The store's time when the chain was listed, in milliseconds. */
  readonly listedAt: number;
  /** The head that is built on, if there is one. */
  readonly base: WriterState | undefined;
  /** Whether it is the chain's newest, so that its age does not matter. */
  readonly isNewest: boolean;
  /** Of the last snapshot, whether or not it is built on. */
  readonly last: WriterState | undefined;
  /** Why nothing is used again, though there was something. */
  readonly notReused: string | undefined;
}

export interface StartOptions {
  readonly repository: Repository;
  readonly chain: ChainId;
  readonly cache: Cache;
  readonly clock: SessionClock;
  readonly times: GraceTimes;
  /** This host's clock. */
  readonly ownTime: () => number;
  readonly acceptRollback: boolean;
  readonly signal: AbortSignal;
}

/**
 * Begins a session: lists the newest marker of the chain, and decides what can be built on. One or two
 * requests.
 *
 * @throws StorageError `rollback`, `usage`
 */
export async function startSession(options: StartOptions): Promise<SessionStart> {
  const { repository, chain, cache, clock, ownTime, signal } = options;
  const { backend } = repository;
  // A server tells its time with the listing, which needs a guess only.
  const isServer = backend.clockAheadMs !== undefined;
  const guess = isServer ? ownTime() - (backend.clockAheadMs?.() ?? 0) : await clock.now();
  const begun = performance.now();
  const newest = await firstMarker(repository, chain, newestMarkersFrom(chain, guess), signal);
  const elapsed = performance.now() - begun;
  const listedAt = isServer ? Math.floor((await clock.now()) - elapsed) : guess;
  checkClock(ownTime(), listedAt);

  const listed = async (marker: Marker): Promise<ListedMarker | undefined> => {
    if (newest !== undefined && compareMarkers(newest.marker, marker) === 0) return newest;
    return findMarker(backend, marker, signal);
  };
  const pending = cache.prepared && decodeState(cache.prepared);
  if (pending !== undefined) {
    const found = await listed(pending.marker);
    const isListed = found !== undefined && found.storedAt <= pending.deadline;
    if (isListed) cache.commit(Array.from(pending.sessions.keys(), fromHex));
    else cache.discard();
  }
  const last = cache.committed && decodeState(cache.committed);
  await checkRollback(options, newest?.marker, last?.marker);
  if (last === undefined) {
    const why = cache.setAside;
    const notReused = why === undefined ? undefined : `the cache could not be used: ${why}`;
    return { listedAt, base: undefined, isNewest: false, last, notReused };
  }

  const found = await listed(last.marker);
  const isNewest = found !== undefined && found === newest;
  const start = { listedAt, isNewest, last };
  const refuse = (notReused: string): SessionStart => ({ ...start, base: undefined, notReused });
  if (found === undefined) return refuse("the last head of this host is not in the store any more");
  if (!isNewest && listedAt - last.sentAt > options.times.half - options.times.margin) {
    return refuse("another head was written since the last one of this host, which is too old");
  }
  return { ...start, base: last, notReused: undefined };
}

async function firstMarker(
  { backend }: Repository,
  chain: ChainId,
  after: string,
  signal: AbortSignal,
): Promise<ListedMarker | undefined> {
  // Other names may be in the way.
  for await (const listed of listMarkers(backend, `${chain}/`, { after, limit: 1, signal })) {
    return listed;
  }
  return undefined;
}

/** Compares the newest marker with the newest head that this machine sent or verified. */
async function checkRollback(
  { repository, chain, acceptRollback }: StartOptions,
  newest: Marker | undefined,
  sent: Marker | undefined,
): Promise<void> {
  if (acceptRollback) return;
  const remembered = (await repository.memory.recall()).get(chain)?.marker;
  for (const known of [remembered, sent]) {
    if (known === undefined) continue;
    if (newest !== undefined && compareMarkers(newest, known) <= 0) continue;
    const text = new Date(known.generation).toISOString();
    throw new StorageError(
      "rollback",
      `the store does not list the head ${known.address.slice(0, 12)} of ${text}, nor a newer one, ` +
        "which this machine has sent or seen. It may have lost or hidden what is newer; accept the " +
        "rollback only if you know why: everything is stored anew then",
    );
  }
}

/** Which packs of earlier sessions can be used again. */
export interface ReusablePacks {
  has(pack: number): boolean;
  /** When a pack of an interrupted session was stored; undefined of the base's. */
  interruptedAt(pack: number): number | undefined;
  /** How many of interrupted sessions there are. */
  readonly interrupted: number;
  /** When the oldest of these was stored; Infinity if there is none. */
  readonly oldestInterrupted: number;
}

/** Room in a snapshot for all that is not session keys. */
const SNAPSHOT_REST = 2 ** 17;
/** A session's id as text, and the heads of the key and value. */
const KEY_OVERHEAD = 40;

/**
 * @param newKeyLength bytes of the new session's key blob
 * @param missing packs that the store does not have, if that was looked at
 */
export function reusablePacks(
  { base, listedAt }: SessionStart,
  cache: Cache,
  { half, margin }: GraceTimes,
  newKeyLength: number,
  missing: (pack: Pack) => boolean,
): ReusablePacks {
  const usable = new Set<number>();
  const interrupted = new Map<number, number>();
  const oldest = listedAt - half + 2 * margin;
  const candidates: { readonly id: number; readonly session: SessionId }[] = [];
  const bytes = new Map<SessionId, number>(base?.sessions);
  for (const pack of cache.packs()) {
    const isReusable = pack.isCommitted ? base !== undefined : pack.stored >= oldest;
    if (!isReusable || missing(pack)) continue;
    const session = toHex(pack.row.subarray(0, UUID_LENGTH)) as SessionId;
    if (!pack.isCommitted) interrupted.set(pack.id, pack.stored);
    candidates.push({ id: pack.id, session });
    if (!base?.sessions.has(session)) bytes.set(session, (bytes.get(session) ?? 0) + 2 ** 20);
  }
  const kept = sessionsToKeep(bytes, cache, newKeyLength);
  for (const { id, session } of candidates) if (kept.has(session)) usable.add(id);
  for (const id of interrupted.keys()) if (!usable.has(id)) interrupted.delete(id);
  return {
    has: (pack) => usable.has(pack),
    interruptedAt: (pack) => interrupted.get(pack),
    interrupted: interrupted.size,
    oldestInterrupted: [...interrupted.values()].reduce((a, b) => Math.min(a, b), Infinity),
  };
}

/**
 * The sessions whose packs are used again. A snapshot has the keys of at most 512, and they have to fit;
 * where there would be more, the half with the fewest bytes in use is stored anew.
 */
export function sessionsToKeep(
  bytes: ReadonlyMap<SessionId, number>,
  cache: Pick<Cache, "sessionKey">,
  newKeyLength: number,
): ReadonlySet<SessionId> {
  const lengths = new Map<SessionId, number>();
  for (const session of bytes.keys()) {
    // Without its key blob, nobody could open what it stored.
    const key = cache.sessionKey(fromHex(session));
    if (key !== undefined) lengths.set(session, key.length + KEY_OVERHEAD);
  }
  let kept = [...lengths.keys()].toSorted((a, b) => bytes.get(b)! - bytes.get(a)!);
  const fits = (): boolean => {
    const length = kept.reduce((sum, session) => sum + lengths.get(session)!, 0);
    const withNew = length + newKeyLength + KEY_OVERHEAD;
    return kept.length < SESSIONS_MAX && withNew <= RECORD_MAX - SNAPSHOT_REST;
  };
  while (kept.length > 0 && !fits()) kept = kept.slice(0, Math.floor(kept.length / 2));
  return new Set(kept);
}
