import type { StoreLocation } from "@idk/storage/url";
import { resolve } from "node:path";

/** Identifies a store without its credentials, which may change. */
export function storeKey(store: StoreLocation): readonly unknown[] {
  if (store.kind === "filesystem") return [store.kind, resolve(store.folder)];
  const where = store.kind === "minio" ? [store.host, store.port] : [store.endpoint, store.region];
  return [store.kind, ...where, store.bucket, store.prefix];
}
