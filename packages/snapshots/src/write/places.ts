import type { Cache, PiecePlace } from "../cache/cache.ts";
import { LIST } from "../format/packs/piece.ts";

/** What the cache knows places of. */
const KINDS = { piece: 0, node: 1, list: 2 } as const;
type Kind = keyof typeof KINDS;

/**
 * The place of something with this hash in a pack that can be used.
 *
 * Kinds are kept apart: a piece is whatever bytes somebody put into a file, so it may be those of a
 * node or list.
 *
 * @param hash of the bytes of a piece, or of what identifies a node or list
 */
export function findPlace(
  cache: Cache,
  kind: Kind,
  hash: Uint8Array,
  isUsable: (pack: number) => boolean,
): PiecePlace | undefined {
  const known = cache.piece(keyOf(kind, hash));
  if (known === undefined || (known.encoding === LIST) === (kind === "piece")) return undefined;
  return isUsable(known.pack) ? known : undefined;
}

/** Notes where something with this hash is going to be stored. `items` as `Cache.addPiece` has them. */
export function addPlace(
  cache: Cache,
  kind: Kind,
  hash: Uint8Array,
  place: PiecePlace,
  items?: Uint8Array,
): void {
  cache.addPiece(keyOf(kind, hash), place, items);
}

/** The kind comes last, so that keys still begin as evenly as hashes do. */
function keyOf(kind: Kind, hash: Uint8Array): Uint8Array {
  const key = new Uint8Array(hash.length + 1);
  key.set(hash);
  key[hash.length] = KINDS[kind];
  return key;
}
