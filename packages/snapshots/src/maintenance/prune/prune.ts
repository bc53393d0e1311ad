import { type Address, StorageError } from "@idk/storage";
import { type Amount, type FreeLater, deleteAll, planDeletion } from "./deletion.ts";
import { type Marker, formatMarker } from "../../format/names/marker.ts";
import { type ProtectingHead, protectionsOf } from "./protection.ts";
import {
  type RepositoryState,
  forgettingsOf,
  readState,
  refusedInForce,
} from "../repository-state.ts";
import { type FoundHead, isListed, readHead } from "../../repository/find-heads.ts";
import type { HeadOptions, Repository } from "../../repository/repository.ts";
import { FORGETTING_CHAIN } from "../../format/names/chain.ts";
import { ALL_BLOBS, type BlobShard } from "../shard.ts";
import { deathsOf } from "../../rules/death.ts";
import { graceOf } from "../grace.ts";
import { parallelBlobs, parallelRequests } from "@idk/storage/blobs";
import { requireNoLostHeads } from "../lost-heads.ts";

/** Options of `prune`. */
export interface PruneOptions extends HeadOptions {
  /** Deletes nothing. */
  readonly dryRun?: boolean | undefined;
  /**
   * Also deletes heads that have lost their markers; without it, prune ends with an error if there are any.
   * Run `recover` before, because this also deletes heads that `recover` would bring back.
   */
  readonly acceptLostHeads?: boolean | undefined;
  /**
   * Lists and deletes only the blobs of this part, by default all; and all markers that go, before them, so
   * that parts can be pruned in any order and at the same time. Each reads all heads and their lists of packs.
   * Heads that have lost their markers may be in another part, so this needs `dryRun` or `acceptLostHeads`.
   */
  readonly shard?: BlobShard | undefined;
  /** The most requests in flight, 1 to 64, by default 64: as many as complete fastest. */
  readonly concurrency?: number | undefined;
  readonly onProgress?: ((progress: PruneProgress) => void) | undefined;
}

/** How far a prune is. */
export interface PruneProgress {
  readonly stage: "heads" | "reaches" | "blobs" | "deleting";
  readonly done: number;
  /** Where it is known. */
  readonly total?: number;
}

/** What `prune` has done; with `dryRun`, what it would do. */
export interface PruneReport {
  /** The grace period that was waited for. */
  readonly graceSeconds: number;
  readonly deleted: Amount & { readonly markers: number };
  readonly kept: Amount;
  /** What of that becomes free by itself, if it is not needed again until then, by days. */
  readonly later: readonly FreeLater[];
  /** Blobs that snapshots need and that the store does not list. `check` tells whose they are. */
  readonly missing: number;
}

/**
 * Deletes what nothing needs any more: forgotten snapshots and what was left of interrupted backups, a
 * grace period later. Any number can run at a time, beside backups; one that is interrupted can be run
 * again. No pack is read: it takes one request for each head, one for each list of packs, the listings
 * and the deletions.
 *
 * @throws StorageError `usage`; `head` if there are no settings, at a head that does not count and that the owner
 *   has not forgotten, and if heads have lost their markers; `rollback`; of a list of packs that cannot
 *   be read; `aborted`. Then nothing was deleted, unless it was aborted or the store fails meanwhile
 */
