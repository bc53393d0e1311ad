import type { ObjectsContext } from "../context.ts";

/** The time by the clock that dates blobs; this machine's if the storage does not tell. */
export async function storeTime({
  backend,
  now,
}: Pick<ObjectsContext, "backend" | "now">): Promise<number> {
  return (await backend.currentTime?.({ create: true }).catch(() => undefined)) ?? now();
}
