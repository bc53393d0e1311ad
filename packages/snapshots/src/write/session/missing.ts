import type { Cache, Pack } from "../../cache/cache.ts";
import { ADDRESS_LENGTH, UUID_LENGTH } from "../../format/limits.ts";
import type { MarkerBackend } from "../../repository/marker-backend.ts";
import { toHex } from "@idk/storage/blobs";

/**
 * Lists the blobs of the repository, and says which of the cache's packs are not among them. Memory is
 * that of the packs' names.
 */
export async function missingPacks(
  backend: MarkerBackend,
  cache: Cache,
  signal: AbortSignal,
): Promise<(pack: Pack) => boolean> {
  const missing = new Set<string>();
  for (const pack of cache.packs()) missing.add(addressOf(pack));
  if (missing.size > 0) {
    for await (const { name } of backend.list("", { signal })) missing.delete(name);
  }
  return (pack) => missing.has(addressOf(pack));
}

function addressOf({ row }: Pack): string {
  return toHex(row.subarray(UUID_LENGTH, UUID_LENGTH + ADDRESS_LENGTH));
}
