import { createCipheriv, createDecipheriv } from "node:crypto";
import type { NaCl } from "@idk/storage";

/** Something that seals a file, and opens what it has sealed. */
export interface Cipher {
  readonly name: string;
  /** What is ready before a file of that length comes: its key, its memory. */
  prepare(length: number): Sealer;
}

/** All that is needed to open it but the key, in parts: joining them would be a copy of the whole. */
type Sealed = readonly Uint8Array[];

export interface Sealer {
  /** @returns lent until the next call */
  seal(content: Uint8Array): Sealed | Promise<Sealed>;
  /**
   * @returns the content; lent until the next call
   * @throws where the bytes are not what was sealed
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
 * @returns why not, where the runtime does not have it
 */
export function nodeCipher(
  name: string,
  algorithm: "aes-256-gcm" | "chacha20-poly1305",
): Cipher | string {
  const NONCE = 12;
  // The two are of one shape; the types of Node declare one by one.
  const mode = algorithm as "chacha20-poly1305";
  const options = { authTagLength: TAG };
  const key = crypto.getRandomValues(new Uint8Array(32));
  try {
    createCipheriv(mode, key, new Uint8Array(NONCE), options);
  } catch {
    return `${name}: this runtime does not have it`;
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

/** The age format for one X25519 recipient, in JavaScript: ChaCha20-Poly1305 in chunks of 64 KiB. */
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
