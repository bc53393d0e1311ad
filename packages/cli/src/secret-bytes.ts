import type { Session } from "./session.ts";
import { readSecretFile } from "./files.ts";
import { usage } from "./failures.ts";

const LENGTH = 32;
const HEX = /^[0-9a-f]{64}\s*$/iu;

/**
 * Reads a secret of 32 bytes from a file, which holds them as they are or as 64 hexadecimal digits.
 *
 * @param what the kind of file, for messages
 */
export async function readSecretBytes(
  path: string,
  what: string,
  session: Session,
): Promise<Uint8Array> {
  const bytes = await readSecretFile(path, what, session);
  if (bytes.length === LENGTH) return bytes;
  const text = Buffer.from(bytes).toString("latin1");
  if (HEX.test(text)) return Buffer.from(text.trimEnd(), "hex");
  throw usage(
    `the ${what} ${path} must hold 32 bytes or 64 hexadecimal digits: ` +
      "`head -c 32 /dev/urandom > FILE` makes one",
  );
}
