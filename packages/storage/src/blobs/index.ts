/**
 * The parts of the blob format, for formats of your own that are built over blobs. A store does all
 * of this by itself.
 */
export {
  CborError,
  type CborItem,
  type CborLimits,
  decodeCborT,
  encodeCborT,
} from "../format/cbor.ts";
