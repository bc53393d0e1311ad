import {
  isProtectedIdentityFile,
  type Passphrase,
  protectIdentity,
  readIdentityFile,
  StorageError,
} from "@idk/storage";
import { looksLikeIdentity } from "../output/text.ts";
import { identityText } from "./new-identity.ts";

/** A kind of key that a file can hold, with or without a passphrase. */
export interface KeyKind {
  /** For messages. */
  readonly name: "identity" | "writer key";
  isProtected(bytes: Uint8Array): boolean;
  /** @throws StorageError if the file does not hold exactly one such key that opens */
  open(bytes: Uint8Array, passphrase: Passphrase): Promise<OpenedKey>;
}

/** The key of a file. */
export interface OpenedKey {
  /** The public key, by the name that it has in results. */
  readonly publicKey: { readonly recipient: string } | { readonly writer: string };
  /** The content of a file without a passphrase. Secret. */
  text(): Uint8Array;
  /** The content of a file with this passphrase, at no lower cost of scrypt than the file that was opened. */
  protect(passphrase: string, armor: boolean): Promise<Uint8Array>;
}

const IDENTITIES: KeyKind = {
  name: "identity",
  isProtected: isProtectedIdentityFile,
  async open(bytes, passphrase) {
    const [identity, ...others] = await readIdentityFile(bytes, passphrase);
    if (identity === undefined || others.length > 0) {
      throw new StorageError(
        "usage",
        `it holds ${others.length + 1} identities, and a protected file holds one: ` +
          "write each to a file of its own",
      );
    }
    return {
      publicKey: { recipient: identity.recipient },
      text: () => identityText(identity),
      protect: async (next, armor) => protectIdentity(identity, next, { armor, replaces: bytes }),
    };
  },
};

/** The first bytes of a protected writer key, those of its armor, and a line of one as text. */
const WRITER_KEY =
  /^\n(?:IDKW|\s*-----BEGIN IDK PROTECTED WRITER KEY)|\n\s*idk-writer-secret-key-1/iu;

/** The kind of key that a file seems to hold. */
export async function kindOf(bytes: Uint8Array): Promise<KeyKind> {
  if (!isWriterKey(bytes)) return IDENTITIES;
  // Load the code of snapshots only if it is needed.
  return (await import("./writer-keys.ts")).WRITER_KEYS;
}

/** The kind of secret key that a file seems to hold, for messages; undefined if it seems to hold none. */
export function secretIn(bytes: Uint8Array): string | undefined {
  if (isWriterKey(bytes)) return "a writer key";
  const text = Buffer.from(bytes).toString("latin1");
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY/u.test(text)) {
    return "a private key of another program, such as SSH";
  }
  return isProtectedIdentityFile(bytes) || looksLikeIdentity(text) ? "an identity" : undefined;
}

/** Whether a key in armor is on one line, as some services store variables of several lines. */
export function lacksLineEnds(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString("latin1");
  return /^\s*-----BEGIN [A-Z ]+-----[^\r\n]*-----END /u.test(text);
}

function isWriterKey(bytes: Uint8Array): boolean {
  return WRITER_KEY.test(`\n${Buffer.from(bytes).toString("latin1")}`);
}
