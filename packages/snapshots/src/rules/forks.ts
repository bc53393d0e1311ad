import type { Address } from "@idk/storage";
import type { StoredHead } from "./counting.ts";

/** How the heads of a chain come after each other. */
export interface Lineage<T extends StoredHead> {
  /** Newest first, and of equal payloads one. */
  readonly heads: readonly T[];
  /** The heads before one that are there, each once. All are older by their generations. */
  parentsOf(head: T): readonly T[];
  /** The addresses before one at which no older head is there. */
  missingOf(head: T): readonly Address[];
}

/** @param chain heads of one chain that count, newest first */
export function lineageOf<T extends StoredHead>(chain: readonly T[]): Lineage<T> {
  const byPayload = new Map<string, T>();
  const byAddress = new Map<Address, T>();
  for (const found of chain) {
    if (!byPayload.has(found.payloadHash)) byPayload.set(found.payloadHash, found);
    byAddress.set(found.marker.address, byPayload.get(found.payloadHash)!);
  }
  const parentOf = ({ head }: T, address: Address): T | undefined => {
    const parent = byAddress.get(address);
    return parent !== undefined && parent.head.generation < head.generation ? parent : undefined;
  };
  return {
    heads: [...byPayload.values()],
    parentsOf: (found) => [
      ...new Set(found.head.previous.flatMap((address) => parentOf(found, address) ?? [])),
    ],
    missingOf: (found) =>
      found.head.previous.filter((address) => parentOf(found, address) === undefined),
  };
}

/**
 * The heads that no other one comes after, as far as the heads between are there. One that is gone is older
 * than all that name it. It may have known of any that is older than these, or be one of them under another
 * address: everyone who has a payload can seal it again.
 *
 * @param always heads that are among them even if one that is gone may have known them
 * @returns newest first; the newest head of the chain is always among them
 */
export function tipsOf<T extends StoredHead>(
  lineage: Lineage<T>,
  always: (head: T) => boolean = () => false,
): T[] {
  const { heads, parentsOf } = lineage;
  const named = new Set(heads.flatMap(parentsOf));
  const since = clearSince(lineage);
  return heads.filter(
    (found) => !named.has(found) && (found.head.generation >= since || always(found)),
  );
}

/** The generation since which lineage is clear: a head that is gone may have known any older one. */
function clearSince<T extends StoredHead>({ heads, missingOf }: Lineage<T>): number {
  /** The least generation of those that name a head that is gone. */
  const namedAt = new Map<Address, number>();
  for (const found of heads) {
    const { generation } = found.head;
    for (const gone of missingOf(found)) {
      namedAt.set(gone, Math.min(generation, namedAt.get(gone) ?? generation));
    }
  }
  let since = -Infinity;
  for (const generation of namedAt.values()) since = Math.max(since, generation);
  return since;
}

/**
 * The heads that no other one is apart from: each other one comes before or after them. Heads older than those
 * whose lineage is clear are passed over, as by `tipsOf`.
 */
export function meetingsOf<T extends StoredHead>(lineage: Lineage<T>): ReadonlySet<T> {
  const { parentsOf } = lineage;
  const since = clearSince(lineage);
  const newestFirst = lineage.heads.filter(({ head }) => head.generation >= since);
  const places = new Map(newestFirst.map((found, place) => [found, place]));
  // All newer heads come after one if each of them directly follows it, or a head that is newer than it.
  const withNewer = new Set<T>();
  /** The greatest place at which one of the newer heads has the newest of those before it. */
  let reach = 0;
  for (const [place, found] of newestFirst.entries()) {
    if (reach <= place) withNewer.add(found);
    const before = parentsOf(found).map((parent) => places.get(parent) ?? Infinity);
    reach = Math.max(reach, Math.min(...before));
  }
  // All older heads come before one if it is the only tip of itself and these.
  const meetings = new Set<T>();
  const tips = new Set<T>();
  for (const found of newestFirst.toReversed()) {
    for (const parent of parentsOf(found)) tips.delete(parent);
    tips.add(found);
    if (tips.size === 1 && withNewer.has(found)) meetings.add(found);
  }
  return meetings;
}

/** Heads of a chain that do not know of each other: two hosts wrote under one name, or a store hid one. */
export interface Fork<T extends StoredHead> {
  /** At least two, newest first. */
  readonly heads: readonly T[];
  /** The head that has them as those before it; undefined while none has. */
  readonly joinedBy: T | undefined;
}

/**
 * Heads that are looked at for all forks of a chain. Writers can make up so many, each with many before it,
 * that all searches would take hours.
 */
const STEPS_MAX = 2 ** 20;

/**
 * The forks of a chain, as far as the heads between are there. Of a chain in which they take too long to
 * find, a fork may contain heads that others of it come after.
 *
 * @param chain its heads that count, newest first
 */
export function forksOf<T extends StoredHead>(
  chain: readonly T[],
  stepsMax: number = STEPS_MAX,
): Fork<T>[] {
  const lineage = lineageOf(chain);
  const { heads } = lineage;
  const parents = new Map(heads.map((found) => [found, lineage.parentsOf(found)]));
  const parentsOf = (found: T): readonly T[] => parents.get(found) ?? [];
  const forks: Fork<T>[] = [];
  let stepsLeft = stepsMax;
  const tips = tipsOf(lineage);
  if (tips.length > 1) forks.push({ heads: tips, joinedBy: undefined });
  for (const joinedBy of heads) {
    const joined = parentsOf(joinedBy);
    if (joined.length < 2) continue;
    const { behind, steps } = headsBehind(joined, parentsOf, stepsLeft);
    stepsLeft -= steps;
    const apart = joined.filter((parent) => !behind.has(parent));
    if (apart.length < 2) continue;
    forks.push({ heads: heads.filter((head) => apart.includes(head)), joinedBy });
  }
  return forks;
}

/** The heads that one of the given comes after, by the heads between, down to the oldest of the given. */
function headsBehind<T extends StoredHead>(
  given: readonly T[],
  parentsOf: Lineage<T>["parentsOf"],
  stepsMax: number,
): { readonly behind: ReadonlySet<T>; readonly steps: number } {
  const oldest = Math.min(...given.map(({ head }) => head.generation));
  const behind = new Set<T>();
  const pending = [...given];
  let steps = 0;
  while (pending.length > 0 && steps < stepsMax) {
    for (const parent of parentsOf(pending.pop()!)) {
      steps += 1;
      if (parent.head.generation < oldest || behind.has(parent)) continue;
      behind.add(parent);
      pending.push(parent);
    }
  }
  return { behind, steps };
}
