import { type Address, StorageError } from "@idk/storage";
import type { CheckOptions, CheckProblem } from "./problems.ts";
import type { AddressSet } from "./address-set.ts";
import type { PackReader } from "../read/pack-reader.ts";
import type { PackTable } from "./check-trees.ts";
import type { Repository } from "../repository/repository.ts";
import { inParallel } from "./in-parallel.ts";
import { isFaultOfOne } from "../repository/find-heads.ts";

/** Checks packs: that they are there, what the store knows of them, and of some what is in them. */
export interface PackChecker {
  /** A reader that reports metadata packs that cannot be read. @param onMissing is told of those not there */
  watch(packs: PackReader, onMissing: (address: Address) => Promise<void>): PackReader;
  /** Opens some of the data packs from this number on, as many as the options ask for. */
  read(packs: PackReader, from: number): Promise<void>;
  /** Reports a pack that is not there. */
  missing(address: Address): Promise<void>;
  /** Asks the store about the others. Returns all packs that turned out to be damaged. */
  finish(): Promise<ReadonlySet<Address>>;
  readonly counts: {
    readonly opened: number;
    readonly openedBytes: number;
    readonly attested: number;
  };
}

export function packChecker(
  { backend }: Repository,
  table: PackTable,
  present: AddressSet,
  options: CheckOptions,
  report: (problem: CheckProblem) => void,
): PackChecker {
  const { readData = 0, checksums = true, deleteDamaged = false, concurrency = 16 } = options;
  const { signal, onProgress } = options;
  const counts = { opened: 0, openedBytes: 0, attested: 0 };
  const reported = new Set<Address>();
  const damaged = new Set<Address>();
  /** Data packs that were opened, by number. */
  const read = new Set<number>();

  const fault = async (address: Address, error: StorageError): Promise<void> => {
    if (reported.has(address)) return;
    reported.add(address);
    if (error.code !== "not-found") damaged.add(address);
    // Nothing but its bytes proves that a pack is damaged: what else is wrong may be the snapshot that
    // refers to it.
    const isDeleted = deleteDamaged && error.code === "address";
    if (isDeleted) await backend.delete(address, { signal });
    report({ kind: "pack", address, error, isDeleted });
  };
  const missing = async (address: Address) => {
    const text = `the store does not have the pack ${address}`;
    await fault(address, new StorageError("not-found", text));
  };

  return {
    counts,
    missing,
    watch: (packs, onMissing) => ({
      ...packs,
      async metadata(row, inner) {
        try {
          return await packs.metadata(row, inner);
        } catch (error) {
          if (!isFaultOfOne(error) || error.code === "no-match") throw error;
          if (error.code === "not-found") await onMissing(row.address);
          else await fault(row.address, error);
          throw error;
        }
      },
    }),
    async read(packs, from) {
      if (readData === 0) return;
      const chosen: number[] = [];
      for (let number = from; number < table.length; number++) {
        const isThere = present.has(table.address(number));
        if (table.sortOf(number) === "data" && isThere && Math.random() < readData) {
          chosen.push(number);
        }
      }
      await inParallel(chosen, Math.max(1, Math.floor(concurrency / 4)), async (number) => {
        const row = table.row(number);
        read.add(number);
        try {
          const plaintext = await packs.data(row, signal);
          counts.openedBytes += plaintext.length;
        } catch (error) {
          if (!isFaultOfOne(error)) throw error;
          await fault(row.address, error);
        }
        counts.opened += 1;
        onProgress?.({ stage: "packs", done: counts.opened });
      });
    },
    async finish() {
      const verifies = checksums && (await backend.capabilities?.({ signal }))?.verifiesChecksums;
      if (verifies !== true) return damaged;
      const numbers = Array.from({ length: table.length }, (_, number) => number);
      await inParallel(numbers, concurrency, async (number) => {
        const { address } = table.row(number);
        if (read.has(number) || table.sortOf(number) === "meta") return;
        if (!present.has(table.address(number))) return;
        const info = await backend.head(address, { signal });
        if (info === undefined) return missing(address);
        if (info.sha256 === undefined) return;
        counts.attested += 1;
        onProgress?.({ stage: "packs", done: counts.opened + counts.attested });
        if (info.sha256 === address) return;
        const text = `the store has other bytes than those of the pack ${address}`;
        await fault(address, new StorageError("address", text));
      });
      return damaged;
    },
  };
}
