import { type Address, StorageError, createStore } from "@idk/storage";
import { type AddressList, addressList } from "../../format/records/address-list.ts";
import {
  type EarlierReach,
  type Reach,
  changeBetween,
  encodeReach,
  extendReach,
  packsOf,
} from "../../format/records/reach.ts";
import { type GraceTimes, type SessionClock, deadlineSignal, tooLate } from "./times.ts";
import { type Head, encodeHead, encodePayload } from "../../format/records/head.ts";
import { INLINE_MAX, hash, sealRoot, toHex } from "@idk/storage/blobs";
import { type Marker, formatMarker } from "../../format/names/marker.ts";
import { type WriterKey, signPayload } from "../../format/keys/writer.ts";
import { type WriterState, encodeState } from "./state.ts";
import { findMarker } from "../../repository/find-heads.ts";
import { type HeadPlace, headsBefore } from "../../repository/put-head.ts";
import type { Cache } from "../../cache/cache.ts";
import { RECORD_TYPES } from "../../format/records/types.ts";
import type { Repository } from "../../repository/repository.ts";
import { chainOf } from "../../format/names/chain.ts";
import { decodeRow } from "../../format/packs/row.ts";
import { sealRecord } from "../../repository/records.ts";

/** What the heads of one backup have in common. */
export interface Committing {
  readonly repository: Repository;
  readonly writer: WriterKey;
  readonly name: string;
  readonly recipients: readonly string[];
  readonly message: string | null;
  readonly tags: readonly string[];
  readonly expectedSeconds: number | null;
  readonly cache: Cache;
  readonly clock: SessionClock;
  readonly times: GraceTimes;
  readonly ownTime: () => number;
  readonly signal: AbortSignal;
}

/** What a head is to hold. */
export interface ToCommit {
  /** The content of the snapshot; undefined of a part. */
  readonly snapshot: Uint8Array | undefined;
  /** The numbers of all packs that it needs. */
  readonly packs: readonly number[];
  readonly base: WriterState | undefined;
  /** The store's time when the chain was listed. */
  readonly listedAt: number;
  /** The time of the oldest thing that is built on, if its age matters. */
  readonly oldest: number;
  /** What the cache keeps, without what is known only here. */
  readonly state: Omit<WriterState, "marker" | "sentAt" | "deadline" | "reaches">;
}

export interface Committed {
  readonly state: WriterState;
  /** When its marker was stored, by the store's time. */
  readonly storedAt: number;
}

/**
 * Ends a session with a head: stores snapshot, reach, head and marker, each durable before the next, and
 * commits the cache once the marker is seen listed.
 *
 * @throws StorageError `unavailable` if that would be, or was, too late
 */
export async function commit(committing: Committing, what: ToCommit): Promise<Committed> {
  const { repository, cache, clock, signal, times } = committing;
  const { backend } = repository;
  const deadline = Math.floor(Math.min(what.listedAt, what.oldest) + times.half);

  const snapshot = what.snapshot && (await putRecord(committing, "snapshot", what.snapshot));
  const { reaches, address: reach } = await commitReach(committing, what);
  const sentAt = await clock.now();
  if (sentAt > deadline) throw tooLate();
  const chain = chainOf(repository.pinned.repository, committing.name);
  const place = await headsBefore(backend, chain, what.base?.marker, sentAt, signal);
  const { head, payloadHash } = headOf(committing, snapshot, reach, place);
  const { address, blob } = sealRecord(repository.naCl, "head", head, committing.recipients);
  await backend.put(address, blob, { sha256: address, signal });

  const marker: Marker = { chain, generation: place.generation, address };
  const state: WriterState = { ...what.state, marker, sentAt, deadline, reaches };
  cache.prepare(encodeState(state), what.packs, what.snapshot === undefined);
  const storedAt = await putMarker(committing, marker, deadline);
  cache.commit(Array.from(state.sessions.keys(), (id) => Buffer.from(id, "hex")));
  const remembered = { marker, name: committing.name, payloadHash };
  await repository.memory.remember(new Map([[chain, remembered]]));
  return { state, storedAt };
}

