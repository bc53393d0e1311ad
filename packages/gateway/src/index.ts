export { createGateway, type Gateway } from "./gateway.ts";
export type { GatewayOptions } from "./serving/options.ts";
export { type Catalog, CatalogError } from "./catalog/catalog.ts";
export { openCatalog } from "./catalog/open-catalog.ts";
export { createObjects, type ObjectsOptions } from "./objects/create-objects.ts";
export { LineageError } from "./objects/lineage/run.ts";
export { macKeyOf } from "./objects/identity/mac.ts";
export type {
  CheckCounts,
  CheckReport,
  CollectReport,
  ObjectFault,
  ObjectPlace,
  Objects,
  SweepReport,
} from "./objects/objects.ts";
export { exportLines } from "./objects/maintenance/export.ts";
export {
  rebuildCatalog,
  type RebuildFault,
  type RebuildOptions,
  type RebuildReport,
} from "./objects/rebuild/rebuild.ts";
export {
  type AccessKey,
  type Credentials,
  CredentialsError,
  parseCredentials,
  type Right,
} from "./credentials/credentials.ts";
export { S3Error, type S3ErrorCode } from "./errors.ts";
export { trustedProxies } from "./http/forwarded.ts";
export { createMetrics, type Metrics } from "./http/metrics.ts";
export { measured } from "./http/measured-backend.ts";
export { CLIENT_PATIENCE, type PatienceOptions } from "./http/connection/patience.ts";
export type { ListenOptions, TlsFiles } from "./http/server.ts";
export { openSnapshotBucket, type SnapshotSource } from "./snapshot/open-snapshot-bucket.ts";
