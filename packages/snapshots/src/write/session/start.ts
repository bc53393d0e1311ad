import type { Cache, Pack } from "../../cache/cache.ts";
import { type GraceTimes, type SessionClock, checkClock } from "./times.ts";
import { type Marker, compareMarkers } from "../../format/names/marker.ts";
import { RECORD_MAX, SESSIONS_MAX, UUID_LENGTH } from "../../format/limits.ts";
import { type WriterState, decodeState } from "./state.ts";
import { fromHex, toHex } from "@idk/storage/blobs";
import { type ListedMarker, findMarker, newestMarkers } from "../../repository/find-heads.ts";
import type { ChainId, SessionId } from "../../format/names/identifiers.ts";
import type { MarkerBackend } from "../../repository/marker-backend.ts";
import type { Repository } from "../../repository/repository.ts";
import { StorageError } from "@idk/storage";
import { hasAddress } from "../../format/records/address-list.ts";
import { addressIn, missingPacks } from "./missing.ts";
import { packsOf } from "../../format/records/reach.ts";

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
  /** Leave the cache as it is. */
  readonly isDryRun: boolean;
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
  // Before the listing, for another process may remember what was stored after it.
  const remembered = (await repository.memory.recall()).get(chain)?.marker;
  // A server tells its time with the listing, which needs a guess only.
  const isServer = backend.clockAheadMs !== undefined;
  const guess = isServer ? ownTime() - (backend.clockAheadMs?.() ?? 0) : await clock.now();
  const begun = performance.now();
  let newest: ListedMarker | undefined;
  for await (const listed of newestMarkers(backend, chain, guess, signal)) {
    newest = listed;
    break;
  }
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
    if (!options.isDryRun) {
      if (isListed) cache.commit(Array.from(pending.sessions.keys(), fromHex));
      else cache.discard();
    } else if (isListed) {
      // The next backup builds on it, which has what is committed and more.
      const last = cache.committed && decodeState(cache.committed);
      return { listedAt, base: last, isNewest: true, last, notReused: undefined };
    }
  }
  const last = cache.committed && decodeState(cache.committed);
  if (!options.acceptRollback) requireNoRollback(newest?.marker, [remembered, last?.marker]);
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

/** Compares the newest marker with the newest heads that this machine verified and sent. */
function requireNoRollback(
  newest: Marker | undefined,
  seen: readonly (Marker | undefined)[],
): void {
  for (const known of seen) {
    if (known === undefined) continue;
    if (newest !== undefined && compareMarkers(newest, known) <= 0) continue;
    const text = new Date(known.generation).toISOString();
    throw new StorageError(
      "rollback",
      `the store does not list the head ${known.address.slice(0, 12)} of ${text}, nor a newer one, ` +
        "which this machine has sent or seen. It may have lost or hidden newer snapshots; accept the " +
        "rollback only if you know why: a backup then stores everything again",
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

/** Room in a snapshot for all that is not session keys: paths and excludes of 2^16 bytes each, and the rest. */
const SNAPSHOT_REST = 2 ** 17 + 2 ** 14;
/** A session's id as text, and the heads of the key and value. */
const KEY_OVERHEAD = 40;

export interface ReuseOptions {
  readonly backend: MarkerBackend;
  readonly cache: Cache;
  readonly times: GraceTimes;
  /** Bytes of the new session's key blob. */
  readonly newKeyLength: number;
  /** The store has lost something: of interrupted sessions nothing is used again. */
  readonly acceptRollback: boolean;
  /** Look for all packs in the store. */
  readonly repair: boolean;
  readonly signal: AbortSignal;
}

/**
 * Decides which packs of earlier sessions are used again. Those of interrupted ones are not in any head, so
 * that no marker tells whether the store still has them: if there are any, the repository's blobs are listed.
 */
export async function reusablePacks(
  { base, listedAt }: SessionStart,
  options: ReuseOptions,
): Promise<ReusablePacks> {
  const { backend, cache, times, newKeyLength, acceptRollback, repair, signal } = options;
  const oldest = listedAt - times.half + 2 * times.margin;
  // What the base does not name may be deleted at any time.
  const ofBase = packsOf(base?.reaches ?? []);
  const sparse = new Set(base?.sparse);
  const interrupted = new Map<number, number>();
  const candidates: Pack[] = [];
  for (const pack of cache.packs()) {
    if (hasAddress(ofBase, addressIn(pack))) {
      if (!sparse.has(pack.id)) candidates.push(pack);
    } else if (!pack.isCommitted && !acceptRollback && pack.stored >= oldest) {
      candidates.push(pack);
      interrupted.set(pack.id, pack.stored);
    }
  }
  const isListed = repair || interrupted.size > 0;
  const missing = isListed ? await missingPacks(backend, candidates, signal) : undefined;

  const usable = new Map<number, SessionId>();
  const bytes = new Map<SessionId, number>(base?.sessions);
  for (const pack of candidates) {
    if (missing?.has(pack.id)) continue;
    const session = toHex(pack.row.subarray(0, UUID_LENGTH)) as SessionId;
    usable.set(pack.id, session);
    if (!base?.sessions.has(session)) bytes.set(session, (bytes.get(session) ?? 0) + 2 ** 20);
  }
  const kept = sessionsToKeep(bytes, cache, newKeyLength);
  for (const [id, session] of usable) if (!kept.has(session)) usable.delete(id);
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
