import type { CallOptions, WriteOptions } from "../options.ts";
import { type FailedItem, type Items, inCompletionOrder } from "../items.ts";
import { type PutOptions, put } from "./put.ts";
import { assertOptions, checkConcurrency, checkPutManyOptions } from "../check-options.ts";
import type { Writing } from "../flow/measuring.ts";
import type { StoreContext } from "../context.ts";
import type { Address } from "../../crypto/address.ts";
import type { Content } from "../../content/byte-reader.ts";
import type { PutReport } from "./put-report.ts";
import { aheadOf } from "../workers/pool.ts";
import { createBufferPool } from "../buffers.ts";
import pLimit from "p-limit";
import { throwIfAborted } from "../../abort.ts";
import { typeName } from "../../bytes.ts";
import { usage } from "../../errors.ts";

/** One of many contents to store. */
export interface PutItem<Key> {
  /** Any value that identifies the item; returned with the result and otherwise ignored. */
  readonly key: Key;
  readonly content: Content;
  readonly options?:
    | Pick<PutOptions, "recipients" | "metadata" | "onProgress" | "journal">
    | undefined;
}

/** Options for all of the contents. An item's own recipients take precedence. */
export interface PutManyOptions extends Omit<WriteOptions, "concurrency">, CallOptions {
  readonly recipients?: readonly string[] | undefined;
  /**
   * The most contents in flight at once, 1 to 64, by default 64. Up to that, the number begins with 24
   * and follows what is measured. Of long contents, fewer are sent until the first are stored, and while
   * the line is so slow that they would time out together. The store's own `concurrency` limits the
   * chunks in flight of each content.
   */
  readonly concurrency?: number | undefined;
}

/** The result of one item of `putMany`, with the key of the item. */
export type PutResult<Key> =
  | {
      readonly ok: true;
      readonly key: Key;
      readonly address: Address;
      readonly report: PutReport;
    }
  | FailedItem<Key>;

/**
 * Stores many contents; see `Store.putMany`. They share parsed recipients, secrets and buffers, but
 * never an ephemeral secret: the nonce of a slot depends only on the ephemeral and the public key,
 * so a second content key under the same pair would reveal both (docs/format.md, "Wrapping the
 * content key").
 */
export async function* putMany<Key>(
  context: StoreContext,
  items: Items<PutItem<Key>>,
  options: PutManyOptions,
): AsyncGenerator<PutResult<Key>> {
  assertOptions(options);
  const concurrency = checkConcurrency(options.concurrency);
  const { writeRoots: flow, writeLeaves } = context.flows;
  const chunks = () => context.defaults.concurrency ?? writeLeaves.width();
  const shared: StoreContext = {
    ...context,
    defaults: checkPutManyOptions(context.defaults, { ...options, concurrency: undefined }),
    writeBuffers: createBufferPool(
      () => (concurrency ?? flow.width()) + 1 + chunks() + aheadOf(context.workers),
    ),
  };
  // One tree at a time: its chunks in flight saturate the connection, and more would cost memory.
  const queueTree = pLimit(1);

  const storeOne = async (
    item: PutItem<Key>,
    signal: AbortSignal,
    writing: Writing,
  ): Promise<PutResult<Key>> => {
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
      const address = await put({ ...shared, ...writing }, content, given, queueTree);
      return { ok: true, key, address, report: report! };
    } catch (error) {
      throwIfAborted(signal);
      return { ok: false, key, error };
    }
  };
  yield* inCompletionOrder(items, storeOne, { flow, concurrency, signal: options.signal });
}
