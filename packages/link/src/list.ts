import {
  type Address,
  addressOf,
  type Identity,
  identityFromSecretKey,
  type NaCl,
  StorageError,
} from "@idk/storage";
import {
  CborError,
  CHILD_OVERHEAD,
  CHILD_PLAINTEXT_MAX,
  concat,
  decodeCborT,
  encodeCborT,
  fromHex,
  kdf,
  openChild,
  ROOT_BLOB_MAX,
  sealChild,
  toHex,
} from "@idk/storage/blobs";
import { LinkError } from "./errors.ts";

/** Bytes of a blob's address and of the signature of its URL. */
const ENTRY = 64;

/** What a link refers to, beyond its place. */
export interface LinkList {
  /** The root of the content, sealed for the identity of the link. */
  readonly root: Uint8Array;
  /** The signature of the URL of each chunk and node, 32 bytes, by address; empty if they are public. */
  readonly signatures: ReadonlyMap<string, Uint8Array>;
}

/** The content key of the list. */
function listKeyOf(secret: Uint8Array): Uint8Array {
  return kdf(secret, new Uint8Array(0), "idk-link/v1/list");
}

/** The identity that the root in the list is sealed for. */
export function identityOf(secret: Uint8Array): Identity {
  return identityFromSecretKey(kdf(secret, new Uint8Array(0), "idk-link/v1/root"));
}

/**
 * Seals a list as a leaf, so that a store cannot tell it from a chunk.
 *
 * @throws StorageError `usage` if the content has more chunks than a list has room for
 */
export function sealList(
  naCl: NaCl,
  secret: Uint8Array,
  { root, signatures }: LinkList,
): { address: Address; blob: Uint8Array } {
  const addresses = [...signatures.keys()].toSorted();
  const entries = new Uint8Array(ENTRY * addresses.length);
  for (const [index, address] of addresses.entries()) {
    entries.set(fromHex(address), index * ENTRY);
    entries.set(signatures.get(address)!, index * ENTRY + 32);
  }
  const plaintext = encodeCborT(
    new Map([
      ["r", root],
      ["s", entries],
    ]),
  );
  if (plaintext.length > CHILD_PLAINTEXT_MAX) throw tooManyChunks(addresses.length);
  const blob = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
  const contentKey = listKeyOf(secret);
  sealChild(naCl, { kind: "leaf", contentKey, plaintext, blob });
  return { address: addressOf(blob), blob };
}

/**
 * Opens a list.
 *
 * @param blob the whole blob, whose address the caller has checked; it is overwritten
 * @throws StorageError `format`, `commit`, `auth`; LinkError `damaged` if it is not a list
 */
export function openList(naCl: NaCl, secret: Uint8Array, blob: Uint8Array): LinkList {
  const contentKey = listKeyOf(secret);
  const plaintext = openChild(naCl, { kind: "leaf", contentKey, blob });
  const { root, entries } = decodeList(plaintext);
  const signatures = new Map<string, Uint8Array>();
  let previous = "";
  for (let start = 0; start < entries.length; start += ENTRY) {
    const address = toHex(entries.subarray(start, start + 32));
    if (address <= previous) throw notAList();
    signatures.set(address, entries.subarray(start + 32, start + ENTRY));
    previous = address;
  }
  return { root: concat(root), signatures };
}

function decodeList(plaintext: Uint8Array): { root: Uint8Array; entries: Uint8Array } {
  let map;
  try {
    map = decodeCborT(plaintext, { itemsMax: 8 });
  } catch (error) {
    if (error instanceof CborError) throw notAList();
    throw error;
  }
  if (!(map instanceof Map) || map.size !== 2) throw notAList();
  const root: unknown = map.get("r");
  const entries: unknown = map.get("s");
  if (!(root instanceof Uint8Array) || root.length > ROOT_BLOB_MAX) throw notAList();
  if (!(entries instanceof Uint8Array) || entries.length % ENTRY !== 0) throw notAList();
  return { root, entries };
}

/** A list is one blob, of at most 16 MiB. */
function tooManyChunks(count: number): StorageError {
  return new StorageError(
    "usage",
    `the content has ${count} chunks, and a link has room for about 260,000 (1 TB in chunks of ` +
      "4 MiB); share it with a recipient instead, or store it again in larger chunks",
  );
}

function notAList(): LinkError {
  return new LinkError("damaged", "the link refers to something that is not the list of a link");
}
