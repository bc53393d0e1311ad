import type { Backend } from "../../backend/backend.ts";
import type { ReadOptions } from "../options.ts";
import { type FailedItem, type Items, inCompletionOrder } from "../items.ts";
import { type GetOptions, get } from "./get.ts";
import type { StoredContent } from "./stored-content.ts";
import { throwIfAborted } from "../../abort.ts";
import { checkConcurrency, checkIdentities } from "../check-options.ts";
import type { StoreContext } from "../context.ts";
import { usage } from "../../errors.ts";
import { createBufferPool } from "../buffers.ts";
import { typeName } from "../../bytes.ts";

/** One of many roots to open. */
export interface GetItem<Key> extends Pick<GetOptions, "range" | "onProgress"> {
  /** Any value that identifies the item; returned with the result and otherwise ignored. */
  readonly key: Key;
  readonly address: string;
}

/** Options of `getMany`. */
export interface GetManyOptions extends ReadOptions {
  /**
   * The most roots in flight at once, 1 to 64, by default 64. Up to that, the number begins with 24 and
   * follows what is measured. When content is read, the store's own `concurrency` limits its chunks in
   * flight.
   */
  readonly concurrency?: number | undefined;
}

/** The result of one item of `getMany`; for an item that is an address, the key is that address. */
export type GetResult<Key> =
  | { readonly ok: true; readonly key: Key; readonly blob: StoredContent }
  | FailedItem<Key>;

/** Fetches and opens many roots; see `Store.getMany`. */
export async function* getMany(
  context: StoreContext,
  items: Items<string | GetItem<unknown>>,
  options: GetManyOptions,
): AsyncGenerator<GetResult<unknown>> {
  const keyPairs = checkIdentities(context.defaults, options);
  const concurrency = checkConcurrency(options.concurrency);
  const flow = context.flows.readRoots;
  const shared: StoreContext = {
    ...context,
    defaults: { ...context.defaults, keyPairs },
    // As many as are in flight. The pool of the store is smaller, because it lives as long as the store.
    rootBuffers: createBufferPool(() => (concurrency ?? flow.width()) + 1),
  };
  const openOne = async (
    item: string | GetItem<unknown>,
    signal: AbortSignal,
    backend: Backend,
  ): Promise<GetResult<unknown>> => {
    const { key, address, range, onProgress } = itemOf(item);
    try {
      // The content outlives the loop, so its reads use the caller's signal, not the loop's.
      const given = { range, onProgress, signal: options.signal };
      return { ok: true, key, blob: await get(shared, address, given, { signal, backend }) };
    } catch (error) {
      throwIfAborted(signal);
      return { ok: false, key, error };
    }
  };
  yield* inCompletionOrder(items, openOne, { flow, concurrency, signal: options.signal });
}

function itemOf(item: string | GetItem<unknown>): GetItem<unknown> {
  if (typeof item === "string") return { key: item, address: item };
  if (typeof item === "object" && item !== null) return item;
  throw usage(`an item to get is an address or { key, address }, got ${typeName(item)}`);
}
