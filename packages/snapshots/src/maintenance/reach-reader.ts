import {
  type ReachRoot,
  type StoredReach,
  readReachRoot,
  wholeReach,
} from "../repository/reaches.ts";
import { ADDRESS_LENGTH } from "../format/limits.ts";
import { type Address, StorageError } from "@idk/storage";
import type { Reach } from "../format/records/reach.ts";
import type { RecordReader } from "../repository/records.ts";
import { byteCache } from "../read/byte-cache.ts";

/** How many blobs a store has: a listing. */
export async function countBlobs(
  { backend }: RecordReader,
  signal: AbortSignal | undefined,
): Promise<number> {
  let count = 0;
  for await (const _ of backend.list("", { signal })) count += 1;
  return count;
}

/** Reaches of other heads that are kept for the next ones. */
const REACH_BUDGET = 32 * 2 ** 20;
/** Addresses that any repository may name: the packs of 2 TiB. */
const CLAIMED_MIN = 2 ** 19;
/**
 * Beyond that, so many for each blob that the store has. A snapshot needs nothing else; a path also names
 * what was dropped and may be deleted by now, but at most two addresses for each pack (`extendReach`).
 */
const CLAIMED_PER_BLOB = 4;

/** Reads the paths of reaches, each reach once as far as they fit the memory. */
export interface ReachReader {
  /** What one request tells: to be read ahead, as it takes a MiB at most. */
  root(address: Address): Promise<ReachRoot>;
  /**
   * The reaches that a head needs, those before its own in order, and then that.
   *
   * @param skip how many of the path need not be read, given their addresses
   * @throws StorageError `limit` if they claim many more packs than the store has blobs
   */
  path(
    root: ReachRoot,
    skip?: (path: readonly Address[]) => number,
  ): Promise<{ readonly addresses: readonly Address[]; readonly rest: readonly StoredReach[] }>;
  /** @throws StorageError `limit` if so many bytes of addresses are many more than the store has blobs */
  requirePlausible(bytes: number): Promise<void>;
}

/** @param countBlobs how many blobs the store has; asked at most once, and only if many are claimed */
export function reachReader(
  reader: RecordReader,
  countBlobs: () => Promise<number>,
  signal?: AbortSignal,
): ReachReader {
  const kept = byteCache<StoredReach>(REACH_BUDGET);
  let blobs: Promise<number> | undefined;

  const requirePlausible = async (bytes: number): Promise<void> => {
    if (bytes <= CLAIMED_MIN * ADDRESS_LENGTH) return;
    blobs ??= countBlobs();
    const count = Math.ceil(bytes / ADDRESS_LENGTH);
    if (count <= CLAIMED_PER_BLOB * (await blobs)) return;
    throw new StorageError(
      "limit",
      `${count} packs are claimed, and the store has ${await blobs} blobs`,
    );
  };
  const root = async (address: Address): Promise<ReachRoot> => {
    const known = kept.get(address);
    if (known === undefined) return readReachRoot(reader, address, signal);
    return { address, length: bytesOf(known), content: undefined };
  };
  return {
    root,
    requirePlausible,
    async path(own, skip = () => 0) {
      let claimed = 0;
      const read = async (given: ReachRoot): Promise<StoredReach> => {
        claimed += given.length;
        await requirePlausible(claimed);
        const known = kept.get(given.address);
        if (known !== undefined) return known;
        const reach = await wholeReach(reader, given, signal);
        kept.set(given.address, reach, bytesOf(reach));
        return reach;
      };
      const last = await read(own);
      const addresses = [...last.earlier, own.address];
      const rest: StoredReach[] = [];
      for (const address of addresses.slice(skip(addresses), -1)) {
        rest.push(await read(await root(address)));
      }
      return { addresses, rest: [...rest, last] };
    },
  };
}

function bytesOf({ added, dropped }: Reach): number {
  return added.length + dropped.length;
}
