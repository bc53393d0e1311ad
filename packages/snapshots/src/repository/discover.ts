import { type Backend, type Identity, type NaClChoice, StorageError, loadNaCl } from "@idk/storage";
import type { ChainId, RepositoryId } from "../format/names/identifiers.ts";
import { SETTINGS_CHAIN, chainOf } from "../format/names/chain.ts";
import {
  type ListedMarker,
  isFaultOfOne,
  listMarkers,
  newestMarkers,
  readHead,
  readHeads,
} from "./find-heads.ts";
import { type Head, decodeHead } from "../format/records/head.ts";
import type { PinnedRepository } from "./repository.ts";
import { ownerKeyOf } from "../format/keys/writer.ts";
import { readRecord } from "./records.ts";
import { requireMarkers } from "./marker-backend.ts";
import { storeClock } from "./store-clock.ts";

/** What a head says that it is; without a claim if it cannot be read. */
interface Claim {
  readonly listed: ListedMarker;
  readonly claim: Head | undefined;
}

/** If a chain has more markers and no head that can be read, it is not taken for an empty place. */
const UNREAD_MAX = 16;

/**
 * Finds the repository of one person at a location, by the settings that the owner's key of this
 * identity signed: all that is needed besides the identity file. About two requests for each chain, and
 * one for each marker that others have made up ahead of a chain's heads, some at once: if it passed over
 * them, they could hide the settings behind them, and settings of another repository that they copied in
 * would be found.
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
  const now = await storeClock(backend).now(signal);
  const owner = ownerKeyOf(identity).writer;
  const found = new Map<RepositoryId, PinnedRepository>();
  let tried = 0;
  let isHidden = false;
  for await (const chain of chainsOf()) {
    const unread = await readChain(chain);
    tried += unread;
    isHidden ||= unread > UNREAD_MAX;
  }
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
  async function readChain(chain: ChainId): Promise<number> {
    let count = 0;
    for await (const { listed, claim } of claimsOf(chain)) {
      count += 1;
      // Anyone who can put can put a head of another chain or repository here.
      if (claim === undefined || chain !== chainOf(claim.repository, claim.name)) continue;
      if (claim.name !== SETTINGS_CHAIN) return 0;
      const { repository } = claim;
      const head = await readHead(reader, { repository, owner }, listed, now, { signal });
      if ("error" in head || head.head.kind !== "repo") continue;
      const { graceSeconds } = head.head.settings;
      found.set(repository, { repository, owner, graceSeconds });
      return 0;
    }
    return count;
  }

  /** The chains that have markers: one request each. */
  async function* chainsOf(): AsyncGenerator<ChainId> {
    let after: string | undefined = "";
    while (after !== undefined) {
      const options: { after: string; limit: number; signal?: AbortSignal } = {
        after,
        limit: 1,
        ...(signal && { signal }),
      };
      after = undefined;
      for await (const { marker } of listMarkers(backend, "", options)) {
        yield marker.chain;
        // Greater than every name of this chain.
        after = `${marker.chain}/g`;
      }
    }
  }

  /** What the heads of a chain say that they are, newest first. After the first, some are read at once. */
  async function* claimsOf(chain: ChainId): AsyncGenerator<Claim> {
    const markers = newestMarkers(backend, chain, now, signal);
    const read = async (listed: ListedMarker): Promise<Claim> => {
      return { listed, claim: await claimOf(listed.marker.address) };
    };
    try {
      const first = await markers.next();
      if (first.done === true) return;
      yield await read(first.value);
      yield* readHeads(read, markers);
    } finally {
      await markers.return(undefined);
    }
  }

  /** What a head says that it is; undefined if it cannot be read. */
  async function claimOf(address: string): Promise<Head | undefined> {
    try {
      return decodeHead(await readRecord(reader, "head", address, signal)).head;
    } catch (error) {
      if (isFaultOfOne(error)) return undefined;
      throw error;
    }
  }
}
