import { type CborItem, decodeCborT, encodeCborT, fromHex, toHex } from "@idk/storage/blobs";
import type { Address } from "@idk/storage";
import type { EarlierReach } from "../../format/records/reach.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import { type Marker, decodeMarker, encodeMarker } from "../../format/names/marker.ts";
import type { PackFills } from "./sparse.ts";
import type { SessionState } from "../../cache/cache.ts";
import { UnusableCache } from "../../cache/database.ts";

/** What the writer of a chain remembers of the newest head that it sent. */
export interface WriterState {
  readonly marker: Marker;
  /** The store's time just before the marker was put, in milliseconds. */
  readonly sentAt: number;
  /** The latest time of the marker with which the head may be built on. */
  readonly deadline: number;
  /** Greater than every number of a group of hard links. */
  readonly nextLinks: number;
  /** The reaches that the head's reach names, in order, and then that: writers cannot read them. */
  readonly reaches: readonly EarlierReach[];
  /** Of each session that the snapshot needs, the bytes in use. */
  readonly sessions: ReadonlyMap<SessionId, number>;
  /** How full the packs were that it needs. */
  readonly fills: PackFills;
  /** Numbers of packs hardly in use, which are not built on. */
  readonly sparse: readonly number[];
  readonly treeId: Uint8Array;
  readonly files: number;
  readonly directories: number;
  readonly bytes: number;
}

export function encodeState(state: WriterState): SessionState {
  const item: CborItem = [
    state.sentAt,
    state.deadline,
    state.nextLinks,
    state.reaches.map(({ address, added, dropped }) => [fromHex(address), added, dropped]),
    Array.from(state.sessions, ([id, bytes]) => [fromHex(id), bytes]),
    state.treeId,
    state.files,
    state.directories,
    state.bytes,
    state.fills,
    [...state.sparse],
  ];
  return { marker: encodeMarker(state.marker), value: encodeCborT(item) };
}

/** @throws UnusableCache if it is damaged */
export function decodeState(state: SessionState): WriterState {
  try {
    return decoded(state);
  } catch (error) {
    throw new UnusableCache("the state of the last session is damaged", { cause: error });
  }
}

function decoded({ marker, value }: SessionState): WriterState {
  const item = decodeCborT(value) as readonly CborItem[];
  const [sentAt, deadline, nextLinks, reaches, sessions, treeId, files, directories, bytes] = item;
  const [fills, sparse] = item.slice(9);
  return {
    marker: decodeMarker(marker),
    sentAt: sentAt as number,
    deadline: deadline as number,
    nextLinks: nextLinks as number,
    reaches: (reaches as readonly Uint8Array[][]).map(([address, added, dropped]) => ({
      address: toHex(address!) as Address,
      added: added!,
      dropped: dropped!,
    })),
    sessions: new Map(
      (sessions as readonly [Uint8Array, number][]).map(([id, size]) => [
        toHex(id) as SessionId,
        size,
      ]),
    ),
    fills: fills as Uint8Array,
    sparse: sparse as readonly number[],
    treeId: treeId as Uint8Array,
    files: files as number,
    directories: directories as number,
    bytes: bytes as number,
  };
}
