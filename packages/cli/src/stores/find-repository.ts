import { repositoryLocation, type StoreLocation } from "@idk/storage/url";
import { existsSync } from "node:fs";
import type { Session } from "../session.ts";
import { type OpenBackend, openBackend } from "./open-store.ts";

/**
 * Opens the place of the repository of snapshots in a store, without any key.
 *
 * @returns undefined if there is nothing
 */
export async function findRepository(
  store: StoreLocation,
  session: Session,
): Promise<OpenBackend | undefined> {
  const location = repositoryLocation(store);
  if (location.kind === "filesystem") {
    return existsSync(location.folder) ? openBackend(location, session) : undefined;
  }
  const backend = await openBackend(location, session);
  try {
    const { signal } = session;
    for await (const _ of backend.listMarkers?.("", { limit: 1, signal }) ?? []) return backend;
    // Its markers may be lost.
    for await (const _ of backend.list("", { signal })) return backend;
  } catch (error) {
    await backend[Symbol.asyncDispose]();
    throw error;
  }
  await backend[Symbol.asyncDispose]();
  return undefined;
}
