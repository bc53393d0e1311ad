export type {
  Backend,
  BlobInfo,
  Capabilities,
  ListedBlob,
  PutCallOptions,
} from "./backend/backend.ts";
export { withLimit } from "./backend/limit.ts";
export { type BackendCall, type Retry, type RetryOptions, withRetry } from "./backend/retry.ts";
export { type BackendWrappers, wrapBackend } from "./backend/wrap.ts";
export { type Address, addressOf, parseAddress } from "./content/address.ts";
export type { Compression } from "./content/compress.ts";
export type { Content } from "./content/source.ts";
export {
  type Passphrase,
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
export { type NaCl, type NaClChoice, loadNaCl } from "./crypto/nacl.ts";
export { type ErrorCode, StorageError } from "./errors.ts";
export type { Metadata, MetadataValue } from "./format/metadata.ts";
export type { Items } from "./store/many.ts";
export type { PutReport } from "./store/put-report.ts";
export { createStore } from "./store/create-store.ts";
export type { LeafReference, PutJournal } from "./store/journal.ts";
export {
  type ReplicateFailure,
  type ReplicateOptions,
  type ReplicateReport,
  replicate,
} from "./store/replicate.ts";
export type {
  BytesOptions,
  GetItem,
  GetManyOptions,
  GetOptions,
  GetResult,
  ReadAt,
  StoredBlob,
  StreamOptions,
} from "./store/get-options.ts";
export type { CallOptions, Progress, ReadOptions, WriteOptions } from "./store/options.ts";
export type {
  FailedItem,
  PutItem,
  PutManyOptions,
  PutOptions,
  PutResult,
} from "./store/put-options.ts";
export type {
  BlobInspection,
  BlobStat,
  DeleteReport,
  DeleteTreeOptions,
  ListOptions,
  ListedAddress,
  ScanOptions,
  ScannedBlob,
  VerifyOptions,
  VerifyReport,
} from "./store/reports.ts";
export type { Store, StoreOptions } from "./store/store.ts";
