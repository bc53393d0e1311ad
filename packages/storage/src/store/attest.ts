import type { Backend } from "../backend/backend.ts";

/**
 * Asks whether the store itself vouches that the bytes it received under a name are the right ones:
 * it kept their SHA-256, and that is the name. Whether its disk still has them it does not look.
 * Takes no request where the store attests nothing.
 *
 * @returns the blob's size, or undefined where nothing is attested
 */
export async function attestedSize(
  backend: Backend,
  address: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const capabilities = await backend.capabilities?.({ signal });
  if (!capabilities?.verifiesChecksums) return undefined;
  const info = await backend.head(address, { signal });
  return info?.sha256 === address ? info.size : undefined;
}
