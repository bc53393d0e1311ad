import type { Address } from "@idk/storage";
import { type CborItem, encodeCborT, fromHex } from "@idk/storage/blobs";
import { ADDRESS_LENGTH, REACH_MAX, REACH_PARENTS_MAX } from "../limits.ts";
import {
  array,
  byteString,
  decodedItem,
  decoding,
  malformed,
  record,
  versionOne,
} from "../checks.ts";
import {
  type AddressList,
  NO_ADDRESSES,
  checkAddressList,
  compareAt,
  difference,
  union,
} from "./address-list.ts";
import { address } from "../names/identifiers.ts";

/** What one session changed in the packs that its chain needs. */
export interface ReachChange {
  readonly added: AddressList;
  readonly dropped: AddressList;
}

/**
 * All packs that a snapshot needs: those that the earlier reaches lead to, one after the other, and then
 * without those dropped and with those added here.
 */
export interface Reach extends ReachChange {
  /** The reaches before this one, at most 32. What they name as theirs does not count. */
  readonly earlier: readonly Address[];
}

/** The map without its lists and addresses. */
const OVERHEAD_MAX = 64 + REACH_PARENTS_MAX * 34;
export const REACH_CONTENT_MAX: number = REACH_MAX + OVERHEAD_MAX;

/**
 * Encodes a reach: the content of a blob of the type `RECORD_TYPES.reach`.
 *
 * @throws StorageError `tree` if a reader would refuse it
 */
export function encodeReach(reach: Reach): Uint8Array<ArrayBuffer> {
  const bytes = encodeCborT(
    new Map<string, CborItem>([
      ["v", 1],
      ["f", reach.earlier.map(fromHex)],
      ["a", reach.added],
      ["d", reach.dropped],
    ]),
  );
  decodeReach(bytes);
  return bytes;
}

/**
 * Decodes a reach. Its lists are views.
 *
 * @throws StorageError `tree`
 */
export function decodeReach(bytes: Uint8Array): Reach {
  return decoding("tree", "the reach", () => {
    const fields = record(decodedItem(bytes, REACH_CONTENT_MAX), "it", ["v", "f", "a", "d"]);
    versionOne(fields.v);
    const earlier = array(fields.f, "the reaches before it", REACH_PARENTS_MAX);
    if (new Set(earlier.map((item) => address(item, "a reach before it"))).size < earlier.length) {
      throw malformed("it names a reach before it twice");
    }
    const added = byteString(fields.a, "the packs added");
    const dropped = byteString(fields.d, "the packs dropped");
    if (added.length + dropped.length > REACH_MAX) throw malformed("it has too many packs");
    checkAddressList(added, "the packs added");
    checkAddressList(dropped, "the packs dropped");
    return {
      earlier: earlier.map((item) => address(item, "a reach before it")),
      added,
      dropped,
    };
  });
}

/** The packs after a change: without those dropped, and with those added. */
export function applyChange(packs: AddressList, { added, dropped }: ReachChange): AddressList {
  return union(difference(packs, dropped), added);
}

/** All packs of a reach. The changes are those of `earlier` in order, and then its own. */
export function packsOf(changes: Iterable<ReachChange>): AddressList {
  let packs = NO_ADDRESSES;
  for (const change of changes) packs = applyChange(packs, change);
  return packs;
}

/**
 * All packs of a reach in ascending order, to be compared with a listing, which has the same order.
 * Takes no memory but that of the changes.
 *
 * @param changes those of `earlier` in order, and then the reach's own
 * @returns each address as a view of 32 bytes
 */
export function* packsInOrder(changes: readonly ReachChange[]): Generator<Uint8Array> {
  // What mentions an address last decides; within a change, packs are dropped before they are added.
  const cursors = changes
    .flatMap(({ added, dropped }) => [
      { list: dropped, adds: false, at: 0 },
      { list: added, adds: true, at: 0 },
    ])
    .filter(({ list }) => list.length > 0);
  for (;;) {
    let least: (typeof cursors)[number] | undefined;
    for (const cursor of cursors) {
      if (cursor.at === cursor.list.length) continue;
      const order =
        least === undefined ? -1 : compareAt(cursor.list, cursor.at, least.list, least.at);
      // Of equal addresses the last one is taken, and the one before it passed over.
      if (order === 0) least!.at += ADDRESS_LENGTH;
      if (order <= 0) least = cursor;
    }
    if (least === undefined) return;
    least.at += ADDRESS_LENGTH;
    if (least.adds) yield least.list.subarray(least.at - ADDRESS_LENGTH, least.at);
  }
}

/**
 * One change that does what two do, one after the other.
 *
 * @param startsChain whether nothing comes before the earlier change, so that there is nothing to drop
 */
export function mergeChanges(
  earlier: ReachChange,
  later: ReachChange,
  startsChain: boolean,
): ReachChange {
  const added = union(difference(earlier.added, later.dropped), later.added);
  const dropped = startsChain
    ? NO_ADDRESSES
    : difference(union(earlier.dropped, later.dropped), added);
  return { added, dropped };
}

/** The change from one set of packs to another. */
export function changeBetween(before: AddressList, after: AddressList): ReachChange {
  return { added: difference(after, before), dropped: difference(before, after) };
}

/** Bytes of a change's lists. */
function lengthOf({ added, dropped }: ReachChange): number {
  return added.length + dropped.length;
}

/** An earlier reach, and what it changed. */
export interface EarlierReach extends ReachChange {
  readonly address: Address;
}

/** How many addresses the lists of a path have at most, for each pack that it leads to. */
const LISTED_PER_PACK = 2;

/**
 * The reach of a new head. It merges those before it into itself, from the last one on, while they are
 * less than twice as long as it has become: so a session writes, and a prune reads, about what changed,
 * and there are few of them. And it merges while all lists together have over twice as many addresses as
 * it has packs: so readers can tell them from lists that somebody made up, however much was dropped.
 *
 * @param earlier the reaches of the base: those that the base's reach names, in order, and then that
 * @param packs all that the new head needs
 */
export function extendReach(earlier: readonly EarlierReach[], packs: AddressList): Reach {
  const kept = [...earlier];
  let before = kept.reduce((sum, one) => sum + lengthOf(one), 0);
  let own = changeBetween(packsOf(earlier), packs);
  for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
    // An empty one is merged by an empty one, too: sessions in which nothing changed add none.
    const isLong = lengthOf(last) >= Math.max(2 * lengthOf(own), 1);
    const areFew = before + lengthOf(own) <= LISTED_PER_PACK * packs.length;
    if (isLong && areFew && kept.length <= REACH_PARENTS_MAX) break;
    kept.pop();
    before -= lengthOf(last);
    own = mergeChanges(last, own, kept.length === 0);
  }
  return { ...own, earlier: kept.map(({ address }) => address) };
}
