import {
  type Backend,
  type Identity,
  type Marker as ListedName,
  type NaClChoice,
  StorageError,
  loadNaCl,
} from "@idk/storage";
import type { RepositoryId } from "../format/names/identifiers.ts";
import { SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import { chainOfName, formatMarker, newestMarkersFrom } from "../format/names/marker.ts";
import {
  type ListedMarker,
  READ_AT_ONCE,
  isFaultOfOne,
  newestMarkers,
  readInOrder,
} from "./find-heads.ts";
import { decodeHead } from "../format/records/head.ts";
import { isAhead, verifiedHead } from "../rules/counting.ts";
import type { DiscoveredRepository } from "./repository.ts";
import { ownerKeyOf } from "../format/keys/writer.ts";
import { readRecord } from "./records.ts";
import { recentHeads } from "./recent-heads.ts";
import { requireMarkers } from "./marker-backend.ts";
import { shortBlobGate } from "@idk/storage/blobs";
import { storeClock } from "./store-clock.ts";

/** A marker, and the repository and name in its head; `claim` is undefined if the head cannot be read. */
interface Claim extends ListedMarker {
  readonly claim:
    | {
        readonly repository: RepositoryId;
        readonly name: string;
        /** The decrypted bytes of the head, only for the settings chain. */
        readonly content: Uint8Array | undefined;
      }
    | undefined;
}

/** If a chain has more markers and no head that can be read, it is not taken for an empty place. */
const UNREAD_MAX = 16;

/** Names in the first listing of a server. A folder has no round trip to save, and looks at each of them. */
const NAMES_FIRST = 1000;

/**
 * Finds the repository of one person at a location, by the settings that the owner's key of this
 * identity signed: all that is needed besides the identity file. The first request to a server lists a thousand
 * markers, and each chain takes one that reads its newest head, several at once. A chain takes a second if it is
 * not in that listing, as all but the first are in a folder, and one more if names that cannot count
 * precede its newest marker, or if the newest head does not decide. Then the chain is read to its end, one
 * chain at a time and several heads at once: if it passed over the markers that others have made up, they
 * could hide the settings behind them, and settings of another repository that they copied in would be found.
 *
 * @returns undefined if there is none
 * @throws StorageError `head` if there are the settings of several repositories of this owner, or none, and a
 *   chain of over 16 markers without a head that this identity opens
 */
export async function discoverRepository({
  backend: given,
  identity,
  naCl: choice = "auto",
  signal,
}: {
  readonly backend: Backend;
  readonly identity: Identity;
  readonly naCl?: NaClChoice | undefined;
  readonly signal?: AbortSignal | undefined;
}): Promise<DiscoveredRepository | undefined> {
  const listedAt = Date.now();
  const backend = requireMarkers(given);
  const recent = recentHeads();
  const reader = { naCl: await loadNaCl(choice), identities: [identity], recent };
  const gate = shortBlobGate(backend);
  const clock = storeClock(backend);
  const owner = ownerKeyOf(identity).writer;
  const found = new Map<RepositoryId, DiscoveredRepository>();
  let tried = 0;
  let isHidden = false;
  const isServer = clock.guess() !== undefined;
  // The first listing of a server brings its time. From a folder, it is requested at the same time.
  const time = isServer ? undefined : clock.now(signal);
  time?.catch(() => undefined);
  try {
    for await (const newest of readInOrder(newestOf, chains(), gate.width)) {
      const unread = newest === undefined ? 0 : await readChain(newest);
      tried += unread;
      isHidden ||= unread > UNREAD_MAX;
    }
  } finally {
    await Promise.allSettled([time]);
  }
  await time;
  if (found.size === 0 && isHidden) {
    throw new StorageError(
      "head",
      `${backend.description} has markers of a repository, but none of the ${tried} tried leads to settings ` +
        "that the owner's key of this identity signed: if it is yours, use the identity that made it, or " +
        "configure the repository; if someone has deleted its settings, run recover",
    );
  }
  if (found.size > 1) {
    throw new StorageError(
      "head",
      `${backend.description} has settings of ${found.size} repositories of this owner ` +
        `(${[...found.keys()].join(", ")}): configure the one that you mean`,
    );
  }
  return found.values().next().value;

  /**
   * Finds the newest head whose repository and name give this chain, and keeps the settings if it has them.
   *
   * @returns the number of markers, if there is no such head
   */
  async function readChain(newest: Claim): Promise<number> {
    const now = await (time ?? clock.now(signal));
    const { chain } = newest.marker;
    let count = 0;
    for await (const { marker, storedAt, claim } of claimsFrom(newest, now)) {
      count += 1;
      // Anyone who can put can put a head of another chain or repository here.
      if (claim === undefined || chain !== chainOf(claim.repository, claim.name)) continue;
      const { repository, content } = claim;
      if (content === undefined) return 0;
      if (isAhead(marker, storedAt, now)) continue;
      const settings = unlessFaulty(() => verifiedHead(content, marker, { repository, owner }));
      if (settings?.head.kind !== "repo") continue;
      const { head } = settings;
      const { graceSeconds } = head.settings;
      // Others before it are reported when it is opened.
      const newestSettings = count === 1 ? { ...settings, head, storedAt } : undefined;
      const read = { clock, recent, settings: newestSettings, listedAt };
      found.set(repository, { repository, owner, graceSeconds, read });
      return 0;
    }
    return count;
  }

  /** The first names of each chain: a request for many, then one for each other chain, and one that finds no more. */
  async function* chains(): AsyncGenerator<readonly [ListedName, ...ListedName[]]> {
    let after = "";
    let limit = isServer ? NAMES_FIRST : 1;
    for (;;) {
      let count = 0;
      let chain: [ListedName, ...ListedName[]] | undefined;
      // Names with an out-of-range generation are included: they must not hide what comes after them.
      for await (const listed of backend.listMarkers("", {
        after,
        limit,
        ...(signal && { signal }),
      })) {
        count += 1;
        if (chain !== undefined && chainOfName(chain[0].name) === chainOfName(listed.name)) {
          chain.push(listed);
          continue;
        }
        if (chain !== undefined) yield chain;
        chain = [listed];
      }
      if (chain === undefined) return;
      yield chain;
      if (count < limit) return;
      // Greater than every name of this chain.
      after = `${chainOfName(chain[0].name)}/g`;
      limit = 1;
    }
  }

  /** The newest marker of a chain, given the first names of the chain. */
  async function newestOf(
    names: readonly [ListedName, ...ListedName[]],
  ): Promise<Claim | undefined> {
    const now = await (time ?? clock.now(signal));
    const chain = chainOfName(names[0].name);
    const from = newestMarkersFrom(chain, now);
    const first = names.find(({ name }) => name > from) ?? names[0];
    const markers = newestMarkers(backend, chain, now, signal, first);
    for await (const listed of markers) return await withClaim(listed);
    return undefined;
  }

  /** The newest marker of a chain and those behind it, of which several are read at once. */
  async function* claimsFrom(newest: Claim, now: number): AsyncGenerator<Claim> {
    yield newest;
    const { marker, storedAt } = newest;
    const first = { name: formatMarker(marker), storedAt };
    const markers = newestMarkers(backend, marker.chain, now, signal, first);
    await markers.next();
    yield* readInOrder(withClaim, markers, () => READ_AT_ONCE);
  }

  async function withClaim(listed: ListedMarker): Promise<Claim> {
    try {
      const { address } = listed.marker;
      const readFrom = async (from: Backend) =>
        readRecord({ ...reader, backend: from }, "head", address, signal);
      const content = await gate.pass(readFrom, { signal });
      const { repository, name } = decodeHead(content).head;
      const hasSettings = name === SETTINGS_CHAIN;
      return { ...listed, claim: { repository, name, content: hasSettings ? content : undefined } };
    } catch (error) {
      if (isFaultOfOne(error)) return { ...listed, claim: undefined };
      throw error;
    }
  }
}

/** What the work returns; undefined if a head has a fault. */
function unlessFaulty<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (isFaultOfOne(error)) return undefined;
    throw error;
  }
}
