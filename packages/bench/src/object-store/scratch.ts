import { randomBytes } from "node:crypto";
import { type Backend, withRetry } from "@idk/storage";
import { B2_RETRY, b2 } from "@idk/storage/b2";
import { type Encryption, minio } from "@idk/storage/minio";
import { inLanes } from "../harness/interleave.ts";
import { counted } from "../report/units.ts";
import type { ObjectStoreAccess } from "../suite.ts";

/** A prefix in an object store that belongs to one run of a suite. */
export interface Scratch {
  /** Access to a folder below the prefix, which `clear` empties. */
  at(folder: string): ObjectStoreAccess;
  /** Deletes all objects in its folders, and returns their number. */
  clear(): Promise<number>;
}

/**
 * Runs work with a new prefix and deletes its objects afterwards, however the work ends. Clearing
 * ignores the abort signal: an interrupted benchmark must not leave objects behind.
 *
 * @throws what the work throws, otherwise what clearing throws; Error if objects are left
 */
export async function withScratch<T>(
  store: ObjectStoreAccess | undefined,
  suite: string,
  work: (scratch: Scratch) => Promise<T>,
): Promise<T> {
  if (store === undefined) throw new Error(`${suite} needs an object store`);
  const prefix = `${store.prefix}${suite}-${randomBytes(6).toString("hex")}/`;
  const folders = new Set<string>();
  const at = (folder: string): ObjectStoreAccess => {
    folders.add(folder);
    return { ...store, prefix: `${prefix}${folder}/` };
  };
  const clear = async (): Promise<number> => {
    let count = 0;
    for (const folder of folders) count += await clearAll(at(folder));
    return count;
  };
  let result: T;
  try {
    result = await work({ at, clear });
  } catch (error) {
    // The error of the work is more useful than one from cleaning up.
    await clear().catch(() => undefined);
    throw error;
  }
  await clear();
  // A delete that does nothing must not pass.
  const left = await clear();
  if (left === 0) return result;
  throw new Error(`${counted(left, "object")} left below ${prefix} after all were deleted`);
}

export type { Encryption } from "@idk/storage/minio";

export interface OpenOptions {
  /** Server-side encryption; B2 has no `aws:kms`. */
  readonly encryption?: Encryption | undefined;
  /** Whether requests to B2, which rejects some in normal operation, are retried; by default true. */
  readonly retry?: boolean | undefined;
}

/** The library's backend for the objects below the prefix. */
export function openBackend(
  access: ObjectStoreAccess,
  { encryption, retry = true }: OpenOptions = {},
): Backend {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey, provider } = access;
  const options = { endpoint, region, bucket, prefix };
  if (provider !== "b2") {
    return minio({ ...options, encryption, accessKey: accessKeyId, secretKey: secretAccessKey });
  }
  if (encryption?.type === "aws:kms") throw new Error("B2 has no key management (aws:kms)");
  const keys = { keyId: accessKeyId, applicationKey: secretAccessKey };
  const backend = b2({ ...options, ...keys, encryption });
  return retry ? withRetry(backend, B2_RETRY) : backend;
}

const DELETES_AT_ONCE = 16;

/** Deletes all blobs and markers below the prefix, and returns their number. */
export async function clearAll(access: ObjectStoreAccess): Promise<number> {
  const backend = openBackend(access);
  try {
    const markers: string[] = [];
    for await (const { name } of backend.listMarkers?.("") ?? []) markers.push(name);
    await inLanes(markers, DELETES_AT_ONCE, (name) => backend.deleteMarker!(name));
    return markers.length + (await deleteBlobs(backend));
  } finally {
    await backend.close?.();
  }
}

/** Deletes all blobs below the prefix, leaves markers, and returns the number of blobs. */
export async function clearBlobs(access: ObjectStoreAccess): Promise<number> {
  const backend = openBackend(access);
  try {
    return await deleteBlobs(backend);
  } finally {
    await backend.close?.();
  }
}

/** @returns the number of blobs deleted */
export async function deleteBlobs(backend: Backend): Promise<number> {
  const names: string[] = [];
  for await (const { name } of backend.list("")) names.push(name);
  await inLanes(names, DELETES_AT_ONCE, (name) => backend.delete(name));
  return names.length;
}
