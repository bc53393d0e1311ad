/** The functions used here; the package has no types of its own. */
declare module "sodium-native" {
  const sodium: {
    crypto_secretbox_easy(
      box: Uint8Array,
      message: Uint8Array,
      nonce: Uint8Array,
      key: Uint8Array,
    ): void;
    crypto_secretbox_open_easy(
      message: Uint8Array,
      box: Uint8Array,
      nonce: Uint8Array,
      key: Uint8Array,
    ): boolean;
    /** XSalsa20, over parts one after another; the state is what they have in common. */
    crypto_stream_xor_init(state: Uint8Array, nonce: Uint8Array, key: Uint8Array): void;
    crypto_stream_xor_update(state: Uint8Array, out: Uint8Array, input: Uint8Array): void;
    crypto_stream_xor_final(state: Uint8Array): void;
    readonly crypto_stream_xor_STATEBYTES: number;
    readonly crypto_stream_NONCEBYTES: number;
    /** Poly1305, likewise. */
    crypto_onetimeauth_init(state: Uint8Array, key: Uint8Array): void;
    crypto_onetimeauth_update(state: Uint8Array, input: Uint8Array): void;
    crypto_onetimeauth_final(state: Uint8Array, tag: Uint8Array): void;
    readonly crypto_onetimeauth_STATEBYTES: number;
    /** In constant time. */
    sodium_memcmp(a: Uint8Array, b: Uint8Array): boolean;
    crypto_scalarmult(shared: Uint8Array, secretKey: Uint8Array, publicKey: Uint8Array): void;
    crypto_scalarmult_base(publicKey: Uint8Array, secretKey: Uint8Array): void;
    crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void;
    crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void;
    crypto_sign_verify_detached(
      signature: Uint8Array,
      message: Uint8Array,
      publicKey: Uint8Array,
    ): boolean;
    readonly crypto_sign_PUBLICKEYBYTES: number;
    readonly crypto_sign_SECRETKEYBYTES: number;
    readonly crypto_sign_BYTES: number;
  };
  export default sodium;
}
