/**
 * Keys of 32 bytes as text and in files, for keys of your own that people handle like identities.
 */
export { decodeKey, encodeKey } from "../crypto/key-text.ts";
export { parseKeyLines } from "../crypto/key-files.ts";
export {
  type KeyFileKind,
  isProtectedKeyFile,
  openProtectedKey,
  protectKey,
} from "../crypto/protected-key.ts";
