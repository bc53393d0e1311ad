import { type Backend, createStore, type Identity, loadNaCl, type NaCl } from "@idk/storage";
import type { Catalog } from "../catalog/catalog.ts";
import { S3Error } from "../errors.ts";
import { largeNeed, type ObjectsContext } from "./context.ts";
import { macKeysOf } from "./identity/mac.ts";
import { checkObjects } from "./maintenance/check.ts";
import { LineageError, createRun } from "./lineage/run.ts";
import { requireMarkers } from "./lineage/store-time.ts";
import { collectGarbage } from "./maintenance/collect.ts";
import type { Inspector } from "./maintenance/inspect-root.ts";
import { storeSnapshot } from "./maintenance/snapshot.ts";
import { sweep } from "./maintenance/sweep.ts";
import { type Budget, createBudget } from "./memory/budget.ts";
import { createPassedBytes } from "./memory/garbage.ts";
import type { Objects } from "./objects.ts";
import { readContent, readForCopy } from "./read/read.ts";
import { withRootCache } from "./read/root-cache.ts";
import { createBackground } from "./background.ts";
import { createBucket, deleteBucket, storePendingBuckets } from "./write/buckets.ts";
import { abortUpload } from "./write/abort.ts";
import { completeUpload } from "./write/complete.ts";
import { changeObject } from "./write/commit.ts";
import { copyObject, copyPart, setTags } from "./write/copy.ts";
import { createTombstones, deleteObjects, storePendingTombstones } from "./write/delete.ts";
import { putObject } from "./write/put-object.ts";
import { putPart } from "./write/put-part.ts";
import { createWrites } from "./write/writes.ts";

/** Options of `createObjects`. */
export interface ObjectsOptions {
  /** Where blobs are, below `s3/`; it retries. It stays the caller's to close. */
  readonly backend: Backend;
  readonly catalog: Catalog;
  /** Who can read. */
  readonly recipients: readonly string[];
  /** Without one, the gateway can only write. Its MAC key is that of the first one. */
  readonly identities?: readonly Identity[] | undefined;
  /** For a gateway without an identity: what `macKeyOf` returns for that of the reader. */
  readonly macKey?: Uint8Array | undefined;
  /** Bytes of memory for content in flight, by default 80 MiB. */
  readonly memoryBytes?: number | undefined;
  /** Bytes of a chunk: a power of two from 256 KiB to 16 MiB, by default 4 MiB. */
  readonly chunkSize?: number | undefined;
  /** Whether deletions are sealed into the store, so that no rebuild undoes them. By default true. */
  readonly tombstones?: boolean | undefined;
  /** Whether garbage is collected and snapshots are stored in the background. By default true. */
  readonly background?: boolean | undefined;
  readonly nacl?: NaCl | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
  /** For what concerns the operator. */
  readonly warn?: ((message: string, error?: unknown) => void) | undefined;
}

const MEMORY_DEFAULT = 80 * 2 ** 20;
const CHUNK_DEFAULT = 4 * 2 ** 20;
/** The share of memory for content up to 1 MiB. */
const SMALL_SHARE = 1 / 5;
/** Of blobs that are opened for many ranges. */
const ROOT_CACHE_BYTES = 8 * 2 ** 20;
/** The most chunks in flight that a store can be told to have buffers for. */
const CONCURRENCY_MAX = 64;

/**
 * Creates the objects of a gateway.
 *
 * @throws S3Error `InvalidRequest` if there is no key for MACs; LineageError if work in the background is
 *   asked for and the catalog is not that of the store; StorageError `usage`, `key`; CatalogError
 */
