/** The library of the revision in whose checkout this code is. */
import type { Backend } from "@idk/storage";
import type { Job } from "./job.ts";

/**
 * The backend of a task. `discard` stores nothing, because the first use of new memory pages would cost
 * time.
 */
export type BackendKind = "memory" | "discard" | "folder" | "store";

/** The revision lacks an export or method: neither a failure nor a measurement. */
export class Missing extends Error {}

/**
 * Imports an entry point. The import is dynamic so that a missing name can be reported; a static import
 * would fail with an error of the runtime.
 */
export async function entryPoint<Module extends object>(
  specifier: string,
  names: readonly (keyof Module & string)[],
): Promise<Module> {
  const module = (await import(specifier).catch((error: unknown) => {
    // By the property, because the message names either the entry point or the package. What the entry
    // point imports and does not find is a failure.
    const missing = (Object(error) as { specifier?: unknown }).specifier === specifier;
    throw missing ? new Missing(`the entry point ${specifier}`) : error;
  })) as Module;
  requireFunctions(specifier, module, names);
  return module;
}

/** @throws Missing if an object of the library lacks one of the functions */
export function requireFunctions<T extends object>(
  owner: string,
  object: T,
  names: readonly (keyof T & string)[],
): void {
  const missing = names.find((name) => typeof object[name] !== "function");
  if (missing !== undefined) throw new Missing(`${missing} of ${owner}`);
}

/** A new backend, which sees the objects of others if it is a folder or a store. */
export async function newBackend(
  kind: BackendKind,
  { folder, store }: Pick<Job, "folder" | "store">,
): Promise<Backend> {
  if (kind === "store") {
    type S3 = typeof import("@idk/storage/s3");
    const { s3 } = await entryPoint<S3>("@idk/storage/s3", ["s3"]);
    const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = store!;
    const credentials = { accessKeyId, secretAccessKey };
    return s3({ endpoint, region, bucket, prefix, credentials });
  }
  if (kind === "folder") {
    type Filesystem = typeof import("@idk/storage/filesystem");
    const { filesystem } = await entryPoint<Filesystem>("@idk/storage/filesystem", ["filesystem"]);
    return filesystem(folder);
  }
  type Memory = typeof import("@idk/storage/memory");
  const { memory } = await entryPoint<Memory>("@idk/storage/memory", ["memory"]);
  return kind === "discard" ? { ...memory(), put: async () => {} } : memory();
}
