/**
 * The parts of the blob format (docs/format.md), for formats of your own that are built over blobs. A
 * store does all of this by itself, and chooses every key; here the caller does, and must guarantee
 * that a content key never seals two plaintexts. Besides, it has what a store uses to work on many blobs at once.
 *
 * `NaCl` is what `loadNaCl` of `@idk/storage` returns.
 */
export { assertLength, concat, equal, fromHex, onlyZeros, toHex, utf8 } from "../bytes.ts";
export {
  type Hashes,
  type Hashing,
  sha256 as hash,
  hkdf as kdf,
  hmac as mac,
  startSha256 as startHash,
} from "../crypto/hash.ts";
export type { ChildKind, RootKeys } from "../crypto/key-schedule.ts";
export { decodeKey, encodeKey } from "../crypto/key-text.ts";
export { loadedNaCl } from "../crypto/nacl/load-nacl.ts";
export type { Ed25519 } from "../crypto/nacl/nacl.ts";
export { randomKey } from "../crypto/key-schedule.ts";
export {
  isProtectedFile,
  openProtectedKey,
  opensAsProtected,
  parseKeyLines,
  protectKey,
  type ProtectedFileKind,
  type ProtectOptions,
} from "../crypto/key-files.ts";
export {
  CborError,
  type CborItem,
  type CborLimits,
  decodeCborT,
  encodeCborT,
} from "../format/cbor.ts";
export { CHILD_OVERHEAD, INLINE_MAX, ROOT_BLOB_MAX } from "../format/limits.ts";
export { padme } from "../format/padding.ts";
export {
  CHILD_PLAINTEXT_MAX,
  openChild,
  sealChild,
  type SealedChild,
  type UnsealedChild,
} from "./children.ts";
export { decodeLz4Block, decodeZstdFrame, encodeZstdFrame, type ZstdLimits } from "./codecs.ts";
export { loadLz4BlockEncoder } from "../content/compression/lz4-encode.ts";
export { fetchBlob } from "./fetch.ts";
export { inTurn } from "../queue.ts";
export {
  bothOf,
  inParallel,
  type Parallel,
  parallelBlobs,
  type ParallelOptions,
  parallelRequests,
  type ParallelRequests,
  shortBlobGate,
  type SizedItem,
} from "../store/flow/parallel.ts";
export type { Gate, PassOptions } from "../store/flow/gate.ts";
export {
  openRoot,
  type OpenedRoot,
  sealRoot,
  type SealedRoot,
  type UnsealedRoot,
} from "./roots.ts";
