import { ADDRESS_LENGTH, UUID_LENGTH } from "../../format/limits.ts";
import type { MarkerBackend } from "../../repository/marker-backend.ts";
import type { Pack } from "../../cache/cache.ts";
import { toHex } from "@idk/storage/blobs";

/**
 * Lists the blobs of the repository, and returns the numbers of the packs that are not among them. Memory
 * is that of the packs' names.
 */
export async function missingPacks(
  backend: MarkerBackend,
  packs: readonly Pack[],
  signal: AbortSignal,
): Promise<ReadonlySet<number>> {
  const missing = new Map(packs.map((pack) => [toHex(addressIn(pack)), pack.id]));
  if (missing.size > 0) {
    for await (const { name } of backend.list("", { signal })) missing.delete(name);
  }
  return new Set(missing.values());
}

/** The address in a pack's row, as bytes. */
export function addressIn({ row }: Pack): Uint8Array {
  return row.subarray(UUID_LENGTH, UUID_LENGTH + ADDRESS_LENGTH);
}
