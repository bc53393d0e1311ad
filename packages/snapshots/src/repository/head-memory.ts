import type { ChainId } from "../format/names/identifiers.ts";
import { type Marker, compareMarkers } from "../format/names/marker.ts";
import type { StoredHead } from "../rules/counting.ts";

/** The newest head of a chain that this machine has verified. */
export interface RememberedHead {
  readonly marker: Marker;
  /** The name of its chain. */
  readonly name: string;
  /** SHA-256 of the payload, 64 hexadecimal digits: the same head may be stored several times. */
  readonly payloadHash: string;
}

/**
 * What this machine remembers of one repository, so that a store that hides the newest heads is noticed.
 * It holds no key, but the names of chains.
 */
export interface HeadMemory {
  /** The newest head of each chain that was remembered. */
  recall(): Promise<ReadonlyMap<ChainId, RememberedHead>>;
  /**
   * Remembers the newest heads of these chains, durably. If one that is newer is remembered by then, as
   * by another process meanwhile, that one stays.
   */
  remember(heads: ReadonlyMap<ChainId, RememberedHead>): Promise<void>;
  /**
   * Remembers another head of a chain, which may be older, durably; undefined: none. Does nothing if `from`
   * is not what is remembered any more, as by another process meanwhile.
   */
  rollBack(chain: ChainId, from: RememberedHead, to: RememberedHead | undefined): Promise<void>;
}

/** A memory for as long as the process runs. */
export function volatileHeadMemory(): HeadMemory {
  const heads = new Map<ChainId, RememberedHead>();
  return {
    recall: async () => new Map(heads),
    remember: async (newest) => void rememberIn(heads, newest),
    rollBack: async (chain, from, to) => void rollBackIn(heads, chain, from, to),
  };
}

/**
 * `remember` in a map.
 *
 * @returns whether it changed
 */
export function rememberIn(
  heads: Map<ChainId, RememberedHead>,
  newest: ReadonlyMap<ChainId, RememberedHead>,
): boolean {
  let isChanged = false;
  for (const [chain, head] of newest) {
    const known = heads.get(chain);
    if (known !== undefined && compareMarkers(head.marker, known.marker) >= 0) continue;
    heads.set(chain, head);
    isChanged = true;
  }
  return isChanged;
}

/**
 * `rollBack` in a map.
 *
 * @returns whether it changed
 */
export function rollBackIn(
  heads: Map<ChainId, RememberedHead>,
  chain: ChainId,
  from: RememberedHead,
  to: RememberedHead | undefined,
): boolean {
  const known = heads.get(chain);
  if (known === undefined || compareMarkers(known.marker, from.marker) !== 0) return false;
  if (to === undefined) heads.delete(chain);
  else heads.set(chain, to);
  return true;
}

export function rememberedOf({ marker, head, payloadHash }: StoredHead): RememberedHead {
  return { marker, name: head.name, payloadHash };
}

/** Whether the newest head found now is older than the one remembered, or there is none. */
export function isRolledBack(remembered: RememberedHead, found: StoredHead | undefined): boolean {
  if (found === undefined) return true;
  return (
    compareMarkers(found.marker, remembered.marker) > 0 &&
    found.payloadHash !== remembered.payloadHash
  );
}
