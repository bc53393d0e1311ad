import { StorageError, addressOf, wrapBackend } from "@idk/storage";
import { hash, toHex, utf8 } from "@idk/storage/blobs";
import { reusablePacks, startSession } from "../../../src/write/session/start.ts";
import type { Committing } from "../../../src/write/session/commit.ts";
import type { MemoryCache } from "./memory-cache.ts";
import type { Repository } from "../../../src/repository/repository.ts";
import type { SessionClock } from "../../../src/write/session/times.ts";
import type { SessionId } from "../../../src/format/names/identifiers.ts";
import type { World } from "./world.ts";
import { chainOf } from "../../../src/format/names/chain.ts";
import { decodeRow, encodeRow } from "../../../src/format/packs/row.ts";
import { decodeState } from "../../../src/write/session/state.ts";
import { decodeMarker } from "../../../src/format/names/marker.ts";
import { graceTimes } from "../../../src/write/session/times.ts";
import { requireMarkers } from "../../../src/repository/marker-backend.ts";
import { runningSession } from "../../../src/write/session/session.ts";

export interface Host {
  /** The name of its chain. */
  readonly name: string;
  /** How far its clock is ahead, in milliseconds. */
  readonly clockAhead: number;
  cache: MemoryCache;
  /** The cache of real backups, as it is between them. */
  database?: Uint8Array | undefined;
  /** The contents of its files. */
  files: readonly number[];
}

/** Contents that are stored in one pack. */
const PER_PACK = 3;
/** So that a pack is hardly in use if only a small one of it is left. */
const sizeOf = (content: number): number => (content % 3 === 0 ? 1 : 100);
const hashOf = (content: number): Uint8Array => hash(utf8(`content ${content}`));

/** A backup, by the session of a real one, whose packs hold nothing. */
export async function runSession(
  world: World,
  host: Host,
  recipients: readonly string[],
  given: Repository,
): Promise<void> {
  const { random } = world;
  const { backend: packs, pinned } = given;
  const chain = chainOf(pinned.repository, host.name);
  /** Snapshot, lists of packs and head. */
  let records: string[] = [];
  const backend = requireMarkers(
    wrapBackend(packs, {
      put:
        (put) =>
        async (name, ...rest) => {
          records.push(name);
          await put(name, ...rest);
        },
    }),
  );
  const repository: Repository = { ...given, backend };
  const cache = host.cache.open({
    onPrepare({ marker, value, isPart }, needed) {
      const state = decodeState({ marker, value });
      world.expect({
        marker: state.marker,
        kind: isPart ? "part" : "snap",
        name: host.name,
        needed: [
          ...records,
          ...state.reaches.map(({ address }) => address),
          ...needed.map(({ row }) => decodeRow(row).address),
        ],
        deadline: state.deadline,
      });
      records = [];
    },
    onCommit: ({ marker }) => world.trust(decodeMarker(marker).address),
  });

  let told = 0;
  const clock: SessionClock = {
    now: async () => (told = await packs.currentTime()),
    // It may be some time ago, for asking takes a request.
    recent: async () => (random.oneIn(2) ? clock.now() : told),
  };
  const times = graceTimes(world.grace / 1000);
  const { signal } = new AbortController();
  // A store whose times are wrong by hours would be taken for a clock that is.
  const ownTime = (): number => told;
  const begin = (acceptRollback: boolean) =>
    startSession({
      repository,
      chain,
      cache,
      clock,
      times,
      ownTime,
      acceptRollback,
      isDryRun: false,
      signal,
    });
  let acceptRollback = false;
  const start = await begin(false).catch((error: unknown) => {
    if (!(error instanceof StorageError) || error.code !== "rollback") throw error;
    // The machine was brought back from a copy.
    acceptRollback = true;
    return begin(true);
  });
  const reusable = await reusablePacks(start, {
    backend,
    cache,
    times,
    newKeyLength: 100,
    acceptRollback,
    repair: false,
    signal,
  });
  const committing: Committing = {
    repository,
    writer: repository.writer!,
    name: host.name,
    recipients,
    message: null,
    tags: [`${random.upTo(3)}`],
    expectedSeconds: null,
    rolledBack: acceptRollback ? (await repository.memory.recall()).get(chain) : undefined,
    cache,
    clock,
    times,
    ownTime,
    onWarning(message) {
      throw new Error(message);
    },
    signal,
  };
  const session = runningSession(committing, start, reusable);
  cache.begin();
  const id = toHex(hash(utf8(`session ${random.unit()}`)).subarray(0, 16)) as SessionId;

  let waiting: number[] = [];
  const store = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const contents = waiting;
    waiting = [];
    const pack = cache.newPack();
    cache.addSession(Buffer.from(id, "hex"), new Uint8Array(100));
    const bytes = utf8(`pack ${random.unit()}`);
    const address = addressOf(bytes);
    // Noted before, because the answer may come much later than the pack is stored.
    const stored = await clock.recent();
    await packs.put(address, bytes);
    cache.addPack(pack, encodeRow({ session: id, address, salt: new Uint8Array(16) }), stored);
    for (const content of contents) {
      const length = sizeOf(content);
      cache.addPiece(hashOf(content), { pack, offset: 0, stored: length, length, encoding: 0 });
      session.use(pack, length);
    }
  };
  for (const content of host.files) {
    const place = cache.piece(hashOf(content));
    if (place !== undefined && session.isUsable(place.pack)) session.use(place.pack, place.stored);
    else waiting.push(content);
    if (waiting.length >= PER_PACK || random.oneIn(8)) await store();
    // One that is not due does no harm.
    const isDue = (await clock.recent()) >= session.partDue();
    if (!isDue && !random.oneIn(16)) continue;
    await store();
    await session.part();
  }
  await store();
  await session.end(() => utf8(`snapshot ${random.unit()}`), {
    nextLinks: 1,
    treeId: new Uint8Array(32),
    files: 0,
    directories: 0,
    bytes: 0,
  });
}
