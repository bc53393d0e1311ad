import { type Address, type Backend, type CallOptions, StorageError } from "@idk/storage";
import type { CheckOptions, CheckProblem } from "./problems.ts";
import type { AddressSet } from "../address-set.ts";
import type { PackReader } from "../../read/pack-reader.ts";
import type { PackTable } from "./pack-table.ts";
import type { Repository } from "../../repository/repository.ts";
import { PACK_BLOB_MAX } from "../../format/packs/pack.ts";
import {
  type Parallel,
  type ParallelRequests,
  type SizedItem,
  fetchBlob,
} from "@idk/storage/blobs";
import { isFaultForNow } from "../../repository/find-heads.ts";

/** Checks packs: that they are there, what the store knows of them, and of some what is in them. */
export interface PackChecker {
  /** A reader that reports metadata packs that cannot be read. @param onMissing is told of those not there */
  watch(packs: PackReader, onMissing: (address: Address) => Promise<void>): PackReader;
  /** Opens some of the data packs from this number on, as many as the options ask for. */
  read(packs: PackReader, from: number): Promise<void>;
  /** Reports a pack that is not there. */
  missing(address: Address): Promise<void>;
  /** Reports a pack that cannot be read. */
  fault(address: Address, error: StorageError): Promise<void>;
  /** Asks the store about the others, and deletes. Returns all packs that turned out to be damaged. */
  finish(): Promise<ReadonlySet<Address>>;
  readonly counts: {
    readonly opened: number;
    readonly openedBytes: number;
    readonly attested: number;
  };
}

/** Damaged packs that are deleted: so many, or a share of all if that is more. */
const DELETED_MAX = 16;
const DELETED_SHARE = 0.01;

/** What is checked, and how the store is asked. */
export interface PackSources {
  readonly table: PackTable;
  readonly present: AddressSet;
  readonly requests: ParallelRequests;
  readonly fetching: Parallel<Backend, SizedItem>;
}

