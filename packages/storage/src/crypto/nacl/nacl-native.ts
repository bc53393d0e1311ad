import { KEY_LENGTH, TAG_LENGTH } from "../../format/limits.ts";
import { assertLength } from "../../bytes.ts";
import sodium from "sodium-native";
import type { Ed25519, NaCl } from "./nacl.ts";

/** Bytes up to which a message stays in a core's cache, where all of it at once takes fewer calls. */
const WHOLE_MAX = 2 ** 20;
/** Bytes that fit into the cache nearest to a core. */
const PART = 2 ** 15;

/** Of the key stream, which the message follows after: they are the key of Poly1305. */
const AUTH_KEY_LENGTH = 32;
const ZEROS = new Uint8Array(AUTH_KEY_LENGTH);

const stream = new Uint8Array(sodium.crypto_stream_xor_STATEBYTES);
const auth = new Uint8Array(sodium.crypto_onetimeauth_STATEBYTES);

/** @throws StorageError `usage`; the functions for parts do not look at lengths themselves */
function assertLengths(
  box: Uint8Array,
  message: Uint8Array,
  nonce: Uint8Array,
  key: Uint8Array,
): void {
  assertLength("box", box, message.length + TAG_LENGTH);
  assertLength("nonce", nonce, sodium.crypto_stream_NONCEBYTES);
  assertLength("key", key, KEY_LENGTH);
}

/**
 * XSalsa20-Poly1305 as `crypto_secretbox` composes it (Bernstein, "Cryptography in NaCl", section 10),
 * part by part: a long message then is read from memory once, not twice (docs/decisions/0032).
 *
 * @param length of the message
 * @param onPart passes a part of it through `stream` and the part's ciphertext to `auth`
 * @returns the tag
 */
function inParts(
  length: number,
  nonce: Uint8Array,
  key: Uint8Array,
  onPart: (start: number, end: number) => void,
): Uint8Array {
  const authKey = new Uint8Array(AUTH_KEY_LENGTH);
  const tag = new Uint8Array(TAG_LENGTH);
  try {
    sodium.crypto_stream_xor_init(stream, nonce, key);
    sodium.crypto_stream_xor_update(stream, authKey, ZEROS);
    sodium.crypto_onetimeauth_init(auth, authKey);
    let start = 0;
    while (start < length) {
      // With the key before them, all parts end with a block of the stream.
      const end = Math.min(length, start + PART - (start === 0 ? AUTH_KEY_LENGTH : 0));
      onPart(start, end);
      start = end;
    }
    sodium.crypto_onetimeauth_final(auth, tag);
    return tag;
  } finally {
    sodium.crypto_stream_xor_final(stream);
    auth.fill(0);
    authKey.fill(0);
  }
}

/** A secret key of libsodium is the seed with its public key. */
function withKeys<T>(
  seed: Uint8Array,
  use: (publicKey: Uint8Array, secretKey: Uint8Array) => T,
): T {
  const publicKey = new Uint8Array(sodium.crypto_sign_PUBLICKEYBYTES);
  const secretKey = new Uint8Array(sodium.crypto_sign_SECRETKEYBYTES);
  try {
    sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed);
    return use(publicKey, secretKey);
  } finally {
    secretKey.fill(0);
  }
}

const ed25519: Ed25519 = {
  publicKey: (seed) => withKeys(seed, (publicKey) => publicKey),
  sign: (seed, message) =>
    withKeys(seed, (_, secretKey) => {
      const signature = new Uint8Array(sodium.crypto_sign_BYTES);
      sodium.crypto_sign_detached(signature, message, secretKey);
      return signature;
    }),
  // libsodium takes no notice of what follows the 64 bytes.
  verify: (publicKey, message, signature) =>
    signature.length === sodium.crypto_sign_BYTES &&
    publicKey.length === sodium.crypto_sign_PUBLICKEYBYTES &&
    sodium.crypto_sign_verify_detached(signature, message, publicKey),
};

/** libsodium, measured faster than JavaScript at every size (docs/decisions/0002). */
export const nativeNaCl: NaCl = {
  name: "native",
  seal(box, message, nonce, key) {
    if (message.length <= WHOLE_MAX) return sodium.crypto_secretbox_easy(box, message, nonce, key);
    assertLengths(box, message, nonce, key);
    const sealed = box.subarray(TAG_LENGTH);
    const tag = inParts(message.length, nonce, key, (start, end) => {
      const part = sealed.subarray(start, end);
      sodium.crypto_stream_xor_update(stream, part, message.subarray(start, end));
      sodium.crypto_onetimeauth_update(auth, part);
    });
    box.set(tag);
  },
  open(message, box, nonce, key) {
    return sodium.crypto_secretbox_open_easy(message, box, nonce, key);
  },
  openInParts(message, box, nonce, key, onPart) {
    if (message.length <= WHOLE_MAX) {
      onPart(box);
      return sodium.crypto_secretbox_open_easy(message, box, nonce, key);
    }
    assertLengths(box, message, nonce, key);
    const sealed = box.subarray(TAG_LENGTH);
    let isIntact = false;
    try {
      onPart(box.subarray(0, TAG_LENGTH));
      const tag = inParts(sealed.length, nonce, key, (start, end) => {
        const part = sealed.subarray(start, end);
        onPart(part);
        sodium.crypto_onetimeauth_update(auth, part);
        sodium.crypto_stream_xor_update(stream, message.subarray(start, end), part);
      });
      isIntact = sodium.sodium_memcmp(tag, box.subarray(0, TAG_LENGTH));
    } finally {
      if (!isIntact) message.fill(0);
    }
    return isIntact;
  },
  x25519(secretKey, publicKey) {
    const shared = new Uint8Array(32);
    try {
      sodium.crypto_scalarmult(shared, secretKey, publicKey);
    } catch {
      // libsodium rejects low-order points itself; `NaCl.x25519` returns all zero for them.
      shared.fill(0);
    }
    return shared;
  },
  publicKey(secretKey) {
    const publicKey = new Uint8Array(32);
    sodium.crypto_scalarmult_base(publicKey, secretKey);
    return publicKey;
  },
  ed25519,
};
