import { type Backend, StorageError } from "@idk/storage";

type MarkerMethod = "putMarker" | "listMarkers" | "deleteMarker" | "currentTime";

/** A backend that holds markers, as every repository needs. */
export type MarkerBackend = Backend & Required<Pick<Backend, MarkerMethod>>;

/**
 * The backend as one that holds markers.
 *
 * @throws StorageError `usage`
 */
export function requireMarkers(backend: Backend): MarkerBackend {
  const { putMarker, listMarkers, deleteMarker, currentTime } = backend;
  if (putMarker && listMarkers && deleteMarker && currentTime) return backend as MarkerBackend;
  throw new StorageError(
    "usage",
    `${backend.description} cannot hold snapshots: its backend has no markers`,
  );
}
