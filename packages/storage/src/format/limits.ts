/** Every number the format fixes. Bytes, unless the name says otherwise. */

/** Content up to this length is inline in the root. */
export const INLINE_MAX: number = 2 ** 20;
/** A root's plaintext, including its own padding. */
export const ROOT_PLAINTEXT_MAX: number = 2 ** 21;
/** The encoded metadata map. */
export const METADATA_MAX: number = 65_536;
/** A metadata key, in UTF-8. */
export const METADATA_KEY_MAX: number = 255;
export const CHUNK_LOG2_MIN: number = 18;
export const CHUNK_LOG2_MAX: number = 24;
/** The chunk size is two to this power unless the writer chooses another: 4 MiB. */
export const CHUNK_LOG2_DEFAULT: number = 22;
/** References in a node, and in the root. */
export const FANOUT: number = 4096;
export const DEPTH_MAX: number = 3;
export const RECIPIENTS_MAX: number = 1024;
/** Content and its padding together: the largest integer that a double represents exactly. */
export const PADDED_LENGTH_MAX: number = Number.MAX_SAFE_INTEGER;

/** Bytes of a SHA-256. */
export const HASH_LENGTH: number = 32;
export const KEY_LENGTH: number = 32;
/** Poly1305 tag at the start of a secretbox. */
export const TAG_LENGTH: number = 16;
/** A wrapped content key: tag and key. */
export const SLOT_LENGTH: number = TAG_LENGTH + KEY_LENGTH;
/** Address and content key of a child. */
export const REFERENCE_LENGTH: number = HASH_LENGTH + KEY_LENGTH;

/** "IDK", version and header length. With the header they are the prefix of a blob. */
export const PREAMBLE_LENGTH = 6;
const HEADER_MAX = 65_535;
/** `{"c": 32 bytes}` as CBOR. */
const CHILD_HEADER_LENGTH = 37;
/** Bytes before a child's ciphertext: prefix and tag. */
export const CHILD_OVERHEAD: number = PREAMBLE_LENGTH + CHILD_HEADER_LENGTH + TAG_LENGTH;
/** The longest leaf or node. */
export const CHILD_BLOB_MAX: number = 2 ** CHUNK_LOG2_MAX + CHILD_OVERHEAD;
/** The longest root. */
export const ROOT_BLOB_MAX: number = PREAMBLE_LENGTH + HEADER_MAX + TAG_LENGTH + ROOT_PLAINTEXT_MAX;
