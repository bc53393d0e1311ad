import { type Backend, type Store, type StoreOptions, createStore } from "@idk/storage";
import type { StoreLocation } from "./store-location.ts";

/** Opens the store. A backend's code loads only when it is the one in use. */
export async function openStore(
  location: StoreLocation,
  options: Omit<StoreOptions, "backend"> = {},
): Promise<Store> {
  return createStore({ ...options, backend: await OPENERS[location.kind](location) });
}

const OPENERS: {
  readonly [K in StoreLocation["kind"]]: (location: StoreLocation) => Promise<Backend>;
} = {
  filesystem: async ({ folder }) => (await import("@idk/storage/filesystem")).filesystem(folder),
};
