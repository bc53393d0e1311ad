import { type Backend, StorageError } from "@idk/storage";

/** A backend with markers, which tells its time. */
export type MarkedBackend = Backend &
  Required<Pick<Backend, "putMarker" | "listMarkers" | "deleteMarker" | "currentTime">>;

/** @throws StorageError `usage` if the backend has no markers, without which no catalog can be told from an old copy */
export function requireMarkers(backend: Backend): MarkedBackend {
  const { putMarker, listMarkers, deleteMarker, currentTime } = backend;
  if (putMarker && listMarkers && deleteMarker && currentTime) return backend as MarkedBackend;
  throw new StorageError("usage", `${backend.description} has no markers, which a gateway needs`);
}

/**
 * The time by the clock that dates blobs. There is no substitute: a sweep by another clock would delete
 * what is being written.
 *
 * @throws StorageError `unavailable`
 */
export function storeTime(backend: MarkedBackend, signal?: AbortSignal): Promise<number> {
  return backend.currentTime({ create: true, signal });
}
