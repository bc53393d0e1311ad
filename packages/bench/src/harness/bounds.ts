/**
 * The least that an operation must do, with libsodium and `node:crypto` called directly, so that these
 * bounds do not change with the code that they are compared with.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Calibration } from "../report/report.ts";

type Bytes = Uint8Array;

/** The functions of libsodium that benchmarks call; the package has no types of its own. */
export interface Libsodium {
  crypto_secretbox_easy(box: Bytes, message: Bytes, nonce: Bytes, key: Bytes): void;
  crypto_secretbox_open_easy(message: Bytes, box: Bytes, nonce: Bytes, key: Bytes): boolean;
  crypto_aead_chacha20poly1305_ietf_encrypt(
    box: Bytes,
    message: Bytes,
    additional: null,
    secretNonce: null,
    nonce: Bytes,
    key: Bytes,
  ): number;
  /** Throws if the bytes were changed. */
  crypto_aead_chacha20poly1305_ietf_decrypt(
    message: Bytes,
    secretNonce: null,
    box: Bytes,
    additional: null,
    nonce: Bytes,
    key: Bytes,
  ): number;
  crypto_scalarmult(shared: Bytes, secretKey: Bytes, publicKey: Bytes): void;
  crypto_scalarmult_base(publicKey: Bytes, secretKey: Bytes): void;
  crypto_box_easy(box: Bytes, message: Bytes, nonce: Bytes, to: Bytes, secretKey: Bytes): void;
}

/** @throws Error if sodium-native is missing: nothing can be judged without it */
export async function libsodium(): Promise<Libsodium> {
  try {
    const { default: sodium } = await import("sodium-native");
    return sodium as unknown as Libsodium;
  } catch (error) {
    throw new Error(
      "sodium-native does not load here, so there is no bound to compare with: run `bun install`, " +
        "and use a platform that it has binaries for",
      { cause: error },
    );
  }
}

/** Bytes of an authentication tag. */
const TAG = 16;

export interface Bounds {
  /** Encrypts as many bytes with XSalsa20-Poly1305. */
  seal(): void;
  /** Decrypts as many bytes and checks the tag. */
  open(): void;
  /** SHA-256 of as many bytes. */
  hash(): void;
}

/** Bounds for a content of a length in bytes. Their memory is allocated and touched already. */
export async function boundsFor(length: number): Promise<Bounds> {
  const sodium = await libsodium();
  const message = randomBytes(length);
  const box = Buffer.alloc(length + TAG);
  const [nonce, key] = [randomBytes(24), randomBytes(32)];
  sodium.crypto_secretbox_easy(box, message, nonce, key);
  return {
    seal: () => sodium.crypto_secretbox_easy(box, message, nonce, key),
    open() {
      if (!sodium.crypto_secretbox_open_easy(message, box, nonce, key)) {
        throw new Error("libsodium does not open its own secretbox");
      }
    },
    hash: () => void createHash("sha256").update(message).digest(),
  };
}

const LENGTH = 4 * 2 ** 20;
/** The best round counts, because other load only ever makes a round slower. */
const ROUNDS = 35;

/** The speed of one thread of this machine, in a third of a second. */
export async function calibrate(): Promise<Calibration> {
  const { seal, hash } = await boundsFor(LENGTH);
  const [from, to] = [Buffer.alloc(LENGTH, 1), Buffer.alloc(LENGTH)];
  const rate = (work: () => unknown): number => {
    const times = Array.from({ length: ROUNDS }, () => {
      const start = performance.now();
      work();
      return (performance.now() - start) / 1000;
    });
    return LENGTH / Math.min(...times);
  };
  return { sha256: rate(hash), secretbox: rate(seal), memoryCopy: rate(() => to.set(from)) };
}
