import {
  isProtectedIdentityFile,
  type Passphrase,
  protectIdentity,
  readIdentityFile,
  StorageError,
} from "@idk/storage";
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
  if (!WRITER_KEY.test(`\n${Buffer.from(bytes).toString("latin1")}`)) return IDENTITIES;
  // Load the code of snapshots only if it is needed.
  return (await import("./writer-keys.ts")).WRITER_KEYS;
}
