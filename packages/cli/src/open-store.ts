import {
  type Backend,
  type RetryOptions,
  type Store,
  type StoreOptions,
  createStore,
  withRetry,
  wrapBackend,
} from "@idk/storage";
import type { ObjectLocation } from "./object-locations.ts";
import type { Session } from "./session.ts";
import type { StoreLocation } from "./store-location.ts";
import { openObjectStore } from "./open-object-store.ts";
import { retryObserver } from "./retry-notes.ts";

/** Opens the store. A backend's code loads only when it is the one in use. */
export async function openStore(
  location: StoreLocation,
  session: Session,
  options: Omit<StoreOptions, "backend"> = {},
): Promise<Store> {
  return createStore({ ...options, backend: await openBackend(location, session) });
}

/** A backend that is let go of at the end of a block. */
export type OpenBackend = Backend & AsyncDisposable;

/** Opens the place that keeps the blobs, such that calls are made again that may yet succeed. */
export async function openBackend(location: StoreLocation, session: Session): Promise<OpenBackend> {
  const backend =
    location.kind === "filesystem"
      ? // What fails on a disk fails again.
        (await import("@idk/storage/filesystem")).filesystem(location.folder, {
          durability: location.durability,
        })
      : await retrying(await openObjectStore(location, session), location, session);
  return { ...wrapBackend(backend), [Symbol.asyncDispose]: async () => backend.close?.() };
}

async function retrying(
  backend: Backend,
  location: ObjectLocation,
  session: Session,
): Promise<Backend> {
  return withRetry(backend, await retryOptions(location, session));
}

/** How often and for how long requests to an object store are made again. */
export async function retryOptions(
  { kind, retrySeconds }: ObjectLocation,
  session: Pick<Session, "out" | "progress">,
): Promise<RetryOptions> {
  return {
    ...(kind === "b2" && (await import("@idk/storage/b2")).B2_RETRY),
    ...(retrySeconds !== undefined && {
      budgetMs: 1000 * retrySeconds,
      // Whoever names a time is not kept longer than by the library's least number of attempts; no
      // time at all has to mean none of them.
      minAttempts: retrySeconds === 0 ? 1 : undefined,
    }),
    onRetry: retryObserver(session),
  };
}
