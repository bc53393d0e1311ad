import { type AddressSet, addressSet, blobQueue } from "./address-set.ts";
import { type Address, StorageError } from "@idk/storage";
import { type StoredHead, isAhead, newestSettings, whyNotAllowed } from "../rules/counting.ts";
import { compareMarkers, formatMarker, parseMarker } from "../format/names/marker.ts";
import { forEachHead, mayBeHead } from "./unmarked-heads.ts";
import { SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import type { Repository } from "../repository/repository.ts";
import type { Settings } from "../format/records/settings.ts";
import { fromHex, parallelBlobs, toHex } from "@idk/storage/blobs";
import { shortHead } from "./repository-state.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";
import { packsInOrder } from "../format/records/reach.ts";
import { type ReachReader, reachReader } from "./reach-reader.ts";

/** Options of `recover`. */
export interface RecoverOptions {
  /** Writes nothing. */
  readonly dryRun?: boolean | undefined;
  /** The most requests in flight, 1 to 64, by default 64: as many as complete fastest. */
  readonly concurrency?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: RecoverProgress) => void) | undefined;
}

/** How far a recovery is. */
export interface RecoverProgress {
  /** Listing blobs, opening those that may be heads, and checking that what they need is there. */
  readonly stage: "blobs" | "heads" | "checking";
  readonly done: number;
  /** Where it is known. */
  readonly total?: number;
}

/** A head without a marker, and why it cannot be recovered. */
export interface UnrecoveredHead {
  readonly found: StoredHead;
  readonly error: StorageError;
}

/**
 * What `recover` has done; with `dryRun`, what it would do. Newest first. The heads lack messages, tags,
 * `previous` and the markers that they forget.
 */
export interface RecoverReport {
  /** Heads whose markers are written again. */
  readonly recovered: readonly StoredHead[];
  /** Heads that need something that is not there. */
  readonly lost: readonly UnrecoveredHead[];
  /** Heads that do not count: the settings do not allow them. */
  readonly refused: readonly UnrecoveredHead[];
  /** Blobs that were looked at. */
  readonly opened: number;
}

/**
 * Finds heads that have lost their markers, by opening every blob that may be one, and writes the markers
 * again of those that have all that they need. Among them may be some that a prune was about to delete.
 * Run it while no prune runs, which would not see them.
 *
 * @throws StorageError `usage`; `head` if there are no settings among the blobs either
 */
export async function recover(
  repository: Repository,
  { dryRun = false, concurrency, signal, onProgress }: RecoverOptions = {},
): Promise<RecoverReport> {
  const { backend, pinned } = repository;
  const fetching = parallelBlobs(backend, { concurrency });
  const options = signal ? { signal } : {};
  const marked = new Set<string>();
  const settingsChain = chainOf(pinned.repository, SETTINGS_CHAIN);
  /** Heads that need not be opened. */
  const known = new Set<Address>();
  for await (const { name } of backend.listMarkers("", options)) {
    marked.add(name);
    const marker = parseMarker(name);
    if (marker !== undefined && marker.chain !== settingsChain) known.add(marker.address);
  }

  const present = addressSet();
  const candidates = blobQueue();
  let listed = 0;
  for await (const { name, size } of backend.list("", options)) {
    present.add(name as Address);
    if (mayBeHead(size) && !known.has(name as Address)) candidates.push(fromHex(name), size);
    listed += 1;
    onProgress?.({ stage: "blobs", done: listed });
  }

  const heads: StoredHead[] = [];
  let opened = 0;
  const note = (found: StoredHead | undefined): void => {
    // Anyone who can put can put heads, whose lists would take more memory than they have bytes.
    if (found !== undefined) heads.push(withoutMarkers(shortHead(found, { previous: false })));
    opened += 1;
    onProgress?.({ stage: "heads", done: opened, total: candidates.length });
  };
  await forEachHead(repository, candidates, fetching, note, signal);
  const settings = newestSettings(heads);
  if (settings === undefined) {
    throw new StorageError(
      "head",
      `${backend.description} has no settings of the repository ${pinned.repository} that its owner ` +
        "signed and that the identities open: nothing can be recovered",
    );
  }

  const isMarked = ({ marker }: StoredHead) => marked.has(formatMarker(marker));
  const others = new Set(heads.filter(isMarked).map(({ payloadHash }) => payloadHash));
  const unmarked = heads
    .filter((found) => !isMarked(found) && !others.has(found.payloadHash))
    .toSorted((a, b) => compareMarkers(a.marker, b.marker));
  const now = await backend.currentTime(options);
  const report = { recovered: [] as StoredHead[], lost: [] as UnrecoveredHead[] };
  const refused: UnrecoveredHead[] = [];
  const reaches = reachReader(repository, async () => present.count(), signal);
  for (const [index, found] of unmarked.entries()) {
    const why = whyRefused(found, settings.head.settings, repository, now);
    if (why === undefined) {
      const error = await whatIsLost(reaches, found, present);
      if (error === undefined) report.recovered.push(found);
      else report.lost.push({ found, error });
    } else refused.push({ found, error: why });
    onProgress?.({ stage: "checking", done: index + 1, total: unmarked.length });
  }
  if (!dryRun) {
    // What is forgotten before what it forgets is seen again.
    for (const found of report.recovered.toSorted((a, b) => rank(a) - rank(b))) {
      await backend.putMarker(formatMarker(found.marker), options);
    }
  }
  return { ...report, refused, opened };
}

function withoutMarkers(found: StoredHead): StoredHead {
  const { head } = found;
  if (head.kind !== "forget" && head.kind !== "unforget") return found;
  return { ...found, head: { ...head, markers: [] } };
}

/** The order in which markers are written: settings, forgetting, all others. */
function rank({ head }: StoredHead): number {
  if (head.kind === "repo") return 0;
  return head.kind === "forget" || head.kind === "unforget" ? 1 : 2;
}

function whyRefused(
  found: StoredHead,
  settings: Settings,
  { pinned }: Repository,
  now: number,
): StorageError | undefined {
  const { marker } = found;
  const why = isAhead(marker, now, now)
    ? "it is over a day ahead of the store's time"
    : whyNotAllowed(found, settings, pinned.owner);
  if (why === undefined) return undefined;
  return new StorageError("head", `the head ${marker.address} does not count: ${why}`);
}

/** What a head needs and the store does not have, or cannot be read; undefined if nothing is wrong. */
async function whatIsLost(
  reaches: ReachReader,
  { head, marker }: StoredHead,
  present: AddressSet,
): Promise<StorageError | undefined> {
  const gone = (what: string, address: string) =>
    new StorageError(
      "not-found",
      `the head ${marker.address} needs the ${what} ${address}, which is not there`,
    );
  if (head.kind === "keys" && !present.has(fromHex(head.keys))) return gone("keys", head.keys);
  if (head.kind === "snap" && !present.has(fromHex(head.snapshot))) {
    return gone("snapshot", head.snapshot);
  }
  if (head.kind !== "snap" && head.kind !== "part") return undefined;
  try {
    const { rest: path } = await reaches.path(await reaches.root(head.reach));
    for (const blob of path.flatMap(({ blobs }) => blobs)) {
      if (!present.has(fromHex(blob))) return gone("list of packs", blob);
    }
    for (const pack of packsInOrder(path)) {
      if (!present.has(pack)) return gone("pack", toHex(pack));
    }
  } catch (error) {
    if (isFaultOfOne(error)) return error;
    throw error;
  }
  return undefined;
}
