/** A slower network between this machine and an object store, by toxiproxy's latency toxic. */
import type { ObjectStoreAccess } from "../suite.ts";

export async function withLatency<T>(
  _access: ObjectStoreAccess,
  _rtt: number,
  _work: (access: ObjectStoreAccess) => Promise<T>,
): Promise<T> {
  throw new Error("not written yet");
}
