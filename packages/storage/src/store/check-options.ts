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
import { CALLS_MAX } from "./flow/controller.ts";
import type { KeyPair } from "../crypto/wrap-key.ts";
import { usage } from "../errors.ts";

/** How a call writes, with every value checked. */
export interface WriteSettings {
  /** Distinct and sorted, as the format requires; empty if there are no recipients. */
  readonly publicKeys: readonly Uint8Array[];
  readonly chunkLog2: number;
  readonly pad: boolean;
  readonly compression: Compression;
  readonly dedupSecret: Uint8Array | undefined;
  /** The most chunks in flight, if the caller has set it. */
  readonly concurrency: number | undefined;
}

/** A store's options, checked and ready to use. */
export interface Defaults extends WriteSettings {
  /** Undefined if the store was created without identities. */
  readonly keyPairs: readonly KeyPair[] | undefined;
}

export const FORMAT_DEFAULTS: Defaults = {
  publicKeys: [],
  keyPairs: undefined,
  chunkLog2: CHUNK_LOG2_DEFAULT,
  pad: true,
  compression: "none",
  dedupSecret: undefined,
  concurrency: undefined,
};

/** A call's options for writing. */
type CallWriteOptions = WriteOptions & { readonly recipients?: readonly string[] | undefined };

/**
 * Checks a store's options.
 *
 * @throws StorageError `usage`, `key`
 */
export function checkStoreOptions(options: StoreOptions): Defaults {
  return {
    ...checkWriteOptions(FORMAT_DEFAULTS, options),
    keyPairs: options.identities && keyPairsOf(options.identities),
  };
}

/**
 * Checks the options of a call that writes. Omitted ones have the store's defaults.
 *
 * @throws StorageError `usage`, also if there are no recipients; `key`
 */
export function checkPutOptions(defaults: Defaults, options: CallWriteOptions): WriteSettings {
  const settings = checkWriteOptions(defaults, options);
  if (settings.publicKeys.length === 0) {
    throw usage("a put needs at least one recipient: pass one to createStore or to the call");
  }
  return settings;
}

/**
 * Checks the options that the many puts of one call have in common: the defaults of each put.
 *
 * @throws StorageError `usage`, `key`
 */
export function checkPutManyOptions(defaults: Defaults, options: CallWriteOptions): Defaults {
  return { ...checkWriteOptions(defaults, options), keyPairs: defaults.keyPairs };
}

/**
 * Chunks in flight of calls that do not measure them, and at first of those that do. More would cost
 * memory, and a local store is no faster with them.
 */
export const CHUNKS_AT_ONCE = 4;

/**
 * Items in flight at first: enough to hide the latency of a server nearby, and as many as fit into the
 * default memory while their sizes are not known.
 */
export const ITEMS_AT_ONCE = 24;

/**
 * Bytes of a short blob. Of those that a listing shows to be no longer, many are fetched at once, each into a
 * buffer of this length: memory counts for the garbage collector even if it is not used.
 */
export const SHORT_BLOB: number = 64 * 1024;

/** Other whole blobs in flight, which may have up to 16 MiB. */
export const LARGE_AT_ONCE = 8;

/** @throws StorageError `usage` */
export function checkConcurrency(concurrency: number | undefined): number | undefined {
  if (concurrency === undefined) return undefined;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > CALLS_MAX) {
    throw usage(`concurrency must be an integer from 1 to ${CALLS_MAX}`);
  }
  return concurrency;
}

/**
 * The key pairs that a call opens blobs with: its own identities', or the store's.
 *
 * @throws StorageError `usage` if there are none
 */
export function checkIdentities(defaults: Defaults, options: ReadOptions): readonly KeyPair[] {
  assertOptions(options);
  const keyPairs = options.identities ? keyPairsOf(options.identities) : defaults.keyPairs;
  if (keyPairs === undefined) {
    throw usage("opening a blob needs an identity: pass one to createStore or to the call");
  }
  return keyPairs;
}

/** @throws StorageError `usage` */
export function assertOptions(options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw usage(`options must be an object, got ${typeName(options)}`);
  }
}

function checkWriteOptions(defaults: Defaults, options: CallWriteOptions): WriteSettings {
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
    concurrency: checkConcurrency(concurrency) ?? defaults.concurrency,
  };
}

/** Untyped callers often pass a single element instead of a list. */
function assertList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw usage(`${name} must be a list, got ${typeName(value)}`);
}

function keyPairsOf(identities: readonly Identity[]): KeyPair[] {
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
