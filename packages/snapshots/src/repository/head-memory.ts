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
  /** Replaces what is remembered of these chains, durably; of those with undefined nothing is, then. */
  remember(heads: ReadonlyMap<ChainId, RememberedHead | undefined>): Promise<void>;
}

/** A memory for as long as the process runs. */
export function volatileHeadMemory(): HeadMemory {
  const heads = new Map<ChainId, RememberedHead>();
  return {
    recall: async () => new Map(heads),
    remember: async (newest) => {
      applyTo(heads, newest);
    },
  };
}

/** Makes a change of `remember` in a map. */
export function applyTo(
  heads: Map<ChainId, RememberedHead>,
  newest: ReadonlyMap<ChainId, RememberedHead | undefined>,
): void {
  for (const [chain, head] of newest) {
    if (head === undefined) heads.delete(chain);
    else heads.set(chain, head);
  }
}

/** Whether the newest head found now is older than the one remembered, or there is none. */
export function isRolledBack(
  remembered: RememberedHead | undefined,
  found: StoredHead | undefined,
): boolean {
  if (remembered === undefined) return false;
  if (found === undefined) return true;
  return (
    compareMarkers(found.marker, remembered.marker) > 0 &&
    found.payloadHash !== remembered.payloadHash
  );
}
