import { type Address, addressOf } from "../crypto/address.ts";
import { type RootKeys, randomKey } from "../crypto/key-schedule.ts";
import type { Identity } from "../crypto/keys.ts";
import type { NaCl } from "../crypto/nacl/nacl.ts";
import { openRoot as openVerified, sealRoot as seal } from "../crypto/seal.ts";
import { rootOverhead } from "../format/envelope.ts";
import { INLINE_MAX, KEY_LENGTH } from "../format/limits.ts";
import { type Metadata, metadataToCbor } from "../format/metadata.ts";
import { decodeRoot, encodeRoot } from "../format/root.ts";
import { assertLength } from "../bytes.ts";
import { usage } from "../errors.ts";
import { checkIdentities, checkPutOptions, FORMAT_DEFAULTS } from "../store/check-options.ts";

/** A root to seal, with its whole content. */
export interface UnsealedRoot {
  /** At most 1 MiB. Longer content is a tree, which `Store.put` writes. */
  readonly content: Uint8Array;
  readonly metadata?: Metadata | undefined;
  /** Who can open it: 1 to 1024 recipients, in any order. */
  readonly recipients: readonly string[];
  /**
   * By default new random ones. The caller guarantees that given ones are secret, and never seal
   * another root.
   */
  readonly keys?: RootKeys | undefined;
}

/** A sealed root, ready to be stored under its address. */
export interface SealedRoot {
  readonly address: Address;
  /** The whole blob, in memory of its own. */
  readonly blob: Uint8Array;
}

/**
 * Seals a root that holds its content, padded by Padmé: the blob that a put of the same content
 * without compression would store (docs/format.md, sections 7, 8, 10 and 12).
 *
 * @throws StorageError `usage`, `key`
 */
export function sealRoot(
  naCl: NaCl,
  { content, metadata = {}, recipients, keys }: UnsealedRoot,
): SealedRoot {
  if (!(content instanceof Uint8Array) || content.length > INLINE_MAX) {
    throw usage(`content must be a Uint8Array of at most ${INLINE_MAX} bytes`);
  }
  const { publicKeys } = checkPutOptions(FORMAT_DEFAULTS, { recipients });
  if (keys !== undefined) {
    assertLength("keys.contentKey", keys.contentKey, KEY_LENGTH);
    assertLength("keys.ephemeralSecret", keys.ephemeralSecret, KEY_LENGTH);
  }
  const fields = { depth: 0, chunkLog2: 0, contentLength: content.length, padding: 0 };
  const encoded = encodeRoot(
    { ...fields, metadata: metadataToCbor(metadata), body: content },
    true,
  );
  const overhead = rootOverhead(publicKeys.length);
  const blob = new Uint8Array(overhead + encoded.length);
  const plaintext = blob.subarray(overhead);
  encoded.write(plaintext);
  const used = keys ?? { contentKey: randomKey(), ephemeralSecret: randomKey() };
  seal(naCl, used, publicKeys, plaintext, blob);
  return { address: addressOf(blob), blob };
}

/** A root that was opened. */
export interface OpenedRoot {
  /**
   * The content, a view of the blob; undefined if it is in a tree, which `Store.get` reads. If the
   * metadata has `enc`, it is still compressed.
   */
  readonly content: Uint8Array | undefined;
  /** Bytes of content as stored. A claim, if the content is in a tree. */
  readonly contentLength: number;
  readonly metadata: Metadata;
  /** How many recipients it has. */
  readonly recipients: number;
}

/**
 * Opens a root.
 *
 * @param blob the whole blob, whose address the caller has checked: `fetchBlob` does. The plaintext
 *   replaces the ciphertext in it, so it is not a blob afterwards, even if this fails.
 * @throws StorageError `format`, `no-match`, `commit`, `auth`, `root`; `usage`
 */
export function openRoot(
  naCl: NaCl,
  blob: Uint8Array,
  identities: readonly Identity[],
): OpenedRoot {
  const keyPairs = checkIdentities(FORMAT_DEFAULTS, { identities });
  const { plaintext, recipients } = openVerified(naCl, blob, keyPairs);
  const { body, contentLength, metadata, shape } = decodeRoot(plaintext);
  return { content: shape.depth === 0 ? body : undefined, contentLength, metadata, recipients };
}
