/**
 * The format's limits and layouts, without keys: for tools that compute what will be stored before
 * anything is written.
 */
export type { CborMap, CborValue } from "./cbor.ts";
export { type RootHeader, decodeRootHeader, encodeRootHeader, rootOverhead } from "./envelope.ts";
export {
  CHILD_OVERHEAD,
  CHUNK_LOG2_DEFAULT,
  FANOUT,
  HASH_LENGTH,
  INLINE_MAX,
  REFERENCE_LENGTH,
} from "./limits.ts";
export { padme } from "./padding.ts";
export { type EncodedRoot, type RootFields, encodeRoot } from "./root.ts";
export { type TreeShape, inlineShape, plaintextLength, storedChildren, treeShape } from "./tree.ts";
