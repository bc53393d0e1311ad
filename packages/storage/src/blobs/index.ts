/**
 * The parts of the blob format, for formats of your own that are built over blobs. A store does all
 * of this by itself.
 */
export { assertLength, compare, concat, equal, fromHex, onlyZeros, toHex, utf8 } from "../bytes.ts";
export {
  CborError,
  type CborItem,
  type CborLimits,
  decodeCborT,
  encodeCborT,
} from "../format/cbor.ts";
export { CHILD_OVERHEAD } from "../format/limits.ts";
export { decodeBlock as decodeLz4Block } from "../content/compression/lz4-block.ts";
export { hkdf, hmac, sha256 } from "../crypto/hash.ts";
export { openChild, sealChild } from "../crypto/seal.ts";
export { padme } from "../format/padding.ts";
