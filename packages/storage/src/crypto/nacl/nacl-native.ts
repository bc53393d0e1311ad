import sodium from "sodium-native";
import type { NaCl } from "./nacl.ts";

/** libsodium, measured faster than JavaScript at every size (docs/decisions/0002). */
export const nativeNaCl: NaCl = {
  name: "native",
  seal(box, message, nonce, key) {
    sodium.crypto_secretbox_easy(box, message, nonce, key);
  },
  open(message, box, nonce, key) {
    return sodium.crypto_secretbox_open_easy(message, box, nonce, key);
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
};
