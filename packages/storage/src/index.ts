// Start reading in store/store.ts: the terms, and the steps of put and get.
export { type Address, addressOf, parseAddress } from "./crypto/address.ts";
export type { Content } from "./content/byte-reader.ts";
export type { Compression } from "./content/compression/compress.ts";
export { type ErrorCode, StorageError, type StorageErrorOptions } from "./errors.ts";
export type { Metadata, MetadataValue } from "./format/metadata.ts";

export {
  type Passphrase,
  type ProtectOptions,
  isProtectedIdentityFile,
  protectIdentity,
  readIdentityFile,
  readRecipientsFile,
} from "./crypto/key-files.ts";
export {
  type Identity,
  type Recipient,
  formatIdentity,
  generateIdentity,
  identityFromSecretKey,
  parseIdentity,
  parseRecipient,
  publicKeyOf,
  recipientFromPublicKey,
  secretKeyOf,
} from "./crypto/keys.ts";
export { type NaClChoice, loadNaCl } from "./crypto/nacl/load-nacl.ts";
export type { NaCl } from "./crypto/nacl/nacl.ts";

export type {
  Backend,
  BlobInfo,
  Capabilities,
  ListedBlob,
  ListMarkersOptions,
  Marker,
  PresignedReads,
  PresignOptions,
  PutCallOptions,
  ReadCallOptions,
  TimeOptions,
} from "./backend/backend.ts";
export { withLimit } from "./backend/limit.ts";
export { type BackendCall, type Retry, type RetryOptions, withRetry } from "./backend/retry.ts";
export { type BackendWrappers, wrapBackend } from "./backend/wrap.ts";

export { createStore } from "./store/create-store.ts";
export { createMemoryBudget, type MemoryBudget } from "./store/flow/budget.ts";
export type { FailedItem, Items } from "./store/items.ts";
export type {
  CallOptions,
  Progress,
  ReadOptions,
  StoreOptions,
  WriteOptions,
} from "./store/options.ts";
export type { Store } from "./store/store.ts";

export type { LeafReference, PutJournal } from "./store/write/journal.ts";
export type { PutItem, PutManyOptions, PutResult } from "./store/write/put-many.ts";
export type { PutReport } from "./store/write/put-report.ts";
export type { PutOptions } from "./store/write/put.ts";

export type { ReadAt } from "./store/read/matching-prefix.ts";
export type { GetItem, GetManyOptions, GetResult } from "./store/read/get-many.ts";
export type { GetOptions } from "./store/read/get.ts";
export type {
  BytesOptions,
  ContentRange,
  StoredContent,
  StreamOptions,
} from "./store/read/stored-content.ts";

export type {
  DeletePlan,
  DeleteReport,
  DeleteTreeOptions,
  SkippedBlob,
} from "./store/tree/delete-tree.ts";
export type { ResealOptions } from "./store/tree/reseal.ts";

export type { BlobInspection } from "./store/maintenance/inspect.ts";
export type { ListOptions, ListedAddress, ResolveOptions } from "./store/maintenance/list.ts";
export {
  type ReplicateFailure,
  type ReplicateOptions,
  type ReplicateReport,
  replicate,
} from "./store/maintenance/replicate.ts";
export type { ScanOptions, ScannedBlob } from "./store/maintenance/scan.ts";
export type { BlobStat } from "./store/maintenance/stat.ts";
export type { VerifyOptions, VerifyReport } from "./store/maintenance/verify-options.ts";
