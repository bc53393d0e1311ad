import {
  type FoundHead,
  type FoundSnapshot,
  forgottenOf,
  forksOf,
  type HeadOptions,
  type Repository,
} from "@idk/snapshots";

export interface ListedSnapshot {
  readonly found: FoundSnapshot;
  readonly isForgotten: boolean;
}

export interface Listing {
  /** Chain by chain, newest first. A snapshot that is stored several times is there once. */
  readonly snapshots: readonly ListedSnapshot[];
  readonly forks: readonly ListedFork[];
}

/** Heads of a chain that do not know of each other. */
export interface ListedFork {
  readonly name: string;
  readonly addresses: readonly string[];
  /** Whether a later head has them all before it. */
  readonly isJoined: boolean;
}

/** Reads all heads: one request for each, and those of the listing. */
export async function listHeads(repository: Repository, options: HeadOptions): Promise<Listing> {
  const heads: FoundHead[] = [];
  for await (const head of repository.heads(options)) heads.push(head);
  const settings = await repository.settings(options);
  const isForgotten = forgottenOf(repository, heads, settings.head.settings);
  const chains = new Map<string, FoundHead[]>();
  for (const found of heads) {
    const { kind, name } = found.head;
    // Of the two reserved chains, no forks matter to readers of snapshots.
    if (kind !== "snap" && kind !== "part") continue;
    const chain = chains.get(name);
    if (chain === undefined) chains.set(name, [found]);
    else chain.push(found);
  }
  const snapshots: ListedSnapshot[] = [];
  const forks: ListedFork[] = [];
  for (const [name, chain] of chains) {
    const seen = new Set<string>();
    for (const found of chain) {
      const { head, payloadHash } = found;
      if (head.kind !== "snap" || seen.has(payloadHash)) continue;
      seen.add(payloadHash);
      snapshots.push({ found: { ...found, head }, isForgotten: isForgotten(found) });
    }
    for (const fork of forksOf(chain)) {
      const addresses = fork.heads.map(({ marker }) => marker.address);
      forks.push({ name, addresses, isJoined: fork.joinedBy !== undefined });
    }
  }
  return { snapshots, forks };
}
