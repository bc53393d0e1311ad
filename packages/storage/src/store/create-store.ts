import { throwIfAborted } from "../abort.ts";
import { type GetItem, type GetManyOptions, type GetResult, getMany } from "./read/get-many.ts";
import type { Store } from "./store.ts";
import type { StoreOptions } from "./options.ts";
import type { Items } from "./items.ts";
import { assertOptions, checkStoreOptions } from "./check-options.ts";
import { budgetOf } from "./flow/budget.ts";
import type { StoreContext } from "./context.ts";
import { type Flow, createFlows } from "./flow/flow.ts";
import { usage } from "../errors.ts";
import { createBufferPool } from "./buffers.ts";
import { deleteTree } from "./tree/delete-tree.ts";
import { get } from "./read/get.ts";
import { inspect } from "./maintenance/inspect.ts";
import { list, resolve } from "./maintenance/list.ts";
import { loadNaCl } from "../crypto/nacl/load-nacl.ts";
import { parseAddress } from "../crypto/address.ts";
import { put } from "./write/put.ts";
import { putMany } from "./write/put-many.ts";
import { reseal } from "./tree/reseal.ts";
import { rewrap } from "./tree/rewrap.ts";
import { stat } from "./maintenance/stat.ts";
import { scan } from "./maintenance/scan.ts";
import { treeAddresses } from "./tree/walk.ts";
import { typeName } from "../bytes.ts";
import { verify } from "./maintenance/verify.ts";
import pLimit from "p-limit";
import { type LeafWorkers, aheadOf, createLeafWorkers, threadsOf } from "./workers/pool.ts";

/** Trees whose chunks are checked at the same time. */
const TREES_AT_ONCE = 4;

/** How many a store keeps; each has some 2 MiB. */
const ROOT_BUFFERS = 16;

/**
 * Creates a store over a backend. Makes no request.
 *
 * @throws StorageError `usage`, `key` if an option is wrong
 */
export function createStore(options: StoreOptions): Store {
  assertOptions(options);
  const { backend } = options;
  if (typeof backend?.put !== "function") {
    throw usage(
      `backend must be a backend such as filesystem("./blobs"), got ${typeName(backend)}`,
    );
  }
  const defaults = checkStoreOptions(options);
  const budget = budgetOf(options.memory);
  const flows = createFlows(backend, budget, defaults.concurrency);
  const chunksOf = (flow: Pick<Flow, "width">) => defaults.concurrency ?? flow.width();
  let context: Promise<StoreContext> | undefined;
  const loadContext = (): Promise<StoreContext> => {
    context ??= loadNaCl(options.nacl).then((naCl) => ({
      backend,
      naCl,
      defaults,
      deduplicates: () => sawDedupSecret,
      workers,
      // One more than are in flight: the one that the caller is reading or filling.
      readBuffers: createBufferPool(() => chunksOf(flows.readLeaves) + 1),
      writeBuffers: createBufferPool(() => chunksOf(flows.writeLeaves) + 1 + aheadOf(workers)),
      rootBuffers: createBufferPool(() => Math.min(ROOT_BUFFERS, flows.readRoots.width())),
      blobBuffers: createBufferPool(() => flows.wholeBlobs.width()),
      queueTree: pLimit(TREES_AT_ONCE),
      flows,
    }));
    return context;
  };
  let sawDedupSecret = defaults.dedupSecret !== undefined;
  const workers = createWorkers(options);
  const close = async () => {
    try {
      await workers?.close();
    } finally {
      await backend.close?.();
    }
  };

  return {
    put: async (content, given = {}) => {
      if (given?.dedupSecret !== undefined) sawDedupSecret = true;
      return put(await loadContext(), content, given);
    },
    putMany: async function* (items, given = {}) {
      if (given?.dedupSecret !== undefined) sawDedupSecret = true;
      yield* putMany(await loadContext(), items, given);
    },
    get: async (address, given = {}) => get(await loadContext(), address, given),
    getMany: async function* <Key>(
      items: Items<string | GetItem<Key>>,
      given: GetManyOptions = {},
    ): AsyncGenerator<GetResult<Key>> {
      // The results have the items' keys.
      yield* getMany(await loadContext(), items, given) as AsyncGenerator<GetResult<Key>>;
    },
    stat: async (address, given = {}) => stat(await loadContext(), address, given),
    rewrap: async (address, recipients, given = {}) =>
      rewrap(await loadContext(), address, recipients, given),
    reseal: async (address, recipients, given = {}) => {
      if (given?.dedupSecret !== undefined) sawDedupSecret = true;
      return reseal(await loadContext(), address, recipients, given);
    },
    verify: async (address, given = {}) => verify(await loadContext(), address, given),
    treeAddresses: async function* (address, given = {}) {
      yield* treeAddresses(await loadContext(), address, given);
    },
    deleteTree: async (address, given = {}) => deleteTree(await loadContext(), address, given),
    has: async (address, { signal } = {}) => {
      throwIfAborted(signal);
      return (await backend.head(parseAddress(address), { signal })) !== undefined;
    },
    delete: async (address, { signal } = {}) => {
      throwIfAborted(signal);
      await backend.delete(parseAddress(address), { signal });
    },
    list: (given = {}) => list(backend, given),
    resolve: async (prefix, given = {}) => resolve(backend, prefix, given),
    inspect: async (address, given = {}) => inspect(await loadContext(), address, given),
    scan: async function* (given = {}) {
      yield* scan(await loadContext(), given);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Threads load a NaCl implementation by name, so the caller's own stays in this thread. */
function createWorkers({ nacl = "auto", workers }: StoreOptions): LeafWorkers | undefined {
  const threads = threadsOf(workers);
  return threads === 0 || typeof nacl === "object" ? undefined : createLeafWorkers(nacl, threads);
}
