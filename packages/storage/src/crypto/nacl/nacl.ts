/**
 * The NaCl functions that the format uses. Both implementations give the same bytes, and the tests
 * run with each.
 */
export interface NaCl {
  /** `native` is libsodium through sodium-native; `portable` is JavaScript. */
  readonly name: string;
  /**
   * XSalsa20-Poly1305 (`crypto_secretbox`): writes tag and ciphertext to `box`, which is 16 bytes
   * longer than `message`. The message may already be in the box, at offset 16.
   */
  seal(box: Uint8Array, message: Uint8Array, nonce: Uint8Array, key: Uint8Array): void;
  /**
   * Opens a box. `message` is 16 bytes shorter than `box`, and may be the box from offset 16 on.
   *
   * @returns false, leaving `message` unchanged, if the tag does not match
   */
  open(message: Uint8Array, box: Uint8Array, nonce: Uint8Array, key: Uint8Array): boolean;
  /**
   * As `open`, part by part. What else reads the box, such as a hash, reads each part before it is opened,
   * while it is in the processor's cache. Undefined if an implementation can only open a box as a whole.
   * An implementation that takes another's functions and replaces `open` has to replace this as well.
   *
   * @param onPart called with each part of the box, tag included, in order
   * @returns false if the tag does not match; `message` is then unchanged or zero
   */
  openInParts?(
    message: Uint8Array,
    box: Uint8Array,
    nonce: Uint8Array,
    key: Uint8Array,
    onPart: (part: Uint8Array) => void,
  ): boolean;
  /**
   * X25519 (RFC 7748). The result is not checked: for a public key of low order it is all zero, and
   * the caller must reject it.
   */
  x25519(secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array;
  /** The public key of a secret key: X25519 with the base point. */
  publicKey(secretKey: Uint8Array): Uint8Array;
  /** Undefined if an implementation has no signatures, as in browsers. Blobs need none. */
  readonly ed25519?: Ed25519 | undefined;
}

/** Signatures by Ed25519 (RFC 8032; `crypto_sign`). */
export interface Ed25519 {
  /** The public key of a seed of 32 bytes: 32 bytes. */
  publicKey(seed: Uint8Array): Uint8Array;
  /** Signs a message: 64 bytes, always the same for the same seed and message. */
  sign(seed: Uint8Array, message: Uint8Array): Uint8Array;
  /**
   * Verifies a signature of 64 bytes under a public key of 32, without the cofactor: R has to be, byte for
   * byte, the encoding of [S]B − [k]A. Implementations differ in whether they refuse keys that are not
   * canonical, and keys and an R of low order: where that matters, the caller does
   * (docs/decisions/0022).
   */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
}
