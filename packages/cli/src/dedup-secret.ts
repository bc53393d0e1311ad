import type { Session } from "./session.ts";
import { readSecretFile } from "./files.ts";
import { usage } from "./failures.ts";

const LENGTH = 32;
const HEX = /^[0-9a-f]{64}\s*$/iu;

/** Reads a dedup secret: 32 bytes as they are, or 64 hexadecimal digits. */
export async function loadDedupSecret(
  path: string | undefined,
  session: Session,
): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined;
  const bytes = await readSecretFile(path, "dedup secret file", session);
  if (bytes.length === LENGTH) return bytes;
  const text = Buffer.from(bytes).toString("latin1");
  if (HEX.test(text)) return Buffer.from(text.trimEnd(), "hex");
  throw usage(
    `the dedup secret file ${path} must hold 32 bytes or 64 hexadecimal digits: ` +
      "`head -c 32 /dev/urandom > FILE` makes one",
  );
}
