import { createCipheriv, createDecipheriv } from "node:crypto";
import type { NaCl } from "@idk/storage";

/** An algorithm to seal and open files. */
export interface Cipher {
  readonly name: string;
  /** Prepares the key and memory for files of the given length. */
  prepare(length: number): Sealer;
}

/** A sealed file in parts, because joining them would copy everything. */
type Sealed = readonly Uint8Array[];

export interface Sealer {
  /** @returns borrowed; valid until the next call */
  seal(content: Uint8Array): Sealed | Promise<Sealed>;
  /**
   * @returns the content, borrowed; valid until the next call
   * @throws Error if the bytes were changed
   */
  open(sealed: Sealed): Uint8Array | Promise<Uint8Array>;
}

const TAG = 16;

/** NaCl's secretbox. */
export function secretbox(name: string, naCl: NaCl): Cipher {
  const NONCE = 24;
  return {
    name,
    prepare(length) {
      const key = crypto.getRandomValues(new Uint8Array(32));
      const nonce = new Uint8Array(NONCE);
      const box = new Uint8Array(TAG + length);
      const opened = new Uint8Array(length);
      return {
        seal(content) {
          naCl.seal(box, content, crypto.getRandomValues(nonce), key);
          return [nonce, box];
        },
        open([nonce, box]) {
          if (!naCl.open(opened, box!, nonce!, key)) throw new Error(`${name}: forged`);
          return opened;
        },
      };
    },
  };
}

/**
 * A cipher of `node:crypto`.
 *
 * @returns the reason as text if the runtime lacks it
 */
export function nodeCipher(
  name: string,
  algorithm: "aes-256-gcm" | "chacha20-poly1305",
): Cipher | string {
  const NONCE = 12;
  // Both have the same interface, but Node's types have an overload for each.
  const mode = algorithm as "chacha20-poly1305";
  const options = { authTagLength: TAG };
  const key = crypto.getRandomValues(new Uint8Array(32));
  try {
    createCipheriv(mode, key, new Uint8Array(NONCE), options);
  } catch {
    return `${name}: not available in this runtime`;
  }
  return {
    name,
    prepare: () => ({
      seal(content) {
        const nonce = crypto.getRandomValues(new Uint8Array(NONCE));
        const cipher = createCipheriv(mode, key, nonce, options);
        const text = cipher.update(content);
        cipher.final();
        return [nonce, text, cipher.getAuthTag()];
      },
      open([nonce, text, tag]) {
        const decipher = createDecipheriv(mode, key, nonce!, options);
        decipher.setAuthTag(tag!);
        const content = decipher.update(text!);
        decipher.final();
        return content;
      },
    }),
  };
}

/** The age format for one X25519 recipient in JavaScript: ChaCha20-Poly1305 in chunks of 64 KiB. */
export async function ageCipher(): Promise<Cipher> {
  const { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } =
    await import("age-encryption");
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  return {
    name: "age",
    prepare() {
      const encrypter = new Encrypter();
      encrypter.addRecipient(recipient);
      const decrypter = new Decrypter();
      decrypter.addIdentity(identity);
      return {
        seal: async (content) => [await encrypter.encrypt(content)],
        open: ([file]) => decrypter.decrypt(file!),
      };
    },
  };
}
