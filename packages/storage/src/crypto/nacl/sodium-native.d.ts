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
    crypto_scalarmult(shared: Uint8Array, secretKey: Uint8Array, publicKey: Uint8Array): void;
    crypto_scalarmult_base(publicKey: Uint8Array, secretKey: Uint8Array): void;
  };
  export default sodium;
}
