import { randomBytes } from "node:crypto";
import type { Catalog } from "../../catalog/catalog.ts";
import { S3Error } from "../../errors.ts";
import type { MacKeys } from "../identity/mac.ts";
import { listStoredMarks, listStores, markMarker, type StoredMark, storeMarker } from "./marks.ts";
import { type MarkedBackend, storeTime } from "./store-time.ts";

/** A catalog that is not that of its store, or does not know all of it. */
export class LineageError extends Error {
  override readonly name = "LineageError";
}

/** The bond between this process, its catalog and its store. See maintenance/lineage.ts for the rules. */
export interface Run {
  /**
   * Called before a write stores anything, and again before it is committed: puts a mark if the last one
   * is not fresh.
   *
   * @throws S3Error `ServiceUnavailable` if the catalog is not that of the store
   */
  ready(): Promise<void>;
  /**
   * Checks that the catalog is complete, and that it is the store's and no old copy.
   *
   * @returns the store's ID, or undefined before the first write
   * @throws LineageError
   */
  check(signal?: AbortSignal): Promise<string | undefined>;
  /** The ID of the store that the catalog belongs to. It has one once something was written. */
  store(): string;
  /** Milliseconds since 1970, by the store's clock as it was compared last; to two seconds. */
  now(): number;
}

/** What a run connects. */
export interface RunOptions {
  readonly backend: MarkedBackend;
  readonly catalog: Catalog;
  readonly macKeys: MacKeys;
  /** The ID of the store that the catalog belongs to, if it has one yet. */
  readonly store: string | undefined;
  /** By this machine's clock. */
  readonly now: () => number;
  readonly warn: (message: string, error?: unknown) => void;
}

/** What there is of the bond. */
interface Inspected {
  /** The store that the catalog is bound to. */
  readonly store: string | undefined;
  /** Whether the store has its marker. */
  readonly isMarked: boolean;
  readonly marks: readonly StoredMark[];
}

/** A mark is renewed beside a write when it is so old, in ms, */
const RENEWED_AFTER = 30_000;
/** and no write goes on without a new one when it is so old. */
const STALE_AFTER = 120_000;
/** More numbers than all gateways of a catalog give out while a mark is fresh. */
const SKIPPED = 2 ** 23;
/** How many marks stay in the store. */
const MARKS_KEPT = 8;
/** The store's time is to the second: smaller differences are none. */
const CLOCK_GRAIN = 2000;

export function createRun(options: RunOptions): Run {
  const { backend, catalog, macKeys, now, warn } = options;
  let ahead = 0;
  let bound = options.store;
  let marked: number | undefined;
  let hasBegun = false;
  let renewing: Promise<void> | undefined;

  const compareClocks = async (signal?: AbortSignal): Promise<void> => {
    const difference = (await storeTime(backend, signal)) - now();
    ahead = Math.abs(difference) > CLOCK_GRAIN ? difference : 0;
  };

  const inspectOnce = async (signal?: AbortSignal): Promise<Inspected> => {
    await compareClocks(signal);
    const [there, ...others] = await listStores(backend, macKeys, signal);
    if (others.length > 0) throw new LineageError("the store has markers of several stores");
    const before = await catalog.lineage();
    if (!before.isComplete) throw incomplete();
    const { store } = before;
    if (store === undefined) {
      if (there === undefined && !(await hasBlobs(backend, signal))) {
        return { store, isMarked: false, marks: [] };
      }
      throw new LineageError(
        "the catalog is new, and the store is not: name the catalog of this store, or rebuild it",
      );
    }
    if (there !== undefined && there !== store) {
      throw new LineageError("the catalog belongs to another store");
    }
    // First what is in the store: the catalog remembers a mark before it is put.
    const marks = await listStoredMarks(backend, macKeys, store, signal);
    const known = await catalog.listMarks();
    if (there === undefined && known.length > 0) {
      throw new LineageError(
        "the store lacks the marker of the catalog's store: it is another one, or has lost its markers",
      );
    }
    const nonces = new Map(known.map(({ number, nonce }) => [number, nonce]));
    const oldest = known[0]?.number ?? 0;
    for (const { number, nonce } of marks) {
      if (number >= oldest && nonces.get(number) !== nonce) throw oldCopy();
    }
    bound = store;
    return { store, isMarked: there !== undefined, marks };
  };

  /** Twice, because another process may have bound the catalog between two looks. */
  const inspect = (signal?: AbortSignal): Promise<Inspected> =>
    inspectOnce(signal).catch((error: unknown) => {
      if (error instanceof LineageError) return inspectOnce(signal);
      throw error;
    });

  const renew = async (): Promise<void> => {
    const { store: known, isMarked, marks } = await inspect();
    const store = known ?? (await catalog.bindStore(randomBytes(16).toString("hex")));
    if (!isMarked) await backend.putMarker(storeMarker(macKeys, store));
    const nonce = randomBytes(16).toString("hex");
    // A process that starts may do so with a copy that lacks the last numbers.
    const number = await catalog.addMark(nonce, hasBegun ? 0 : SKIPPED);
    const at = now();
    await backend.putMarker(markMarker(macKeys, store, { number, nonce }));
    bound = store;
    hasBegun = true;
    marked = at;
    for (const { name } of marks.filter((mark) => mark.number <= number - MARKS_KEPT)) {
      await backend.deleteMarker(name).catch((error: unknown) => {
        warn("an old mark cannot be deleted from the store", error);
      });
    }
  };
  const renewed = (): Promise<void> => {
    renewing ??= renew()
      .catch((error: unknown) => {
        // Nothing more is written with a catalog that another one has taken over from.
        if (error instanceof LineageError) marked = undefined;
        throw error;
      })
      .finally(() => {
        renewing = undefined;
      });
    return renewing;
  };

  return {
    async ready() {
      // A clock that was set back makes it stale, too.
      const age = marked === undefined ? Infinity : Math.abs(now() - marked);
      if (age < RENEWED_AFTER) return;
      const renewal = renewed();
      if (age < STALE_AFTER) {
        renewal.catch((error: unknown) => warn("the store cannot be marked", error));
        return;
      }
      try {
        await renewal;
      } catch (error) {
        if (!(error instanceof LineageError)) throw error;
        warn("nothing can be written", error);
        const message = "The gateway's catalog is not that of its store.";
        throw new S3Error("ServiceUnavailable", message, { cause: error });
      }
    },
    check: async (signal) => (await inspect(signal)).store,
    store() {
      if (bound === undefined) throw new Error("the catalog belongs to no store yet");
      return bound;
    },
    now: () => now() + ahead,
  };
}

async function hasBlobs(backend: MarkedBackend, signal?: AbortSignal): Promise<boolean> {
  for await (const _ of backend.list("", { signal })) return true;
  return false;
}

function incomplete(): LineageError {
  return new LineageError(
    "the catalog is incomplete: a rebuild did not end, or could not read all of the store. Rebuild it again, or accept it as it is",
  );
}

function oldCopy(): LineageError {
  return new LineageError(
    "the store has a mark that this catalog does not remember: the catalog is an old copy, or another one is in use. Rebuild it",
  );
}
