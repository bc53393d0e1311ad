import { type Address, StorageError } from "@idk/storage";
import { type AddressSet, addressSet } from "../address-set.ts";
import { type FoundHead, isFaultForNow, isListed } from "../../repository/find-heads.ts";
import { countBlobs, reachReader } from "../reach-reader.ts";
import type { ReachRoot } from "../../repository/reaches.ts";
import { compareMarkers } from "../../format/names/marker.ts";
import type { Repository } from "../../repository/repository.ts";
import { hash, toHex, utf8 } from "@idk/storage/blobs";
import { packsOf } from "../../format/records/reach.ts";

/** A head, and until when it protects what it needs. */
export interface ProtectingHead {
  readonly found: FoundHead;
  /** By the store's time in milliseconds; Infinity if no end is known. */
  readonly until: number;
  /** Whether it does without a reach that cannot be read. */
  readonly isLenient: boolean;
}

/** Blobs that are protected as long as each other. */
export interface Protection {
  readonly until: number;
  readonly blobs: AddressSet;
}

/** Options of `protectionsOf`. */
export interface ProtectOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onReach?: ((done: number, total: number) => void) | undefined;
}

/** Reaches whose roots are read ahead: each takes a MiB at most, and a buffer of two MiB. */
const AHEAD = 16;

/**
 * What each head protects: itself, its snapshot or keys, its reach and those before it, and all packs.
 * Takes 32 bytes for each blob, and one request for each reach.
 *
 * Within a chain most reaches continue those of earlier heads. Of a head whose reach continues that of
 * one that was seen, which is protected at least as long, only the rest is read and added.
 *
 * @returns the longest protection first; what is in one may be in a shorter one, too
 * @throws StorageError what reading a reach throws, unless its marker is gone, too, or the head is lenient;
 *   `limit` at a head with whose reach many more packs are claimed than the store has blobs
 */
export async function protectionsOf(
  repository: Repository,
  heads: readonly ProtectingHead[],
  { signal, onReach }: ProtectOptions = {},
): Promise<Protection[]> {
  const reaches = reachReader(repository, () => countBlobs(repository, signal), signal);
  /** Paths of reaches all of whose packs are protected by now. */
  const covered = new Set<string>();
  const protections: Protection[] = [];
  const ordered = heads.toSorted(
    (a, b) => b.until - a.until || compareMarkers(b.found.marker, a.found.marker),
  );
  const withReach = ordered.filter(({ found }) => reachOf(found) !== undefined);
  let done = 0;

  const protect = async ({ blobs, until }: Protection, own: ReachRoot) => {
    const { addresses, rest } = await reaches.path(
      own,
      (path) => prefixKeys(path).findLastIndex((key) => covered.has(key)) + 1,
    );
    let packs = packsOf(rest);
    for (const longer of protections) {
      if (longer.until > until) packs = longer.blobs.missing(packs);
    }
    let claimed = packs.length;
    for (const protection of protections) claimed += protection.blobs.bytes;
    await reaches.requirePlausible(claimed);
    blobs.addList(packs);
    for (const reach of rest) for (const blob of reach.blobs) blobs.add(blob);
    covered.add(prefixKeys(addresses).at(-1)!);
  };

  for (const head of ordered) {
    let protection = protections.at(-1);
    if (protection?.until !== head.until) {
      protection = { until: head.until, blobs: addressSet() };
      protections.push(protection);
    }
    if (reachOf(head.found) !== undefined) continue;
    for (const blob of ownBlobs(head.found)) protection.blobs.add(blob);
  }
  for await (const [head, reading] of ahead(withReach, ({ found }) =>
    reaches.root(reachOf(found)!),
  )) {
    const protection = protections.find(({ until }) => until === head.until)!;
    try {
      await protect(protection, await reading);
    } catch (error) {
      if (!isFaultForNow(error)) throw error;
      // Another prune has deleted it meanwhile.
      const isGone = !(await isListed(repository, head.found, signal));
      if (isGone) continue;
      // It may be readable tomorrow, when it still protects what is in it.
      const isNeeded = error.transient && head.until > -Infinity;
      if (!head.isLenient || isNeeded) throw unreadable(head.found, error);
    }
    for (const blob of ownBlobs(head.found)) protection.blobs.add(blob);
    done += 1;
    onReach?.(done, withReach.length);
  }
  return protections;
}

/** A key for each beginning of a path. */
function prefixKeys(path: readonly Address[]): string[] {
  let before = "";
  return path.map((address) => (before = toHex(hash(utf8(before + address)))));
}

/** The address of a head's reach, if it has one. */
export function reachOf({ head }: FoundHead): Address | undefined {
  return head.kind === "snap" || head.kind === "part" ? head.reach : undefined;
}

/** The blobs of a head that are known from itself. */
function ownBlobs({ marker, head }: FoundHead): Address[] {
  const blobs = [marker.address];
  if (head.kind === "snap") blobs.push(head.snapshot);
  if (head.kind === "keys") blobs.push(head.keys);
  return blobs;
}

/** Starts work for some items ahead; the results come in order, to be awaited. */
async function* ahead<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): AsyncGenerator<readonly [T, Promise<R>]> {
  const pending: (readonly [T, Promise<R>])[] = [];
  try {
    for (const item of items) {
      const working = work(item);
      // A rejection is thrown when this item is awaited.
      working.catch(() => undefined);
      pending.push([item, working]);
      if (pending.length >= AHEAD) yield pending.shift()!;
    }
    while (pending.length > 0) yield pending.shift()!;
  } finally {
    await Promise.allSettled(pending.map(([, working]) => working));
  }
}

function unreadable({ marker, head }: FoundHead, cause: StorageError): StorageError {
  return new StorageError(
    cause.code,
    `the list of packs that the head ${marker.address} of ${JSON.stringify(head.name)} needs cannot ` +
      `be read, so nothing is deleted: ${cause.message}. Run check; if it is lost, forget the snapshot`,
    { cause, transient: cause.transient },
  );
}
