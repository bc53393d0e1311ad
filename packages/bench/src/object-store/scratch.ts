import { randomBytes } from "node:crypto";
import type { Backend } from "@idk/storage";
import { minio } from "@idk/storage/minio";
import type { ObjectStoreAccess } from "../suite.ts";

/** A part of an object store that one run of a suite has for itself. */
export interface Scratch {
  /** A folder in it, which is cleared with it. */
  at(folder: string): ObjectStoreAccess;
  /**
   * Removes every object in its folders.
   *
   * @returns how many there were
   */
  clear(): Promise<number>;
}

/**
 * Works in a place of its own, and leaves nothing behind, however the work ends. Clearing does not
 * keep to the work's signal: who interrupts a benchmark wants its objects gone as well.
 *
 * @throws what the work throws, or else the clearing
 */
export async function withScratch<T>(
  store: ObjectStoreAccess | undefined,
  suite: string,
  work: (scratch: Scratch) => Promise<T>,
): Promise<T> {
  if (store === undefined) throw new Error(`${suite} needs an object store`);
  const prefix = `${store.prefix}${suite}-${randomBytes(6).toString("hex")}/`;
  const folders = new Map<string, ObjectStoreAccess>();
  const scratch: Scratch = {
    at(folder) {
      const access = folders.get(folder) ?? { ...store, prefix: `${prefix}${folder}/` };
      folders.set(folder, access);
      return access;
    },
    async clear() {
      let count = 0;
      for (const access of folders.values()) count += await clearFolder(access);
      return count;
    },
  };
  let result: T;
  try {
    result = await work(scratch);
  } catch (error) {
    // It says why; that there was trouble with cleaning up as well says nothing more.
    await scratch.clear().catch(() => undefined);
    throw error;
  }
  await scratch.clear();
  return result;
}

export interface OpenOptions {
  /** Has the server encrypt what it stores, with keys of its own (SSE-S3). */
  readonly encrypted?: boolean | undefined;
}

/** The backend of the library over the objects in a folder. */
export function openBackend(access: ObjectStoreAccess, { encrypted }: OpenOptions = {}): Backend {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = access;
  return minio({
    endpoint,
    region,
    bucket,
    // It puts a slash between the prefix and the names.
    ...(prefix !== "" && { prefix: prefix.replace(/\/$/u, "") }),
    accessKey: accessKeyId,
    secretKey: secretAccessKey,
    ...(encrypted && { encryption: { type: "AES256" } }),
  });
}

async function clearFolder(access: ObjectStoreAccess): Promise<number> {
  const backend = openBackend(access);
  try {
    const names: string[] = [];
    for await (const { name } of backend.list("")) names.push(name);
    for (const name of names) await backend.delete(name);
    return names.length;
  } finally {
    await backend.close?.();
  }
}
