import {
  type Decision,
  type RetentionOptions,
  type RetentionPolicy,
  decideRetention,
} from "../../rules/retention.ts";
import { type ForgettingOptions, forgettingHead, permissionOf } from "./write-forgetting.ts";
import { type Marker, compareMarkers, formatMarker } from "../../format/names/marker.ts";
import {
  type RepositoryState,
  forgottenOf,
  readState,
  refusedInForce,
} from "../repository-state.ts";
import type { FoundSnapshot, Repository } from "../../repository/repository.ts";
import { StorageError } from "@idk/storage";
import { closedBehind } from "../../rules/counting.ts";
import { matchesPattern } from "../../format/names/pattern.ts";
import { writeForgetting } from "./write-forgetting.ts";

/** Options of `forget`: a policy, or what to forget, or both. */
export interface ForgetOptions extends ForgettingOptions {
  /** Which snapshots to keep of each chain; all others are forgotten. */
  readonly policy?: RetentionPolicy | undefined;
  /** Chains that the policy is for, as patterns, in which `*` stands for any text; by default all. */
  readonly names?: readonly string[] | undefined;
  /** Whose times the policy goes by: by default the store's. */
  readonly times?: RetentionOptions["times"];
  /** Snapshots to forget, whatever a policy keeps. */
  readonly snapshots?: readonly FoundSnapshot[] | undefined;
  /**
   * Other heads to forget: those that do not count, at which a prune ends otherwise, and keys. Only the
   * owner can.
   */
  readonly markers?: readonly Marker[] | undefined;
  /** Forgets all heads that do not count and are not forgotten yet. Only the owner can. */
  readonly refused?: boolean | undefined;
}

/** What a policy decides about a chain. */
export interface ChainDecisions {
  readonly name: string;
  /** Nothing can be written to it any more, so that its newest snapshot can be forgotten, too. */
  readonly isClosed: boolean;
  /** Newest first, without those that are forgotten already. One without reasons is forgotten. */
  readonly decisions: readonly Decision<FoundSnapshot>[];
}

/** What `forget` has done; with `dryRun`, what it would do. */
export interface ForgetReport {
  /** By name; none without a policy. */
  readonly chains: readonly ChainDecisions[];
  readonly forgotten: readonly Marker[];
  /** The heads that forget them, which were written: none with `dryRun`. */
  readonly heads: readonly Marker[];
}

/**
 * Forgets snapshots: writes a head that names them. Nothing is deleted before a prune that runs a grace
 * period later, and until half of that `unforget` undoes it. The newest snapshot of a chain stays, unless
 * the chain is closed.
 *
 * Reads all heads: one request for each.
 *
 * @throws StorageError `usage` if there is nothing to go by, the key may not forget this, or a snapshot is
 *   the newest of its chain; `head`, `rollback`
 */
export async function forget(
  repository: Repository,
  options: ForgetOptions,
): Promise<ForgetReport> {
  const { policy, snapshots = [], markers = [], refused = false, signal } = options;
  if (policy === undefined && !refused && snapshots.length + markers.length === 0) {
    throw new StorageError("usage", "give a policy, or the snapshots to forget");
  }
  const now = await repository.backend.currentTime(signal ? { signal } : {});
  const draft = forgettingHead(repository, "forget", now, options.message);
  const tags = policy?.tags?.flat();
  const state = await readState(repository, {
    ...options,
    reportUnreadable: false,
    previous: false,
    tags,
  });
  const mayName = permissionOf(repository, state, draft);
  const chains = chainsOf(repository, state, now);
  const decided = policy === undefined ? [] : decide(chains, policy, options, mayName);

  const chosen = new Map<string, Marker>();
  for (const { decisions } of decided) {
    for (const { snapshot, reasons } of decisions) {
      if (reasons.length === 0) chosen.set(snapshot.payloadHash, snapshot.marker);
    }
  }
  for (const { marker, payloadHash, head } of snapshots) {
    const chain = chains.find(({ name }) => name === head.name);
    // Forgotten already.
    if (!chain?.snapshots.some((known) => known.payloadHash === payloadHash)) continue;
    if (!chain.isClosed && chain.snapshots[0]?.payloadHash === payloadHash) {
      throw new StorageError(
        "usage",
        `cannot forget ${marker.address.slice(0, 12)}, the newest snapshot of ${JSON.stringify(head.name)}: ` +
          "close the name first, with `idk repo close`",
      );
    }
    chosen.set(payloadHash, marker);
  }
  const more = refused ? refusedInForce(repository, state).map(({ marker }) => marker) : [];
  for (const marker of [...markers, ...more]) chosen.set(formatMarker(marker), marker);
  const forgotten = [...chosen.values()];
  for (const marker of forgotten) {
    if (!mayName(marker)) throw notAllowed(draft.writer, marker, chains);
  }
  const heads = options.dryRun ? [] : await writeForgetting(repository, draft, forgotten, options);
  return { chains: decided, forgotten, heads };
}