export async function prune(
  repository: Repository,
  options: PruneOptions = {},
): Promise<PruneReport> {
  const { signal, onProgress, dryRun = false, concurrency } = options;
  const requests = parallelRequests({ concurrency });
  const fetching = parallelBlobs(repository.backend, { concurrency });
  if (options.shard !== undefined && !dryRun && options.acceptLostHeads !== true) {
    throw new StorageError(
      "usage",
      "a part of the store does not have all heads that lost their markers, so pruning it needs acceptLostHeads",
    );
  }
  // First: whatever is stored from now on is younger than what this deletes.
  const start = await repository.backend.currentTime(signal ? { signal } : {});
  const state = await readState(repository, {
    ...options,
    previous: false,
    reportUnreadable: false,
    onHead: (done) => onProgress?.({ stage: "heads", done }),
  });
  const grace = graceOf(repository, state) * 1000;
  const deathOf = await requireHeadsThatCount(repository, state, grace, signal);

  const alive: ProtectingHead[] = [];
  const dead: ProtectingHead[] = [];
  for (const found of state.heads) {
    const death = deathOf(found.marker);
    if (death > start) alive.push({ found, until: rounded(death, start, grace), isLenient: false });
    else dead.push({ found, until: -Infinity, isLenient: true });
  }
  const refused = await refusedHeads(repository, state, { start, grace }, deathOf, signal);
  const protections = await protectionsOf(repository, [...alive, ...refused.alive, ...dead], {
    signal,
    onReach: (done, total) => onProgress?.({ stage: "reaches", done, total }),
  });

  const plan = await planDeletion(repository, {
    start,
    grace,
    protections,
    kept: refused.kept,
    shard: options.shard ?? ALL_BLOBS,
    signal,
    onBlob: (done) => onProgress?.({ stage: "blobs", done }),
  });
  if (options.acceptLostHeads !== true) {
    await requireNoLostHeads(repository, state, plan.unknown, { start, fetching, signal });
  }
  const markers = [...dead.map(({ found }) => found.marker), ...refused.dead];
  if (!dryRun) {
    await deleteAll(repository.backend, phasesOf(markers, state), plan.blobs, {
      requests,
      signal,
      onDeleted: (done, total) => onProgress?.({ stage: "deleting", done, total }),
    });
  }
  const { kept, later, missing, bytes } = plan;
  const deleted = { markers: markers.length, blobs: plan.blobs.length, bytes };
  return { graceSeconds: grace / 1000, deleted, kept, later, missing };
}

/** Protections that end are counted in so many steps, each of which takes memory of its own. */
const STEPS = 16;

/** A time of death, later at most by a step. */
function rounded(death: number, start: number, grace: number): number {
  if (death === Infinity) return death;
  const step = grace / STEPS;
  return start + Math.ceil((death - start) / step) * step;
}

/**
 * When heads die.
 *
 * @throws StorageError `head` if one does not count and the owner has not forgotten it: nobody knows what
 *   it would protect
 */
async function requireHeadsThatCount(
  repository: Repository,
  state: RepositoryState,
  grace: number,
  signal: AbortSignal | undefined,
): Promise<(marker: Marker) => number> {
  const { owner } = repository.pinned;
  const { heads, refused, settings } = state;
  for (const { marker, error } of refusedInForce(repository, state)) {
    // Another prune has deleted it meanwhile.
    if (error.code === "not-found" && !(await isListed(repository, { marker }, signal))) continue;
    throw new StorageError(
      "head",
      `${error.message}, so nothing is deleted, because what it needs is not known: ` +
        "if nobody needs it, let the owner forget this head",
      { cause: error },
    );
  }
  const forgettings = forgettingsOf(heads, settings.head.settings, owner);
  return deathsOf({ heads, refused, forgettings, owner, grace });
}

/** What protects and what goes of the heads that do not count, all of which the owner has forgotten. */
async function refusedHeads(
  repository: Repository,
  { refused }: RepositoryState,
  { start, grace }: { readonly start: number; readonly grace: number },
  deathOf: (marker: Marker) => number,
  signal: AbortSignal | undefined,
): Promise<{
  readonly alive: readonly ProtectingHead[];
  readonly kept: ReadonlySet<Address>;
  readonly dead: readonly Marker[];
}> {
  const alive: ProtectingHead[] = [];
  const kept = new Set<Address>();
  const dead: Marker[] = [];
  for (const { marker, storedAt } of refused) {
    const death = deathOf(marker);
    if (death <= start) {
      dead.push(marker);
      continue;
    }
    kept.add(marker.address);
    // Under other settings it may count again.
    const { pinned } = repository;
    const found = await readHead(repository, pinned, { marker, storedAt }, start, { signal });
    if ("error" in found) continue;
    alive.push({ found, until: rounded(death, start, grace), isLenient: true });
  }
  return { alive, kept, dead };
}

/** The markers to delete, one part after the other: what forgets others goes after what it forgets. */
function phasesOf(markers: readonly Marker[], { heads }: RepositoryState): Marker[][] {
  const inForgetting = new Map<string, FoundHead["head"]>();
  for (const { marker, head } of heads) {
    if (head.name === FORGETTING_CHAIN) inForgetting.set(formatMarker(marker), head);
  }
  const phases: [Marker[], Marker[], Marker[]] = [[], [], []];
  for (const marker of markers) {
    const head = inForgetting.get(formatMarker(marker));
    const isForgetting = head?.kind === "forget" || head?.kind === "unforget";
    phases[head === undefined ? 0 : isForgetting ? 2 : 1].push(marker);
  }
  return phases;
}
