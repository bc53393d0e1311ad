export type { Backend, BlobInfo, ListedBlob } from "./backend/backend.ts";
export { type Address, addressOf, parseAddress } from "./content/address.ts";
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
export { createStore } from "./store/create-store.ts";
export type {
  BlobStat,
  CallOptions,
  DeleteReport,
  DeleteTreeOptions,
  GetOptions,
  ListOptions,
  ListedAddress,
  Progress,
  PutOptions,
  ReadOptions,
  Store,
  StoreOptions,
  StoredBlob,
  VerifyOptions,
  VerifyReport,
  WriteOptions,
} from "./store/store.ts";