/** Stores the reach of a head, with what its base's reaches have. */
async function commitReach(
  committing: Committing,
  { packs, base }: ToCommit,
): Promise<{ readonly address: Address; readonly reaches: readonly EarlierReach[] }> {
  const earlier = base?.reaches ?? [];
  const needed = addressesOf(committing.cache, packs);
  const reach = extendReach(earlier, changeBetween(packsOf(earlier), needed));
  const address = await putReach(committing, reach);
  const kept = earlier.filter(({ address: before }) => reach.earlier.includes(before));
  const { added, dropped } = reach;
  return { address, reaches: [...kept, { address, added, dropped }] };
}

function addressesOf(cache: Cache, packs: readonly number[]): AddressList {
  const addresses = packs.map((id) => {
    const row = cache.pack(id)?.row;
    if (row === undefined) throw new Error("a pack that the snapshot needs is not stored");
    return decodeRow(row).address;
  });
  return addressList(addresses);
}

/** Stores a record that is one blob. */
async function putRecord(
  { repository, recipients, signal }: Committing,
  kind: "snapshot",
  content: Uint8Array,
): Promise<Address> {
  const { address, blob } = sealRecord(repository.naCl, kind, content, recipients);
  await repository.backend.put(address, blob, { sha256: address, signal });
  return address;
}

/** Stores a reach, which may be longer than one blob. */
export async function putReach(
  { repository, recipients, signal }: Pick<Committing, "repository" | "recipients" | "signal">,
  reach: Reach,
): Promise<Address> {
  const content = encodeReach(reach);
  const metadata = { type: RECORD_TYPES.reach };
  const { backend, naCl } = repository;
  if (content.length <= INLINE_MAX) {
    const { address, blob } = sealRoot(naCl, { content, metadata, recipients });
    await backend.put(address, blob, { sha256: address, signal });
    return address;
  }
  const store = createStore({ backend, recipients, nacl: naCl });
  return store.put(content, { metadata, signal });
}

function headOf(
  committing: Committing,
  snapshot: Address | undefined,
  reach: Address,
  place: HeadPlace,
): { readonly head: Uint8Array; readonly payloadHash: string } {
  const { repository, writer, name, message, tags, expectedSeconds, ownTime } = committing;
  const common = {
    repository: repository.pinned.repository,
    chain: chainOf(repository.pinned.repository, name),
    name,
    ...place,
    time: Math.trunc(ownTime()),
    writer: writer.writer,
    expectedSeconds,
    message,
    tags,
    reach,
  };
  const head: Head =
    snapshot === undefined ? { kind: "part", ...common } : { kind: "snap", ...common, snapshot };
  const payload = encodePayload(head);
  return {
    head: encodeHead({ payload, signature: signPayload(writer, payload) }),
    payloadHash: toHex(hash(payload)),
  };
}

/**
 * Puts the marker, unless it is too late, and looks for it in the listing.
 *
 * @returns the store's time of it
 */
async function putMarker(
  { repository, clock, signal }: Committing,
  marker: Marker,
  deadline: number,
): Promise<number> {
  // Retries may take long, so the put itself ends at the deadline.
  const left = deadline - (await clock.now());
  if (left < 0) throw tooLate();
  const until = deadlineSignal(signal, left);
  try {
    await repository.backend.putMarker(formatMarker(marker), { signal: until.signal });
  } catch (error) {
    throw until.isOver() ? tooLate() : error;
  } finally {
    until.end();
  }
  const found = await findMarker(repository.backend, marker, signal);
  if (found === undefined) {
    throw new StorageError(
      "unavailable",
      `${repository.backend.description} does not list the marker that was just stored: back up ` +
        "again; a store of snapshots has to list what was stored before",
    );
  }
  if (found.storedAt > deadline) throw tooLate();
  return found.storedAt;
}
