import {
  type Backend,
  type Identity,
  type Marker as ListedName,
  type NaClChoice,
  StorageError,
  loadNaCl,
} from "@idk/storage";
import type { ChainId, RepositoryId } from "../format/names/identifiers.ts";
import { SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import { chainOfName } from "../format/names/marker.ts";
import { type ListedMarker, isFaultOfOne, newestMarkers, readInOrder } from "./find-heads.ts";
import { type Head, decodeHead } from "../format/records/head.ts";
import { isAhead, verifiedHead } from "../rules/counting.ts";
import type { PinnedRepository } from "./repository.ts";
import { ownerKeyOf } from "../format/keys/writer.ts";
import { readRecord } from "./records.ts";
import { requireMarkers } from "./marker-backend.ts";
import { storeClock } from "./store-clock.ts";

/** What a head says that it is; without a claim if it cannot be read. */
interface Claim extends ListedMarker {
  readonly claim: { readonly head: Head; readonly content: Uint8Array } | undefined;
}

/** A chain, and its first marker by name, which may be one that someone has made up. */
interface FoundChain {
  readonly chain: ChainId;
  readonly first: ListedName;
}

/** Chains that are read at once. In each, several heads may be. */
const CHAINS_AT_ONCE = 4;

/** If a chain has more markers and no head that can be read, it is not taken for an empty place. */
const UNREAD_MAX = 16;

/**
 * Finds the repository of one person at a location, by the settings that the owner's key of this
 * identity signed: all that is needed besides the identity file. Two requests for each chain, so that the
 * head of one is read while the next chain is listed, and one for each marker that others have made up
 * ahead of a chain's heads, some at once: if it passed over them, they could hide the settings behind them,
 * and settings of another repository that they copied in would be found.
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
}): Promise<PinnedRepository | undefined> {
  const backend = requireMarkers(given);
  const reader = { backend, naCl: await loadNaCl(choice), identities: [identity] };
  const owner = ownerKeyOf(identity).writer;
  const found = new Map<RepositoryId, PinnedRepository>();
  let tried = 0;
  let isHidden = false;
  // Asked while the first chain is listed.
  const time = storeClock(backend).now(signal);
  time.catch(() => undefined);
  for await (const unread of readInOrder(readChain, chains(), () => CHAINS_AT_ONCE)) {
    tried += unread;
    isHidden ||= unread > UNREAD_MAX;
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
   * Reads the newest head of a chain, and keeps the settings if it has them.
   *
   * @returns the number of markers, if there is no such head
   */
  async function readChain({ chain, first }: FoundChain): Promise<number> {
    const now = await time;
    let count = 0;
    for await (const { marker, storedAt, claim } of claimsOf(chain, first, now)) {
      count += 1;
      // Anyone who can put can put a head of another chain or repository here.
      if (claim === undefined || chain !== chainOf(claim.head.repository, claim.head.name))
        continue;
      if (claim.head.name !== SETTINGS_CHAIN) return 0;
      const { repository } = claim.head;
      if (isAhead(marker, storedAt, now)) continue;
      const settings = unlessFaulty(() =>
        verifiedHead(claim.content, marker, { repository, owner }),
      );
      if (settings?.head.kind !== "repo") continue;
      const { graceSeconds } = settings.head.settings;
      found.set(repository, { repository, owner, graceSeconds });
      return 0;
    }
    return count;
  }

  /** The chains that have markers: one request each. */
  async function* chains(): AsyncGenerator<FoundChain> {
    let after: string | undefined = "";
    while (after !== undefined) {
      const options: { after: string; limit: number; signal?: AbortSignal } = {
        after,
        limit: 1,
        ...(signal && { signal }),
      };
      after = undefined;
      // Also a name with a generation that no head can have, which must not hide what comes after it.
      for await (const first of backend.listMarkers("", options)) {
        const chain = chainOfName(first.name);
        yield { chain, first };
        // Greater than every name of this chain.
        after = `${chain}/g`;
      }
    }
  }

  /** What the heads of a chain say that they are, newest first. After the first, some are read at once. */
  async function* claimsOf(chain: ChainId, first: ListedName, now: number): AsyncGenerator<Claim> {
    const markers = newestMarkers(backend, chain, now, signal, first);
    const read = async (listed: ListedMarker): Promise<Claim> => {
      return { ...listed, claim: await claimOf(listed.marker.address) };
    };
    try {
      const newest = await markers.next();
      if (newest.done === true) return;
      yield await read(newest.value);
      yield* readInOrder(read, markers);
    } finally {
      await markers.return(undefined);
    }
  }

  /** What a head says that it is; undefined if it cannot be read. */
  async function claimOf(address: string): Promise<Claim["claim"]> {
    try {
      const content = await readRecord(reader, "head", address, signal);
      return { head: decodeHead(content).head, content };
    } catch (error) {
      if (isFaultOfOne(error)) return undefined;
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
