import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { StoreLocation } from "@idk/storage/url";

/** A store as a report names it: the same for equal URLs on all machines, without credentials. */
export async function storeText(location: StoreLocation): Promise<string> {
  if (location.kind === "filesystem") {
    const folder = resolve(location.folder);
    return `folder ${await realpath(folder).catch(() => folder)}`;
  }
  const { kind, bucket, prefix = "" } = location;
  const path = `${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  if (kind === "minio") {
    const { host, port } = location;
    return `minio://${host}${port === undefined ? "" : `:${port}`}/${path}`;
  }
  const { endpoint } = location;
  return `${kind}://${path}${endpoint === undefined ? "" : ` at ${endpoint}`}`;
}
