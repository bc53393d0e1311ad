import { type NaCl, StorageError, addressOf } from "@idk/storage";
import {
  CHILD_OVERHEAD,
  assertLength,
  hash,
  mac,
  openChild,
  padme,
  sealChild,
  utf8,
} from "@idk/storage/blobs";
import { DATA_PACK, LAST_PACK_MIN, METADATA_PACK, SALT_LENGTH, SECRET_LENGTH } from "../limits.ts";
import type { Row } from "./row.ts";
import type { SessionId } from "../names/identifiers.ts";

/** What a pack holds: pieces of files, or nodes and piece lists. */
export type PackSort = "data" | "meta";

/** The plaintext of a pack that is filled up. */
const FULL: Readonly<Record<PackSort, number>> = { data: DATA_PACK, meta: METADATA_PACK };

/** The most bytes of a sealed pack. */
export const PACK_BLOB_MAX: number = DATA_PACK + CHILD_OVERHEAD;

/**
 * How long the plaintext of a pack is, filled up with zeros: always the same, so that it reveals nothing.
 * The last pack of each sort before a head has a padded length of its own, so that small backups stay
 * small.
 *
 * @param length bytes in use
 */
export function packLength(sort: PackSort, length: number, isLast: boolean): number {
  if (length > FULL[sort]) throw new RangeError(`a ${sort} pack has at most ${FULL[sort]} bytes`);
  return isLast ? Math.max(padme(length), LAST_PACK_MIN) : FULL[sort];
}

/**
 * The salt of a pack. It depends on what the pack holds, too, so that a virtual machine that was cloned
 * with its random generator does not seal two plaintexts under one key.
 *
 * @param secret the session's, 32 bytes
 * @param random 32 bytes from the system's generator, drawn for this pack
 * @param digest SHA-256 of the plaintext, or of the hashes of its pieces
 */
export function packSalt(secret: Uint8Array, random: Uint8Array, digest: Uint8Array): Uint8Array {
  assertLength("secret", secret, SECRET_LENGTH);
  assertLength("random", random, 32);
  assertLength("digest", digest, 32);
  return mac(secret, utf8("idk/v1/snap/salt"), random, digest).slice(0, SALT_LENGTH);
}

/** The content key of a pack, 32 bytes. */
export function packKey(secret: Uint8Array, sort: PackSort, salt: Uint8Array): Uint8Array {
  assertLength("secret", secret, SECRET_LENGTH);
  assertLength("salt", salt, SALT_LENGTH);
  return mac(secret, utf8(`idk/v1/snap/${sort}`), salt);
}

export interface Session {
  readonly id: SessionId;
  /** 32 bytes. Secret. */
  readonly secret: Uint8Array;
}

/**
 * Seals a pack.
 *
 * @param plaintext filled up with zeros to `packLength`
 * @param random 32 bytes from the system's generator, drawn for this pack
 * @param digest SHA-256 of the plaintext by default; hashes of the pieces may stand for it
 */
export function sealPack(
  naCl: NaCl,
  session: Session,
  sort: PackSort,
  {
    plaintext,
    random,
    digest = hash(plaintext),
  }: {
    readonly plaintext: Uint8Array;
    readonly random: Uint8Array;
    readonly digest?: Uint8Array;
  },
): { row: Row; blob: Uint8Array } {
  const salt = packSalt(session.secret, random, digest);
  const blob = new Uint8Array(plaintext.length + CHILD_OVERHEAD);
  const contentKey = packKey(session.secret, sort, salt);
  const address = sealChild(naCl, { kind: "leaf", contentKey, plaintext, blob });
  return { row: { session: session.id, address, salt }, blob };
}

/**
 * Opens a pack, in place.
 *
 * @param secret of the row's session
 * @param blob what the store has under the row's address; its bytes are overwritten
 * @returns the plaintext with its zeros, a view of `blob`
 * @throws StorageError `limit`, `address`, `format`, `commit`, `auth`, in this order; `tree` if a
 *   metadata pack is longer than allowed
 */
export function openPack(
  naCl: NaCl,
  secret: Uint8Array,
  sort: PackSort,
  row: Row,
  blob: Uint8Array,
): Uint8Array {
  if (blob.length > PACK_BLOB_MAX) {
    throw new StorageError("limit", `the pack ${row.address} has more than ${PACK_BLOB_MAX} bytes`);
  }
  if (addressOf(blob) !== row.address) {
    throw new StorageError(
      "address",
      `the pack ${row.address} is damaged or was replaced: its bytes do not match its address`,
    );
  }
  const contentKey = packKey(secret, sort, row.salt);
  const plaintext = openChild(naCl, { kind: "leaf", contentKey, blob });
  if (plaintext.length > FULL[sort]) {
    throw new StorageError(
      "tree",
      `the metadata pack ${row.address} is longer than ${FULL[sort]} bytes`,
    );
  }
  return plaintext;
}