export function packChecker(
  { backend }: Repository,
  { table, present, requests, fetching }: PackSources,
  options: CheckOptions,
  report: (problem: CheckProblem) => void,
): PackChecker {
  const { readData = 0, checksums = true, deleteDamaged = false } = options;
  const { signal, onProgress, onSound, isKnownSound = () => false } = options;
  const counts = { opened: 0, openedBytes: 0, attested: 0 };
  const reported = new Set<Address>();
  const damaged = new Set<Address>();
  /** Those to delete, with why: all are known before the first goes. */
  const toDelete = new Map<Address, StorageError>();
  /** Data packs that were opened, by number. */
  const read = new Set<number>();

  const fault = async (address: Address, error: StorageError): Promise<void> => {
    if (reported.has(address)) return;
    reported.add(address);
    // Nothing but its bytes proves that a pack is damaged: what else is wrong may be the snapshot that
    // refers to it.
    if (error.code === "address") damaged.add(address);
    if (deleteDamaged && error.code === "address") toDelete.set(address, error);
    else report({ kind: "pack", address, error, isDeleted: false });
  };
  /**
   * Deletes the damaged packs whose bytes, fetched once more, do not have the hash that is their name: a
   * checksum may be another object's, and what was read may have been damaged on its way. None of many,
   * because then it is rather the way to the store, or this machine's memory, that is damaged.
   */
  const deleteThem = async (): Promise<void> => {
    const most = Math.max(DELETED_MAX, Math.floor(table.length * DELETED_SHARE));
    const buffer = new Uint8Array(PACK_BLOB_MAX);
    for (const [address, error] of toDelete) {
      const [why, isDeleted] =
        toDelete.size > most
          ? [tooMany(error, toDelete.size, table.length), false]
          : await tryDelete(address, error, buffer);
      report({ kind: "pack", address, error: why, isDeleted });
    }
  };
  const tryDelete = async (
    address: Address,
    error: StorageError,
    buffer: Uint8Array<ArrayBuffer>,
  ): Promise<[StorageError, boolean]> => {
    try {
      await fetchBlob(backend, address, buffer, signal ? { signal } : {});
    } catch (again) {
      if (!isFaultForNow(again)) throw again;
      // That the server cannot return them proves nothing: they may be back later.
      if (again.code !== "address" || again.transient) return [again, false];
      await backend.delete(address, { signal });
      return [error, true];
    }
    damaged.delete(address);
    const text = `${error.message}; fetched once more, its bytes are right, so it is not deleted`;
    return [new StorageError("address", text, { cause: error }), false];
  };
  let looking: Promise<unknown> = Promise.resolve();
  /**
   * What is wrong with a pack that could not be opened: its bytes, or else the given. A snapshot can have the
   * wrong key of a pack that is damaged as well. One after the other, as each takes the memory of a pack.
   */
  const causeOf = async (address: Address, error: StorageError): Promise<StorageError> => {
    if (error.code === "address" || error.code === "not-found" || reported.has(address))
      return error;
    const look = async (): Promise<StorageError> => {
      try {
        const buffer = new Uint8Array(PACK_BLOB_MAX);
        await fetchBlob(backend, address, buffer, signal ? { signal } : {});
        return error;
      } catch (cause) {
        if (!isFaultForNow(cause)) throw cause;
        return cause;
      }
    };
    const mine = looking.then(look, look);
    looking = mine.catch(() => undefined);
    return mine;
  };
  const missing = async (address: Address) => {
    const text = `the store does not have the pack ${address}`;
    await fault(address, new StorageError("not-found", text));
  };

  return {
    counts,
    missing,
    fault,
    watch: (packs, onMissing) => ({
      ...packs,
      async metadata(row, inner) {
        try {
          return await packs.metadata(row, inner);
        } catch (error) {
          if (!isFaultForNow(error) || error.code === "no-match") throw error;
          const cause = await causeOf(row.address, error);
          if (cause.code === "not-found") await onMissing(row.address);
          else await fault(row.address, cause);
          throw error;
        }
      },
    }),
    async read(packs, from) {
      if (readData === 0) return;
      const chosen: number[] = [];
      for (let number = from; number < table.length; number++) {
        // Of a part of the store, only its own packs were listed.
        const isThere = present.has(table.address(number));
        if (table.sortOf(number) !== "data" || !isThere || Math.random() >= readData) continue;
        if (!isKnownSound(table.row(number).address)) chosen.push(number);
      }
      const open = async ({ number }: { readonly number: number }, from: Backend) => {
        const row = table.row(number);
        read.add(number);
        try {
          const plaintext = await packs.data(row, { signal, from });
          counts.openedBytes += plaintext.length;
          onSound?.(row.address, plaintext.length);
        } catch (error) {
          if (!isFaultForNow(error)) throw error;
          await fault(row.address, await causeOf(row.address, error));
        }
        counts.opened += 1;
        onProgress?.({ stage: "packs", done: counts.opened });
      };
      const sized = function* sized() {
        for (const number of chosen) yield { number, size: PACK_BLOB_MAX };
      };
      await fetching.each(sized(), open, { signal });
    },
    async finish() {
      const verifies = checksums && (await backend.capabilities?.({ signal }))?.verifiesChecksums;
      const unread = verifies === true ? table.length : 0;
      const unasked = function* unasked() {
        for (let number = 0; number < unread; number++) {
          const { address } = table.row(number);
          if (read.has(number) || table.sortOf(number) === "meta") continue;
          if (present.has(table.address(number)) && !isKnownSound(address)) yield address;
        }
      };
      const ask = async (address: Address, given: CallOptions) => {
        const info = await backend.head(address, given);
        if (info === undefined) return missing(address);
        if (info.sha256 === undefined) return;
        counts.attested += 1;
        onProgress?.({ stage: "packs", done: counts.opened + counts.attested });
        if (info.sha256 === address) {
          onSound?.(address, undefined);
          return;
        }
        const text = `the store has other bytes than those of the pack ${address}`;
        await fault(address, new StorageError("address", text));
      };
      await requests.each(unasked(), ask, { signal });
      await deleteThem();
      return damaged;
    },
  };
}

function tooMany(error: StorageError, count: number, packs: number): StorageError {
  const text =
    `${error.message}; ${count} of ${packs} packs seem damaged, which is so many that none is deleted: ` +
    "check the connection to the store and this machine's memory, and run check on another machine";
  return new StorageError(error.code, text, { cause: error });
}
