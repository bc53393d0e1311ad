import { type Marker, compareMarkers, formatMarker } from "../format/names/marker.ts";
import type { ForgettingHead } from "../format/records/head.ts";

/** A head of kind `forget` or `unforget` that counts. */
export interface Forgetting {
  readonly marker: Marker;
  readonly head: ForgettingHead;
  /** Whether it may name a head; those that it may not are not affected. */
  readonly mayName: (marker: Marker) => boolean;
}

/**
 * For each head that is named, which forgetting is in force: the newest that names it.
 *
 * @param forgettings in any order
 * @param payloadOf what is the same for markers of heads with equal payloads: the `payloadHash`
 *   where the head is known; by default the marker. They are one head under several addresses, and what names one names
 *   all
 * @returns by `payloadOf` the newest forgetting
 */
export function forgettingsInForce<T extends Forgetting>(
  forgettings: Iterable<T>,
  payloadOf: (marker: Marker) => string = formatMarker,
): Map<string, T> {
  const newest = new Map<string, T>();
  for (const forgetting of forgettings) {
    for (const named of forgetting.head.markers) {
      if (!forgetting.mayName(named)) continue;
      const payload = payloadOf(named);
      const other = newest.get(payload);
      if (other === undefined || compareMarkers(forgetting.marker, other.marker) < 0) {
        newest.set(payload, forgetting);
      }
    }
  }
  return newest;
}

/** Whether a head is forgotten. */
export function isForgotten(inForce: ReadonlyMap<string, Forgetting>, payload: string): boolean {
  return inForce.get(payload)?.head.kind === "forget";
}
