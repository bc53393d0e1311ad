import { type ForgettingOptions, forgettingHead, permissionOf } from "./write-forgetting.ts";
import { forgettingsOf, readState } from "../repository-state.ts";
import { type Marker, formatMarker } from "../../format/names/marker.ts";
import type { FoundSnapshot, Repository } from "../../repository/repository.ts";
import { StorageError } from "@idk/storage";
import { forgettingsInForce } from "../../rules/forgetting.ts";
import { graceOf } from "../grace.ts";
import { writeForgetting } from "./write-forgetting.ts";

/** Options of `unforget`. */
export interface UnforgetOptions extends ForgettingOptions {
  /**
   * The caller knows that no prune runs. Otherwise what was forgotten more than half a grace period ago
   * stays forgotten, because a prune that has begun may be about to delete it.
   */
  readonly noPruneRuns?: boolean | undefined;
}

/** What `unforget` has done; with `dryRun`, what it would do. */
export interface UnforgetReport {
  /** Without those that were not forgotten. */
  readonly unforgotten: readonly Marker[];
  /** The heads that were written: none with `dryRun`. */
  readonly heads: readonly Marker[];
}

/**
 * Undoes the forgetting of snapshots that are not pruned.
 *
 * @throws StorageError `usage` if it is too late for one, or the key may not forget in its chain;
 *   `not-found` if one was pruned; `unavailable` if it took so long that one may be pruned meanwhile;
 *   `head`, `rollback`
 */
export async function unforget(
  repository: Repository,
  snapshots: readonly FoundSnapshot[],
  options: UnforgetOptions,
): Promise<UnforgetReport> {
  const { signal, noPruneRuns = false } = options;
  const { pinned } = repository;
  const now = await repository.backend.currentTime(signal ? { signal } : {});
  const draft = forgettingHead(repository, "unforget", now, options.message);
  const state = await readState(repository, {
    ...options,
    reportUnreadable: false,
    previous: false,
  });
  const mayName = permissionOf(repository, state, draft);
  const payloads = new Map(state.heads.map((one) => [formatMarker(one.marker), one.payloadHash]));
  const inForce = forgettingsInForce(
    forgettingsOf(state.heads, state.settings.head.settings, pinned.owner),
    (marker) => payloads.get(formatMarker(marker)) ?? formatMarker(marker),
  );
  const halfGrace = (graceOf(repository, state) * 1000) / 2;

  const chosen = new Map<string, Marker>();
  let deadline = Infinity;
  for (const { marker, payloadHash, head } of snapshots) {
    const what = `the snapshot ${marker.address.slice(0, 12)} of ${JSON.stringify(head.name)}`;
    if (!state.heads.some((known) => known.payloadHash === payloadHash)) {
      throw new StorageError("not-found", `${what} is not there any more: it was pruned`);
    }
    const forgetting = inForce.get(payloadHash);
    if (forgetting?.head.kind !== "forget") continue;
    if (!mayName(marker)) {
      throw new StorageError(
        "usage",
        `${draft.writer} may not unforget ${what}: use the owner's key, or let the owner allow it`,
      );
    }
    const until = noPruneRuns ? Infinity : forgetting.storedAt + halfGrace;
    if (now > until) {
      throw new StorageError(
        "usage",
        `${what} was forgotten more than half the grace period ago, so a prune may be deleting it: ` +
          "make sure that none runs, and pass noPruneRuns (idk unforget --late)",
      );
    }
    chosen.set(payloadHash, marker);
    deadline = Math.min(deadline, until);
  }
  const unforgotten = [...chosen.values()];
  const heads = options.dryRun
    ? []
    : await writeForgetting(repository, draft, unforgotten, options, deadline);
  return { unforgotten, heads };
}