interface Chain {
  readonly name: string;
  readonly isClosed: boolean;
  /** Newest first, one for each payload, without those that are forgotten. */
  readonly snapshots: readonly FoundSnapshot[];
}

function chainsOf(repository: Repository, state: RepositoryState, now: number): Chain[] {
  const { settings, generation } = state.settings.head;
  // Servers tell the time in whole seconds, so another machine may have closed a chain a little later than now.
  const time = Math.max(now, generation);
  const isForgotten = forgottenOf(repository, state.heads, settings);
  const byName = new Map<string, FoundSnapshot[]>();
  const seen = new Set<string>();
  for (const found of state.heads) {
    const { head } = found;
    if (head.kind !== "snap" || seen.has(found.payloadHash)) continue;
    seen.add(found.payloadHash);
    const snapshots = byName.get(head.name) ?? [];
    byName.set(head.name, snapshots);
    if (!isForgotten(found)) snapshots.push({ ...found, head });
  }
  return [...byName.entries()]
    .map(([name, snapshots]) => ({
      name,
      isClosed: closedBehind(name, settings) <= time,
      snapshots: snapshots.toSorted((a, b) => compareMarkers(a.marker, b.marker)),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function decide(
  chains: readonly Chain[],
  policy: RetentionPolicy,
  { names, times = "store" }: ForgetOptions,
  mayName: (marker: Marker) => boolean,
): ChainDecisions[] {
  const decided: ChainDecisions[] = [];
  // So that a policy that keeps nothing is refused though there is no chain.
  decideRetention([], policy);
  for (const { name, isClosed, snapshots } of chains) {
    const [newest] = snapshots;
    if (newest === undefined) continue;
    if (names === undefined) {
      // A key that may forget in some chains only thins out those.
      if (!mayName(newest.marker)) continue;
    } else if (!names.some((pattern) => matchesPattern(pattern, name))) continue;
    const dated = snapshots.map((snapshot) => ({
      snapshot,
      storedAt: snapshot.storedAt,
      time: snapshot.head.time,
      tags: snapshot.head.tags,
    }));
    const decisions = decideRetention(dated, policy, { times, isClosed });
    decided.push({
      name,
      isClosed,
      decisions: decisions.map(({ snapshot, reasons }) => ({
        snapshot: snapshot.snapshot,
        reasons,
      })),
    });
  }
  return decided;
}

function notAllowed(writer: string, marker: Marker, chains: readonly Chain[]): StorageError {
  const owns = ({ snapshots }: Chain) => snapshots.some((one) => one.marker.chain === marker.chain);
  const name = chains.find(owns)?.name;
  const what = name === undefined ? `the head ${marker.address}` : JSON.stringify(name);
  return new StorageError(
    "usage",
    `${writer} may not forget ${name === undefined ? "" : "snapshots of "}${what}: use the owner's ` +
      "key, or let the owner allow it",
  );
}
