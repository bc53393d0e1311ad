import { type Address, StorageError, createStore } from "@idk/storage";
import { type AddressList, addressList } from "../../format/records/address-list.ts";
import {
  type EarlierReach,
  type Reach,
  encodeReach,
  extendReach,
} from "../../format/records/reach.ts";
import { type GraceTimes, type SessionClock, tooLate } from "./times.ts";
import type { Head } from "../../format/records/head.ts";
import { INLINE_MAX, bothOf, sealRoot } from "@idk/storage/blobs";
import type { Marker } from "../../format/names/marker.ts";
import type { WriterKey } from "../../format/keys/writer.ts";
import { type WriterState, encodeState } from "./state.ts";
import { type HeadPlace, headsBefore, putHead } from "../../repository/put-head.ts";
import type { ChainId } from "../../format/names/identifiers.ts";
import type { Cache } from "../../cache/cache.ts";
import { RECORD_TYPES } from "../../format/records/types.ts";
import type { RememberedHead } from "../../repository/head-memory.ts";
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
  /** What this machine remembered at the start and forgets, because a rollback is accepted. */
  readonly rolledBack: RememberedHead | undefined;
  readonly cache: Cache;
  readonly clock: SessionClock;
  readonly times: GraceTimes;
  readonly ownTime: () => number;
  /** Is told what went wrong after a head was stored, as a sentence. */
  readonly onWarning: (message: string) => void;
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

/**
 * Ends a session with a head: stores snapshot and reach, and once they are durable the head, and then the
 * marker. Commits the cache once the marker is seen listed.
 *
 * @throws StorageError `unavailable` if that would be, or was, too late
 */
export async function commit(committing: Committing, what: ToCommit): Promise<WriterState> {
  const { repository, writer, recipients, cache, clock, signal, times } = committing;
  const { backend, memory } = repository;
  const deadline = Math.floor(Math.min(what.listedAt, what.oldest) + times.half);

  const [snapshot, { reaches, address: reach }] = await bothOf(
    what.snapshot && putRecord(committing, "snapshot", what.snapshot),
    commitReach(committing, what),
  );
  const sentAt = await clock.now();
  if (sentAt > deadline) throw tooLate();
  const chain = chainOf(repository.pinned.repository, committing.name);
  const place = await headsBefore(
    backend,
    chain,
    what.base ? [what.base.marker] : [],
    sentAt,
    signal,
  );
  const head = headOf(committing, chain, place, snapshot, reach);
  const stateOf = (marker: Marker): WriterState => {
    return { ...what.state, marker, sentAt, deadline, reaches };
  };
  const { marker, payloadHash } = await putHead(repository, writer, head, recipients, {
    signal,
    deadline: { time: deadline, tooLate },
    beforeMarker: (stored) => {
      cache.prepare(encodeState(stateOf(stored.marker)), what.packs, snapshot === undefined);
    },
  });
  const state = stateOf(marker);
  cache.commit(Array.from(state.sessions.keys(), (id) => Buffer.from(id, "hex")));
  const own = { marker, name: committing.name, payloadHash };
  try {
    if (committing.rolledBack) await memory.rollBack(chain, committing.rolledBack, own);
    await memory.remember(new Map([[chain, own]]));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    // The head is stored all the same, and the cache knows of it.
    committing.onWarning(
      `this machine does not remember the head ${marker.address.slice(0, 12)}, which is stored: ${error.message}`,
    );
  }
  return state;
}

/** Stores the reach of a head, with what its base's reaches have. */
async function commitReach(
  committing: Committing,
  { packs, base }: ToCommit,
): Promise<{ readonly address: Address; readonly reaches: readonly EarlierReach[] }> {
  const earlier = base?.reaches ?? [];
  const reach = extendReach(earlier, addressesOf(committing.cache, packs));
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
  { repository, writer, name, message, tags, expectedSeconds, ownTime }: Committing,
  chain: ChainId,
  place: HeadPlace,
  snapshot: Address | undefined,
  reach: Address,
): Head {
  const common = {
    repository: repository.pinned.repository,
    chain,
    name,
    ...place,
    time: Math.trunc(ownTime()),
    writer: writer.writer,
    expectedSeconds,
    message,
    tags,
    reach,
  };
  if (snapshot === undefined) return { kind: "part", ...common };
  return { kind: "snap", ...common, snapshot };
}
