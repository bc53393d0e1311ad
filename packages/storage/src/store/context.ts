import {
  CHUNK_LOG2_DEFAULT,
  CHUNK_LOG2_MAX,
  CHUNK_LOG2_MIN,
  KEY_LENGTH,
  RECIPIENTS_MAX,
} from "../format/limits.ts";
import { type Identity, keyPairOf, publicKeyOf } from "../crypto/keys.ts";
import { COMPRESSIONS, type Compression } from "../content/compression/compress.ts";
import type { ReadOptions, StoreOptions, WriteOptions } from "./options.ts";
import { assertLength, compare, equal, typeName } from "../bytes.ts";
import type { Backend } from "../backend/backend.ts";
import type { BufferPool } from "./buffers.ts";
import type { KeyPair } from "../crypto/wrap-key.ts";
import type { LeafWorkers } from "./workers/pool.ts";
import type { NaCl } from "../crypto/nacl.ts";
import { usage } from "../errors.ts";

/** What every operation of a store works with. */
export interface StoreContext {
  readonly backend: Backend;
  readonly naCl: NaCl;
  /** For blobs that are read and opened. Separate, so that no backend is passed plaintext to store. */
  readonly readBuffers: BufferPool;
  /** For blobs that are sealed and written. */
  readonly writeBuffers: BufferPool;
  /** For leaves of large content; undefined if they are disabled or not available. */
  readonly workers: LeafWorkers | undefined;
  readonly defaults: Defaults;
  /** Whether this store has written, or would write, with a dedup secret. */
  deduplicates(): boolean;
}

/** A store's options, checked and ready to use. */
export interface Defaults extends WritePlan {
  /** Undefined if the store was created without identities. */
  readonly keyPairs: readonly KeyPair[] | undefined;
}

/** How a call writes, with every value checked. */
export interface WritePlan {
  /** Distinct and sorted, as the format requires; empty if there are no recipients. */
  readonly publicKeys: readonly Uint8Array[];
  readonly chunkLog2: number;
  readonly pad: boolean;
  readonly compression: Compression;
  readonly dedupSecret: Uint8Array | undefined;
  readonly concurrency: number;
}

export const FORMAT_DEFAULTS: Defaults = {
  publicKeys: [],
  keyPairs: undefined,
  chunkLog2: CHUNK_LOG2_DEFAULT,
  pad: true,
  compression: "none",
  dedupSecret: undefined,
  concurrency: 4,
};

/**
 * Checks a store's options.
 *
 * @throws StorageError `usage`, `key`
 */
export function checkDefaults(options: StoreOptions): Defaults {
  return {
    ...plan(FORMAT_DEFAULTS, options),
    keyPairs: options.identities && keyPairsOfAll(options.identities),
  };
}

/**
 * How a call writes: its own options, with the store's as defaults.
 *
 * @throws StorageError `usage`, also if there are no recipients; `key`
 */
export function planWrite(
  defaults: Defaults,
  options: WriteOptions & { readonly recipients?: readonly string[] | undefined },
): WritePlan {
  const planned = plan(defaults, options);
  if (planned.publicKeys.length === 0) {
    throw usage("a put needs at least one recipient: pass one to createStore or to the call");
  }
  return planned;
}

/**
 * The defaults for the many puts of one call: the call's options, with the store's as defaults.
 *
 * @throws StorageError `usage`, `key`
 */
export function planDefaults(
  defaults: Defaults,
  options: WriteOptions & { readonly recipients?: readonly string[] | undefined },
): Defaults {
  return { ...plan(defaults, options), keyPairs: defaults.keyPairs };
}

/** @throws StorageError `usage` */
export function concurrencyOf(
  defaults: Pick<Defaults, "concurrency">,
  value: number | undefined,
): number {
  const concurrency = value ?? defaults.concurrency;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > CONCURRENCY_MAX) {
    throw usage(`concurrency must be an integer from 1 to ${CONCURRENCY_MAX}`);
  }
  return concurrency;
}

/**
 * The key pairs that a call opens blobs with: its own identities', or the store's.
 *
 * @throws StorageError `usage` if there are none
 */
export function keyPairsOf(defaults: Defaults, options: ReadOptions): readonly KeyPair[] {
  assertOptions(options);
  const keyPairs = options.identities ? keyPairsOfAll(options.identities) : defaults.keyPairs;
  if (keyPairs === undefined) {
    throw usage("opening a blob needs an identity: pass one to createStore or to the call");
  }
  return keyPairs;
}

const CONCURRENCY_MAX = 64;

function plan(
  defaults: Defaults,
  options: WriteOptions & { readonly recipients?: readonly string[] | undefined },
): WritePlan {
  assertOptions(options);
  const { recipients, chunkSize, padding, compression, dedupSecret, concurrency } = options;
  if (padding !== undefined && padding !== "padme" && padding !== "none") {
    throw usage('padding must be "padme" or "none"');
  }
  if (compression !== undefined && !COMPRESSIONS.includes(compression)) {
    throw usage('compression must be "zstd", "lz4", "auto" or "none"');
  }
  if (dedupSecret !== undefined) assertLength("dedupSecret", dedupSecret, KEY_LENGTH);
  return {
    publicKeys: recipients ? sortedPublicKeys(recipients) : defaults.publicKeys,
    chunkLog2: chunkSize === undefined ? defaults.chunkLog2 : chunkLog2Of(chunkSize),
    pad: padding === undefined ? defaults.pad : padding === "padme",
    compression: compression ?? defaults.compression,
    // A copy, because the caller may wipe its own.
    dedupSecret: dedupSecret ? new Uint8Array(dedupSecret) : defaults.dedupSecret,
    concurrency: concurrencyOf(defaults, concurrency),
  };
}

/** Untyped callers often pass a single element instead of a list. */
function assertList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw usage(`${name} must be a list, got ${typeName(value)}`);
}

/** @throws StorageError `usage` */
export function assertOptions(options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw usage(`options must be an object, got ${typeName(options)}`);
  }
}

function keyPairsOfAll(identities: readonly Identity[]): KeyPair[] {
  assertList("identities", identities);
  return identities.map(keyPairOf);
}

function sortedPublicKeys(recipients: readonly string[]): Uint8Array[] {
  assertList("recipients", recipients);
  const sorted = recipients.map(publicKeyOf).toSorted(compare);
  const distinct = sorted.filter((key, i) => i === 0 || !equal(key, sorted[i - 1]!));
  if (distinct.length > RECIPIENTS_MAX) {
    throw usage(`a blob can have at most ${RECIPIENTS_MAX} recipients, got ${distinct.length}`);
  }
  return distinct;
}

function chunkLog2Of(chunkSize: number): number {
  const log2 = Math.log2(chunkSize);
  if (!Number.isInteger(log2) || log2 < CHUNK_LOG2_MIN || log2 > CHUNK_LOG2_MAX) {
    throw usage("chunkSize must be a power of two from 262144 (256 KiB) to 16777216 (16 MiB)");
  }
  return log2;
}
