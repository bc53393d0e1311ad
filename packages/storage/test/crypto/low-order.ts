/**
 * Every canonical little-endian encoding of a point of low order on Curve25519 and its twist
 * (Bernstein, https://cr.yp.to/ecdh.html#validate): X25519 maps each to zero.
 */
export const lowOrderPoints: Readonly<Record<string, Uint8Array>> = {
  "0, of order 4": bytes("00".repeat(32)),
  "1, of order 1": bytes(`01${"00".repeat(31)}`),
  "of order 8": bytes("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
  "of order 8 too": bytes("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
  "p - 1, of order 2": bytes(`ec${"ff".repeat(30)}7f`),
};

/** Encodings of numbers that are not below p = 2^255 - 19. */
export const notCanonical: Readonly<Record<string, Uint8Array>> = {
  p: bytes(`ed${"ff".repeat(30)}7f`),
  "p + 1": bytes(`ee${"ff".repeat(30)}7f`),
  "2^255 - 1": bytes(`${"ff".repeat(31)}7f`),
  "2^255": bytes(`${"00".repeat(31)}80`),
  "2^255 + 9, the base point with its top bit": bytes(`09${"00".repeat(30)}80`),
  "2^256 - 1": bytes("ff".repeat(32)),
};

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, "hex"));
}
