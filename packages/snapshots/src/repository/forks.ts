import type { Address } from "@idk/storage";
import type { StoredHead } from "../rules/counting.ts";

/** Heads of a chain that do not know of each other: two hosts wrote under one name, or a store hid one. */
export interface Fork<T extends StoredHead> {
  /** At least two, newest first. */
  readonly heads: readonly T[];
  /** The head that has them as those before it; undefined while none has. */
  readonly joinedBy: T | undefined;
}

/**
 * The forks of a chain, as far as the heads between are there: if one is gone, what came before it may
 * have been known.
 *
 * @param chain its heads that count, newest first
 */
export function forksOf<T extends StoredHead>(chain: readonly T[]): Fork<T>[] {
  const byPayload = new Map<string, T>();
  const payloadOf = new Map<Address, string>();
  for (const found of chain) {
    payloadOf.set(found.marker.address, found.payloadHash);
    if (!byPayload.has(found.payloadHash)) byPayload.set(found.payloadHash, found);
  }
  const heads = [...byPayload.values()];
  const parentsOf = ({ head }: T): T[] => {
    const payloads = head.previous.map((address) => payloadOf.get(address));
    return [...new Set(payloads)].flatMap((payload) => byPayload.get(payload ?? "") ?? []);
  };
  // Behind a head that is gone there may be any that is older than the one that names it.
  let known = -Infinity;
  const named = new Set<T>();
  for (const found of heads) {
    for (const parent of parentsOf(found)) named.add(parent);
    const isMissing = found.head.previous.some((address) => !payloadOf.has(address));
    if (isMissing) known = Math.max(known, found.head.generation - 1);
  }
  const forks: Fork<T>[] = [];
  const tips = heads.filter((found) => !named.has(found) && found.head.generation >= known);
  if (tips.length > 1) forks.push({ heads: tips, joinedBy: undefined });
  for (const joinedBy of heads) {
    const parents = parentsOf(joinedBy);
    if (parents.length < 2) continue;
    const apart = parents.filter(
      (parent) => !parents.some((other) => other !== parent && leadsTo(other, parent, parentsOf)),
    );
    if (apart.length < 2) continue;
    forks.push({ heads: heads.filter((head) => apart.includes(head)), joinedBy });
  }
  return forks;
}

/** Whether a head comes after another, by the heads between. */
function leadsTo<T extends StoredHead>(from: T, to: T, parentsOf: (head: T) => T[]): boolean {
  const seen = new Set<T>();
  const pending = [from];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next === to) return true;
    if (seen.has(next) || next.head.generation <= to.head.generation) continue;
    seen.add(next);
    pending.push(...parentsOf(next));
  }
  return false;
}
