export type {
  B2Location,
  EncryptionSetting,
  MinioLocation,
  MinioServer,
  ObjectLocation,
  S3Location,
} from "./object-stores.ts";
export type { Environment } from "./split.ts";
export type { FilesystemLocation, StoreLocation } from "./store-url.ts";
export { minioServer } from "./object-stores.ts";
export { nearest } from "./nearest.ts";
export { parseStoreUrl, repositoryLocation } from "./store-url.ts";
