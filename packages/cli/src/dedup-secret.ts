import type { Session } from "./session.ts";
import { readSecretBytes } from "./secret-bytes.ts";

/** Reads a dedup secret. */
export async function loadDedupSecret(
  path: string | undefined,
  session: Session,
): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined;
  return readSecretBytes(path, "dedup secret file", session);
}
