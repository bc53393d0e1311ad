import { type StoredHead, closedBehind, isAhead, whyNotAllowed } from "../rules/counting.ts";
import type { BlobQueue } from "./address-set.ts";
import type { ChainId } from "../format/names/identifiers.ts";
import { type Marker, compareMarkers } from "../format/names/marker.ts";
import type { Repository } from "../repository/repository.ts";
import type { RepositoryState } from "./repository-state.ts";
import { type Backend, StorageError } from "@idk/storage";
import type { Parallel, SizedItem } from "@idk/storage/blobs";
import { forEachHead } from "./unmarked-heads.ts";

/** Heads that an error names. */
const NAMED = 3;

/**
 * Opens the blobs that are about to be deleted and that no head has needed. Among them are heads of
 * backups that ended before their markers. One that is newer than every marker of its chain tells that
 * markers were lost, and then everything else that is about to go may be needed, too.
 *
 * @param start the store's time in milliseconds, when the prune began
 * @throws StorageError `head`
 */
export async function requireNoLostHeads(
  repository: Repository,
  { heads, refused, settings }: RepositoryState,
  unknown: BlobQueue,
  {
    start,
    fetching,
    signal,
  }: {
    readonly start: number;
    readonly fetching: Parallel<Backend, SizedItem>;
    readonly signal: AbortSignal | undefined;
  },
): Promise<void> {
  const newest = new Map<ChainId, Marker>();
  for (const { marker } of [...heads, ...refused]) {
    const other = newest.get(marker.chain);
    if (other === undefined || compareMarkers(marker, other) < 0) newest.set(marker.chain, marker);
  }
  const rules = settings.head.settings;
  const isLost = (stored: StoredHead): boolean => {
    const { head, marker } = stored;
    if (head.kind !== "snap" && head.kind !== "repo") return false;
    // Stored a grace period ago, it would have come due by now: it is made up, and a marker would not help.
    if (isAhead(marker, start, start)) return false;
    if (whyNotAllowed(stored, rules, repository.pinned.owner) !== undefined) return false;
    // Of a closed chain the newest may be pruned, and what is left of it is deleted now.
    if (head.kind === "snap" && closedBehind(head.name, rules) < Infinity) return false;
    const marked = newest.get(head.chain);
    return marked === undefined || compareMarkers(marker, marked) < 0;
  };
  const lost: StoredHead[] = [];
  let count = 0;
  const note = (stored: StoredHead | undefined): void => {
    if (stored === undefined || !isLost(stored)) return;
    count += 1;
    if (lost.length < NAMED) lost.push(stored);
  };
  await forEachHead(repository, unknown, fetching, note, signal);
  if (count === 0) return;
  const named = lost.map(({ head, marker }) => {
    const what = head.kind === "repo" ? "settings" : `a snapshot of ${JSON.stringify(head.name)}`;
    return `${what} (${marker.address.slice(0, 12)})`;
  });
  throw new StorageError(
    "head",
    `${count} ${count === 1 ? "head has" : "heads have"} lost the marker, such as ${named.join(", ")}, ` +
      "so nothing is deleted: run recover (idk recover), which brings back those that are whole. After that, " +
      "to delete the others too, prune with acceptLostHeads (idk prune --accept-lost)",
  );
}