export async function createObjects(options: ObjectsOptions): Promise<Objects> {
  const { backend, catalog, recipients, identities = [], macKey } = options;
  const { memoryBytes = MEMORY_DEFAULT, chunkSize = CHUNK_DEFAULT, now = Date.now } = options;
  const { warn = () => {}, tombstones: keepsTombstones = true } = options;
  const macKeys = macKeysOf(identities, macKey);
  if (macKeys === undefined) {
    throw new S3Error("InvalidRequest", "A gateway needs an identity, or the MAC key of one.");
  }
  const naCl = options.nacl ?? (await loadNaCl());
  const smallBytes = memoryBytes * SMALL_SHARE;
  const largeBytes = memoryBytes - smallBytes;
  // As many buffers are kept for reuse as the budget allows, because those that are not kept wait for
  // the garbage collector, beyond any budget.
  const buffers = Math.min(CONCURRENCY_MAX, Math.max(1, Math.floor(largeBytes / chunkSize)));
  // These budgets bound the memory, and take it back from clients that stall; a store's own could not.
  const keys = {
    recipients,
    identities,
    nacl: naCl,
    chunkSize,
    concurrency: buffers,
    memory: Infinity,
  };
  // One thread: content roots are short, and each thread would take memory of its own.
  const roots = createStore({ ...keys, backend, workers: 0 });
  const contents = createStore({
    ...keys,
    backend: withRootCache(backend, ROOT_CACHE_BYTES),
    workers: 0,
  });
  const large = createBudget(largeBytes);
  const small = createBudget(smallBytes);
  const copied = createBudget(largeNeed({ chunkSize }, Infinity).least);
  const memory = { chunkSize, small, large, copied, passed: createPassedBytes(large) };
  const { uuid: catalogId, store } = await catalog.lineage();
  const marked = requireMarkers(backend);
  const run = createRun({ backend: marked, catalog, macKeys, store, now, warn });
  const isServing = options.background ?? true;
  if (isServing) {
    await run.check().catch((error: unknown) => {
      if (error instanceof LineageError) throw error;
      warn("the store cannot be reached", error);
    });
  }
  const writes = createWrites(catalog, run.now, warn);
  const canRead = identities.length > 0;
  const context: ObjectsContext = {
    backend,
    catalog,
    roots,
    contents,
    macKeys,
    canRead,
    memory,
    run,
    writes,
    voidWrites: (given) => voids.store(given),
    now: run.now,
    catalogId,
    warn,
    collectSoon: () => background.collectSoon(),
  };
  const inspector: Inspector = {
    backend,
    naCl,
    identities,
    macKeys,
    roots,
    accepts: (given) => given === run.store(),
  };
  const voids = createTombstones(context);
  const tombstones = keepsTombstones ? voids : { areKept: false, store: async () => {} };
  const background = createBackground(context, isServing, {
    collect: (signal) => collectGarbage(context, signal),
    snapshot: (signal) => storeSnapshot(context, inspector, signal),
    storePending: async () => {
      await storePendingBuckets(context);
      await storePendingTombstones(context, tombstones);
    },
  });

  const sumOf = (count: (budget: Budget) => number): number =>
    [small, large, copied].reduce((sum, budget) => sum + count(budget), 0);

  return {
    canRead,
    putObject: (request) => putObject(context, request),
    putPart: (request) => putPart(context, request),
    completeUpload: (request) => completeUpload(context, request),
    changeObject: ({ condition, ...target }, make) =>
      changeObject(context, { ...target, condition }, make),
    copyObject: (request) => copyObject(context, request),
    setTags: (request) => setTags(context, request),
    copyPart: (request) => copyPart(context, request),
    abortUpload: (upload) => abortUpload(context, upload),
    deleteObjects: (bucket, targets) => deleteObjects(context, tombstones, bucket, targets),
    readObject: (opened, range = { start: 0, end: opened.object.size }, given = {}) =>
      readContent(context, opened, range, given),
    readForCopy: (opened, range, signal) => readForCopy(context, opened, range, signal),
    createBucket: (bucket) => createBucket(context, bucket),
    deleteBucket: (bucket) => deleteBucket(context, tombstones, bucket),
    maintenance: {
      collect: (signal) => collectGarbage(context, signal),
      sweep: (given) => sweep(context, inspector, given),
      snapshot: (signal) => storeSnapshot(context, inspector, signal),
      check: (given) => checkObjects(context, inspector, given),
    },
    metrics: () => ({
      budgetBytes: sumOf((budget) => budget.bytes),
      budgetUsed: sumOf((budget) => budget.used()),
      budgetWaiting: sumOf((budget) => budget.waiting()),
      preemptions: sumOf((budget) => budget.preemptions()),
    }),
    async close() {
      await background.close();
      writes.close();
    },
  };
}
