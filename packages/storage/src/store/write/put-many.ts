import type { Address } from "../../content/address.ts";
import type { Content } from "../../content/byte-reader.ts";
import type { CallOptions, WriteOptions } from "../options.ts";
import type { PutReport } from "./put-report.ts";
import { type PutOptions, put } from "./put.ts";
import { type FailedItem, type Items, MANY_CONCURRENCY, inCompletionOrder } from "../items.ts";
import { throwIfAborted } from "../../abort.ts";
import { type StoreContext, assertOptions, concurrencyOf, planDefaults } from "../context.ts";
import { usage } from "../../errors.ts";
import { createBufferPool } from "../buffers.ts";
import pLimit from "p-limit";
import { aheadOf } from "../workers/pool.ts";
import { typeName } from "../../bytes.ts";

/** One of many contents to store. */
export interface PutItem<Key> {
  /** Whatever the caller tells the results apart by; it is handed back and otherwise left alone. */
  readonly key: Key;
  readonly content: Content;
  readonly options?:
    | Pick<PutOptions, "recipients" | "metadata" | "onProgress" | "journal">
    | undefined;
}

/** How all of the contents are cut and sealed; an item's own recipients go before these. */
export interface PutManyOptions extends Omit<WriteOptions, "concurrency">, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  /**
   * Contents in flight at once, 1 to 64, by default 16. How many chunks of one content are in
   * flight, the store's own option says.
   */
  readonly concurrency?: number | undefined;
}

export type PutResult<Key> =
  | {
      readonly ok: true;
      readonly key: Key;
      readonly address: Address;
      readonly report: PutReport;
    }
  | FailedItem<Key>;

/**
 * Stores many contents; see `Store.putMany`. What they share is worked out once: recipients parsed
 * and checked, secrets, buffers. An ephemeral secret is nothing to share: the nonce of a slot is
 * that of its ephemeral and public key, so that a second content key under the same pair would give
 * both away (docs/format.md, "Wrapping the content key").
 */
export async function* putMany<Key>(
  context: StoreContext,
  items: Items<PutItem<Key>>,
  options: PutManyOptions,
): AsyncGenerator<PutResult<Key>> {
  assertOptions(options);
  const concurrency = concurrencyOf({ concurrency: MANY_CONCURRENCY }, options.concurrency);
  const shared: StoreContext = {
    ...context,
    defaults: planDefaults(context.defaults, { ...options, concurrency: undefined }),
    writeBuffers: createBufferPool(
      concurrency + 1 + context.defaults.concurrency + aheadOf(context.workers),
    ),
  };
  // Each tree keeps several chunks in flight: one is enough for the wire, and for memory.
  const treeTurn = pLimit(1);

  const storeOne = async (item: PutItem<Key>, signal: AbortSignal): Promise<PutResult<Key>> => {
    if (typeof item !== "object" || item === null) {
      throw usage(`an item to put is { key, content }, got ${typeName(item)}`);
    }
    const { key, content } = item;
    const { recipients, metadata, onProgress, journal } = item.options ?? {};
    let report: PutReport | undefined;
    const onReport = (given: PutReport) => {
      report = given;
    };
    try {
      const given = { recipients, metadata, onProgress, journal, onReport, signal };
      const address = await put(shared, content, given, treeTurn);
      return { ok: true, key, address, report: report! };
    } catch (error) {
      throwIfAborted(signal);
      return { ok: false, key, error };
    }
  };
  yield* inCompletionOrder(items, storeOne, { concurrency, signal: options.signal });
}
