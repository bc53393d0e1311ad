import type { Address } from "@idk/storage";
import { type PackSort, packKey, packSalt } from "../../format/packs/pack.ts";
import { DATA_PACK } from "../../format/limits.ts";
import type { Cache } from "../../cache/cache.ts";
import type { MarkerBackend } from "../../repository/marker-backend.ts";
import type { Threads } from "./threads.ts";
import type { SessionId } from "../../format/names/identifiers.ts";
import { type FramePart, blobLength } from "./jobs.ts";
import { encodeRow } from "../../format/packs/row.ts";
import { fromHex, randomKey } from "@idk/storage/blobs";

/** Packs that are sealed or sent at once. Each takes 4 MiB. */
const IN_FLIGHT = 4;

/** Of a buffer that is used again. */
const IDLE_LENGTH = blobLength(DATA_PACK);

export interface PackToStore {
  readonly id: number;
  readonly sort: PackSort;
  /** Of `buffer`, with the plaintext in it. It is given away. */
  readonly blob: Uint8Array<ArrayBuffer>;
  /** SHA-256 of the plaintext, or of the hashes of what it holds. */
  readonly digest: Uint8Array;
  /** What is in the frame of a metadata pack. */
  readonly parts?: readonly FramePart[];
}

/** Seals the packs of a session, stores them, several at once, and notes them in the cache. */
export interface PackStore {
  /**
   * Begins to store a pack, when there is room. Resolves as soon as it has begun.
   *
   * @param after packs that have to be stored before
   */
  store(pack: PackToStore): Promise<void>;
  /** Resolves once a pack of this session is stored; at once for packs of earlier sessions. */
  stored(id: number): Promise<void>;
  /** The number of a new pack, which is going to be stored. */
  newPack(): number;
  /** Resolves once everything that was begun is stored. @throws the first error */
  settled(): Promise<void>;
  /** Waits for what is being stored to end, whatever comes of it. */
  abandon(): Promise<void>;
  /** A buffer for a pack with this much plaintext, of zeros; `plaintextIn` is where it goes. */
  buffer(length: number): Uint8Array<ArrayBuffer>;
  /** Bytes of blobs stored so far. */
  readonly storedBytes: number;
  /** How many packs were stored so far. */
  readonly storedPacks: number;
}

export interface PackStoreOptions {
  readonly backend: MarkerBackend;
  readonly cache: Cache;
  readonly threads: Threads;
  readonly session: { readonly id: SessionId; readonly secret: Uint8Array };
  /** The session key blob, which the cache gets before the first pack. */
  readonly sessionKey: Uint8Array;
  readonly verify: boolean;
  /** The store's time. */
  readonly storeTime: () => Promise<number>;
  readonly signal: AbortSignal;
}

export function packStore(options: PackStoreOptions): PackStore {
  const { backend, cache, threads, session, verify, signal } = options;
  const pending = new Map<number, ReturnType<typeof Promise.withResolvers<void>>>();
  const running = new Set<Promise<void>>();
  const idle: Uint8Array<ArrayBuffer>[] = [];
  let failure: { readonly error: unknown } | undefined;
  let [storedBytes, storedPacks] = [0, 0];

  const run = async ({ id, sort, blob, digest, parts }: PackToStore): Promise<void> => {
    if (storedPacks === 0) cache.addSession(fromHex(session.id), options.sessionKey);
    const salt = packSalt(session.secret, randomKey(), digest);
    const contentKey = packKey(session.secret, sort, salt);
    const sealed = await threads.seal({ contentKey, blob, verify, parts });
    // Before it is sent, so that it is never taken for younger than it is.
    const time = await options.storeTime();
    await backend.put(sealed.address, sealed.blob, { sha256: sealed.address, signal });
    const address = sealed.address as Address;
    cache.addPack(id, encodeRow({ session: session.id, address, salt }), time);
    storedBytes += sealed.blob.length;
    storedPacks += 1;
    // Only those of data packs: there are few others.
    if (idle.length < IN_FLIGHT && sealed.blob.length === IDLE_LENGTH) idle.push(sealed.blob);
    pending.get(id)?.resolve();
    pending.delete(id);
  };
  const throwFailure = (): void => {
    if (failure !== undefined) throw failure.error;
  };

  return {
    async store(pack) {
      while (running.size >= IN_FLIGHT) await Promise.race(running);
      throwFailure();
      const task = run(pack)
        .catch((error: unknown) => {
          failure ??= { error };
          // What waits for the pack finds the failure.
          for (const { resolve } of pending.values()) resolve();
        })
        .finally(() => running.delete(task));
      running.add(task);
    },
    async stored(id) {
      throwFailure();
      await pending.get(id)?.promise;
      throwFailure();
    },
    newPack() {
      const id = cache.newPack();
      pending.set(id, Promise.withResolvers<void>());
      return id;
    },
    async settled() {
      while (running.size > 0) await Promise.race(running);
      throwFailure();
    },
    async abandon() {
      while (running.size > 0) await Promise.race(running);
    },
    buffer(plaintextLength) {
      const length = blobLength(plaintextLength);
      const spare = length === IDLE_LENGTH ? idle.pop() : undefined;
      return spare?.fill(0) ?? new Uint8Array(length);
    },
    get storedBytes() {
      return storedBytes;
    },
    get storedPacks() {
      return storedPacks;
    },
  };
}
