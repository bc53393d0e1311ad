/** Ciphers under equal conditions: each takes a new nonce for each message. */
import { createCipheriv, createDecipheriv, getRandomValues } from "node:crypto";
import type { NaCl } from "@idk/storage";
import type { Libsodium } from "../../harness/bounds.ts";

type Bytes = Uint8Array;

/** A sealed message in parts, because joining them would copy everything. */
export type Sealed = readonly Bytes[];

export interface Cipher {
  readonly name: string;
  /** Calls in a sample, as a fraction of those of the other ciphers. */
  readonly calls?: number;
  /** Prepares the key and memory for messages of a length in bytes. */
  prepare(length: number): {
    /** @returns borrowed; valid until the next call */
    seal(content: Bytes): Sealed | Promise<Sealed>;
    /**
     * @returns the content, borrowed; valid until the next call
     * @throws Error if the bytes were changed
     */
    open(sealed: Sealed): Bytes | Promise<Bytes>;
  };
}

type Twice = [existing: Cipher, allocating: Cipher];

const TAG = 16;

/** A cipher that writes into memory that exists and was touched, and the same into new memory. */
function inMemory(name: string, ways: Pick<NaCl, "seal" | "open">, nonceLength = 24): Twice {
  const memory = (length: number) => new Uint8Array(length).fill(1);
  const cipher = (allocate: boolean): Cipher => ({
    name: allocate ? `${name}, new memory` : name,
    prepare(length) {
      const [key, nonce] = [getRandomValues(memory(32)), memory(nonceLength)];
      const [box, opened] = [memory(length + TAG), memory(length)];
      return {
        seal(content) {
          const into = allocate ? new Uint8Array(length + TAG) : box;
          ways.seal(into, content, getRandomValues(nonce), key);
          return [nonce, into];
        },
        open([from, sealed]) {
          const into = allocate ? new Uint8Array(length) : opened;
          if (!ways.open(into, sealed!, from!, key)) throw new Error(`${name}: forged`);
          return into;
        },
      };
    },
  });
  return [cipher(false), cipher(true)];
}

/** XSalsa20-Poly1305 of the library, or of libsodium called directly. */
export function secretbox(name: string, ways: Pick<NaCl, "seal" | "open">): Twice {
  return inMemory(`XSalsa20-Poly1305, ${name}`, ways);
}

export function chacha20({
  crypto_aead_chacha20poly1305_ietf_encrypt: encrypt,
  crypto_aead_chacha20poly1305_ietf_decrypt: decrypt,
}: Libsodium): Twice {
  const seal: NaCl["seal"] = (box, message, ...keys) =>
    void encrypt(box, message, null, null, ...keys);
  const open: NaCl["open"] = (message, box, ...keys) =>
    decrypt(message, null, box, null, ...keys) > 0;
  return inMemory("ChaCha20-Poly1305", { seal, open }, 12);
}

/** AES-256-GCM of `node:crypto`, which can only allocate. */
export const aes: Cipher = {
  name: "AES-256-GCM, new memory",
  prepare() {
    const [key, nonce] = [getRandomValues(new Uint8Array(32)), new Uint8Array(12)];
    return {
      seal(content) {
        const cipher = createCipheriv("aes-256-gcm", key, getRandomValues(nonce));
        return [nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()];
      },
      open([from, text, , tag]) {
        const decipher = createDecipheriv("aes-256-gcm", key, from!, { authTagLength: TAG });
        decipher.setAuthTag(tag!);
        const content = decipher.update(text!);
        decipher.final();
        return content;
      },
    };
  },
};

/** The age format for one X25519 recipient in JavaScript: ChaCha20-Poly1305 in chunks of 64 KiB. */
export async function age(): Promise<Cipher> {
  const { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } =
    await import("age-encryption");
  const identity = await generateX25519Identity();
  const [encrypter, decrypter] = [new Encrypter(), new Decrypter()];
  encrypter.addRecipient(await identityToRecipient(identity));
  decrypter.addIdentity(identity);
  return {
    name: "age, new memory",
    calls: 0.01,
    prepare: () => ({
      seal: async (content) => [await encrypter.encrypt(content)],
      open: ([file]) => decrypter.decrypt(file!),
    }),
  };
}
