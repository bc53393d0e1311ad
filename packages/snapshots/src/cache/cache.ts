import {
  type CacheRecord,
  RECORD_HEAD,
  NAME_LENGTH_AT,
  type StoredRecord,
  readRecords,
  recordLength,
  writeRecord,
} from "./record.ts";
import {
  BUSY,
  type Database,
  LOCKED,
  type Row,
  UnusableCache,
  openDatabase,
  sqliteCode,
} from "./database.ts";
import { renameSync, rmSync } from "node:fs";
import { equal, hash as sha256 } from "@idk/storage/blobs";
import { HashFilter } from "./hash-filter.ts";
import { MIGRATIONS } from "./schema.ts";

/** Where a piece, a node or a piece list is stored. */
export interface PiecePlace {
  readonly pack: number;
  readonly offset: number;
  readonly stored: number;
  readonly length: number;
  readonly encoding: number;
}

export interface Pack {
  readonly id: number;
  /** 64 bytes. */
  readonly row: Uint8Array;
  /** When it was stored, by the store's time, in milliseconds. */
  readonly stored: number;
  /** Whether the committed state holds it. Otherwise it is of an interrupted session. */
  readonly isCommitted: boolean;
}

/** What a session ended with. */
export interface SessionState {
  /** The marker whose listing makes it the committed one. */
  readonly marker: Uint8Array;
  /** What the writer keeps, such as the reach. */
  readonly value: Uint8Array;
}

export interface PreparedState extends SessionState {
  /** Whether only packs are committed with it, and the records stay: the session goes on. */
  readonly isPart: boolean;
}

/** Collects the records of a walk. */
export interface NextRecords {
  add(record: CacheRecord): void;
}

/**
 * What a host remembers between the sessions of one chain, in SQLite. One process has it at a time.
 * It holds no secret that opens anything, and after a commit nothing of files that are gone.
 *
 * A session adds packs as it stores them, collects the records of its walk, prepares its state before
 * it puts the marker, and commits once a listing shows the marker. A process that dies in between
 * leaves either state whole, and the packs that it stored.
 */
export interface Cache {
  /** Why an earlier cache could not be used; it was renamed. */
  readonly setAside: string | undefined;
  readonly committed: SessionState | undefined;
  /** Of a session that ended before it saw its marker listed: commit it if a listing shows it now. */
  readonly prepared: PreparedState | undefined;
  /** The committed records in the order of the walk: all, or one of them and those that follow. */
  records(from?: StoredRecord): Generator<StoredRecord>;

  /** Stores a session key blob, before the session's first pack. */
  addSession(id: Uint8Array, key: Uint8Array): void;
  sessionKey(id: Uint8Array): Uint8Array | undefined;
  /** A number for a pack, which none has had. */
  newPack(): number;
  /**
   * Notes where a piece is going to be stored, once its pack is. It counts as used once. Without its
   * pack it is forgotten when the next session begins.
   *
   * @param items of a piece list
   */
  addPiece(hash: Uint8Array, place: PiecePlace, items?: Uint8Array): void;
  /**
   * Notes a pack that is stored. A process that is killed may lose what it noted in the last second;
   * those packs are then stored again.
   */
  addPack(id: number, row: Uint8Array, stored: number): void;
  pack(id: number): Pack | undefined;
  packs(): Generator<Pack>;
  piece(hash: Uint8Array): PiecePlace | undefined;
  /** What a piece list lists, by where it is. */
  listAt(pack: number, offset: number): Uint8Array | undefined;

  /** Begins the records of a new state. Forgets a prepared one. */
  begin(): NextRecords;
  /** What is stored at a place is used once more (1), or once less (−1), than in the committed state. */
  use(place: Pick<PiecePlace, "pack" | "offset">, change: 1 | -1): void;
  /**
   * Makes the new state ready, durably. A part leaves the records and uses as they are, so that the
   * session goes on.
   *
   * @param packs the numbers of all packs that it needs
   */
  prepare(state: SessionState, packs: Iterable<number>, isPart?: boolean): void;
  /**
   * Makes the prepared state the committed one.
   *
   * @param sessions those whose packs it needs; of a part all stay
   */
  commit(sessions: Iterable<Uint8Array>): void;
  /** Forgets the prepared state. */
  discard(): void;
  close(): void;
}

/** Another process has the cache. */
export class CacheInUse extends Error {
  override readonly name = "CacheInUse";
}

/** A chunk of records ends after a name that its hash chooses, or before it is longer than this. */
const CHUNK_MAX = 2 ** 18;
const CHUNK_MIN = 2 ** 15;
/** One name in so many ends a chunk, so that one new file changes one chunk and not all that follow. */
const CHUNK_ONE_IN = 512;
/** How long what is noted may wait to be written. */
const BATCH_MS = 1000;

/**
 * Opens a cache, or makes it. One that cannot be used is set aside first.
 *
 * @param path of the database; other names are made by adding to it
 * @throws CacheInUse if another process has it; the error of SQLite if it cannot be used now
 */
export async function openCache(path: string): Promise<Cache> {
  try {
    return await openOne(path);
  } catch (error) {
    if (!(error instanceof UnusableCache)) throw error;
    return await openOne(path, `${error.message}; ${setCacheAside(path)}`);
  }
}

async function openOne(path: string, setAside?: string): Promise<Cache> {
  const database = await openDatabase(path);
  try {
    prepareDatabase(database);
    return cacheOver(database, setAside);
  } catch (error) {
    database.close();
    const code = sqliteCode(error);
    if (code !== BUSY && code !== LOCKED) throw error;
    throw new CacheInUse("another backup under this name is running on this host");
  }
}

/**
 * Renames a cache that cannot be used, after it was closed. One is kept: it has the names of files.
 *
 * @returns a message about it
 */
export function setCacheAside(path: string): string {
  const aside = `${path}.set-aside`;
  renameSync(path, aside);
  for (const suffix of ["-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true });
  return `it is now ${aside}, which has the names of files and can be deleted`;
}

function prepareDatabase(database: Database): void {
  // What is deleted is overwritten: nothing of files that are gone stays in free pages.
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  database.exec("PRAGMA secure_delete = ON");
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = NORMAL");
  // Pieces come in the order of their hashes, which is none: 8 MiB of pages stay in memory, and are
  // written together.
  database.exec("PRAGMA cache_size = -8192");
  database.exec("PRAGMA wal_autocheckpoint = 8192");
  database.exec("BEGIN EXCLUSIVE");
  const version = Number(database.prepare("PRAGMA user_version").all()[0]?.["user_version"]);
  if (version > MIGRATIONS.length) throw new UnusableCache(`it is of version ${version}`);
  for (const sql of MIGRATIONS.slice(version)) database.exec(sql);
  if (version < MIGRATIONS.length) database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  database.exec("COMMIT");
}

function cacheOver(database: Database, setAside: string | undefined): Cache {
  const statements = {
    states: database.prepare("SELECT id, marker, value FROM states WHERE status = ?"),
    chunk: database.prepare(
      `SELECT chunk, bytes FROM records LEFT JOIN chunks ON chunks.hash = records.chunk
       WHERE state = ? AND number = ?`,
    ),
    addRecords: database.prepare("INSERT INTO records VALUES (?, ?, ?)"),
    addChunk: database.prepare("INSERT OR IGNORE INTO chunks VALUES (?, ?)"),
    addSession: database.prepare("INSERT OR REPLACE INTO sessions VALUES (?, ?)"),
    session: database.prepare("SELECT key FROM sessions WHERE id = ?"),
    addPack: database.prepare("INSERT INTO packs (id, row, stored) VALUES (?, ?, ?)"),
    pack: database.prepare("SELECT * FROM packs WHERE id = ?"),
    packsAfter: database.prepare("SELECT * FROM packs WHERE id > ? ORDER BY id LIMIT 1000"),
    lastPack: database.prepare("SELECT max(id) AS id FROM packs"),
    // The newer place counts: the older is of a pack that cannot be used again.
    addPiece: database.prepare(
      `INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, 1)
       ON CONFLICT (hash) DO UPDATE SET pack = excluded.pack, offset = excluded.offset,
         stored = excluded.stored, length = excluded.length, encoding = excluded.encoding,
         items = excluded.items, uses = 1`,
    ),
    piece: database.prepare(
      "SELECT pack, offset, stored, length, encoding FROM pieces WHERE hash = ?",
    ),
    list: database.prepare("SELECT items FROM pieces WHERE pack = ? AND offset = ?"),
    use: database.prepare(
      `INSERT INTO uses VALUES (?, ?, ?)
       ON CONFLICT (pack, offset) DO UPDATE SET change = change + excluded.change`,
    ),
    keep: database.prepare("INSERT OR IGNORE INTO kept VALUES (?)"),
    prepareState: database.prepare("INSERT INTO states VALUES (?, ?, ?, ?)"),
    commitPart: database.prepare(
      `INSERT INTO states VALUES (?, 'committed', ?, ?)
       ON CONFLICT (id) DO UPDATE SET marker = excluded.marker, value = excluded.value`,
    ),
    allSessions: database.prepare("SELECT id FROM sessions"),
    dropSession: database.prepare("DELETE FROM sessions WHERE id = ?"),
  };
  let nextChunk = new Uint8Array(CHUNK_MAX);
  let nextView = new DataView(nextChunk.buffer);
  let [filled, number] = [0, 0];

  const stateOf = (status: string): (SessionState & { readonly id: number }) | undefined => {
    const [row] = statements.states.all(status);
    if (row === undefined) return undefined;
    return { id: Number(row["id"]), marker: bytesOf(row["marker"]), value: bytesOf(row["value"]) };
  };
  const preparedOf = (): PreparedState | undefined => {
    for (const isPart of [false, true]) {
      const state = stateOf(isPart ? "part" : "prepared");
      if (state !== undefined) return { ...state, isPart };
    }
    return undefined;
  };
  const packOf = (row: Row): Pack => ({
    id: Number(row["id"]),
    row: bytesOf(row["row"]),
    stored: Number(row["stored"]),
    isCommitted: row["held"] !== 0,
  });
  let committed = stateOf("committed");
  let prepared = preparedOf();
  // Pieces whose pack was not stored. There are far fewer packs than pieces: each is looked up, not all
  // pieces looked at.
  database.exec(`DELETE FROM pieces WHERE pack IN (
    WITH RECURSIVE each (pack) AS (
      SELECT min(pack) FROM pieces
      UNION ALL SELECT (SELECT min(pack) FROM pieces WHERE pack > each.pack) FROM each
        WHERE each.pack IS NOT NULL
    )
    SELECT pack FROM each WHERE pack IS NOT NULL AND pack NOT IN (SELECT id FROM packs))`);
  const [any] = database.prepare("SELECT 1 FROM pieces LIMIT 1").all();
  /** Of all pieces; undefined if there were some before. */
  const filter = any === undefined ? new HashFilter() : undefined;
  let lastPack = Number(statements.lastPack.all()[0]?.["id"] ?? 0);
  /** Of the sessions before the running one. */
  let lastEarlier = lastPack;

  let isOpen = false;
  let batchBegan = 0;
  const transaction = <T>(run: () => T): T => {
    endBatch();
    database.exec("BEGIN");
    try {
      const result = run();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      rollBack();
      throw error;
    }
  };
  /** After some errors, such as that of a full disk, SQLite has done it already. */
  const rollBack = (): void => {
    try {
      database.exec("ROLLBACK");
    } catch {}
  };
  /** Records and uses of a session that is not prepared are of no use after a crash: one transaction. */
  const batch = (): void => {
    if (isOpen) return;
    database.exec("BEGIN");
    isOpen = true;
    batchBegan = performance.now();
  };
  const endBatch = (): void => {
    if (!isOpen) return;
    isOpen = false;
    database.exec("COMMIT");
  };
  const durably = (run: () => void): void => {
    endBatch();
    database.exec("PRAGMA synchronous = FULL");
    try {
      transaction(run);
    } finally {
      database.exec("PRAGMA synchronous = NORMAL");
    }
  };
  const nextId = (): number => (committed?.id ?? 0) + 1;
  const forgetNext = (): void => {
    database.exec("DELETE FROM states WHERE status <> 'committed'");
    database.exec(`DELETE FROM records WHERE state <> ${committed?.id ?? 0}`);
    database.exec(UNUSED_CHUNKS);
    // No record that stays has the pieces of an interrupted session.
    database.exec(`DELETE FROM uses;
      DELETE FROM kept;
      UPDATE pieces SET uses = 0 WHERE pack IN (SELECT id FROM packs WHERE held <> 1);`);
  };
  const commitPart = ({ marker, value }: SessionState): void =>
    durably(() => {
      // The number of the state stays, so that the records of the running session stay the next ones.
      statements.commitPart.run(committed?.id ?? 0, marker, value);
      database.exec(`
        UPDATE packs SET held = 2 WHERE held = 0 AND id IN (SELECT pack FROM kept);
        DELETE FROM states WHERE status = 'part';
        DELETE FROM kept;`);
    });
  const commitSnapshot = (sessions: Iterable<Uint8Array>): void => {
    const kept = new Set(Array.from(sessions, (id) => Buffer.from(id).toString("hex")));
    durably(() => {
      database.exec(`
        DELETE FROM states WHERE status = 'committed';
        UPDATE states SET status = 'committed';
        DELETE FROM records WHERE state NOT IN (SELECT id FROM states);
        ${UNUSED_CHUNKS};
        DELETE FROM pieces WHERE pack IN (SELECT id FROM packs WHERE id NOT IN (SELECT pack FROM kept));
        DELETE FROM packs WHERE id NOT IN (SELECT pack FROM kept);
        UPDATE pieces SET uses = uses +
            (SELECT change FROM uses WHERE uses.pack = pieces.pack AND uses.offset = pieces.offset)
          WHERE ${PLACES_CHANGED};
        DELETE FROM pieces WHERE uses <= 0 AND ${PLACES_CHANGED};
        DELETE FROM pieces WHERE uses <= 0
          AND pack IN (SELECT id FROM packs WHERE held <> 1 AND id <= ${lastEarlier});
        UPDATE packs SET held = 1 WHERE held <> 1;
        DELETE FROM uses;
        DELETE FROM kept;`);
      for (const { id } of statements.allSessions.all()) {
        const bytes = bytesOf(id ?? null);
        if (!kept.has(Buffer.from(bytes).toString("hex"))) statements.dropSession.run(bytes);
      }
    });
  };
  const flush = (): void => {
    if (filled === 0) return;
    const bytes = nextChunk.subarray(0, filled);
    const name = sha256(bytes);
    statements.addChunk.run(name, bytes);
    statements.addRecords.run(nextId(), number, name);
    number += 1;
    filled = 0;
  };

  return {
    setAside,
    get committed() {
      return committed;
    },
    get prepared() {
      return prepared;
    },
    *records(from) {
      if (committed === undefined) return;
      let start = from?.start ?? 0;
      for (let at = from?.chunk ?? 0; ; at += 1) {
        const [row] = statements.chunk.all(committed.id, at);
        if (row === undefined) return;
        const bytes = bytesOf(row["bytes"]);
        // What is wrong in a record would be wrong in a snapshot.
        if (!equal(sha256(bytes), bytesOf(row["chunk"])))
          throw new UnusableCache("its records are damaged");
        yield* readRecords(at, bytes, start);
        start = 0;
      }
    },

    addSession: (id, key) => transaction(() => statements.addSession.run(id, key)),
    sessionKey(id) {
      const [row] = statements.session.all(id);
      return row === undefined ? undefined : bytesOf(row["key"]);
    },
    newPack() {
      lastPack += 1;
      return lastPack;
    },
    addPiece(hash, { pack, offset, stored, length, encoding }, items) {
      batch();
      filter?.add(hash);
      statements.addPiece.run(hash, pack, offset, stored, length, encoding, items ?? null);
    },
    addPack(id, row, stored) {
      batch();
      statements.addPack.run(id, row, stored);
      // Hashes are all over the table, so each transaction writes most of its pages.
      if (performance.now() - batchBegan > BATCH_MS) endBatch();
    },
    pack(id) {
      const [row] = statements.pack.all(id);
      return row === undefined ? undefined : packOf(row);
    },
    *packs() {
      for (let last = 0; ;) {
        const rows = statements.packsAfter.all(last);
        if (rows.length === 0) return;
        yield* rows.map((row) => packOf(row));
        last = Number(rows.at(-1)!["id"]);
      }
    },
    piece(hash) {
      if (filter?.mayHave(hash) === false) return undefined;
      return statements.piece.all(hash)[0] as PiecePlace | undefined;
    },
    listAt(pack, offset) {
      const items = statements.list.all(pack, offset)[0]?.["items"] ?? null;
      return items === null ? undefined : bytesOf(items);
    },

    begin() {
      transaction(forgetNext);
      prepared = undefined;
      lastEarlier = lastPack;
      [filled, number] = [0, 0];
      return {
        add(record) {
          batch();
          const length = recordLength(record);
          if (filled + length > nextChunk.length) {
            flush();
            if (length > nextChunk.length) {
              nextChunk = new Uint8Array(length);
              nextView = new DataView(nextChunk.buffer);
            }
          }
          writeRecord(record, nextChunk, nextView, filled);
          const nameAt = filled + RECORD_HEAD;
          const nameEnd = nameAt + nextChunk[filled + NAME_LENGTH_AT]!;
          filled += length;
          if (filled > CHUNK_MIN && endsChunk(nextChunk, nameAt, nameEnd)) flush();
        },
      };
    },
    use({ pack, offset }, change) {
      batch();
      statements.use.run(pack, offset, change);
    },
    prepare({ marker, value }, packs, isPart = false) {
      batch();
      if (!isPart) flush();
      durably(() => {
        for (const pack of packs) statements.keep.run(pack);
        const [id, status] = isPart ? [-1, "part"] : [nextId(), "prepared"];
        statements.prepareState.run(id, status, marker, value);
      });
      prepared = preparedOf();
    },
    commit(sessions) {
      if (prepared === undefined) throw new Error("no state is prepared");
      if (prepared.isPart) commitPart(prepared);
      else commitSnapshot(sessions);
      committed = stateOf("committed");
      prepared = undefined;
      // The log still has pages of the state before.
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    },
    discard() {
      transaction(forgetNext);
      prepared = undefined;
    },
    close() {
      try {
        endBatch();
      } catch {
        // What was noted last is lost, and stored again.
      }
      database.close();
    },
  };
}

/** Of a million pieces, a session that changed a few looks at those. */
const PLACES_CHANGED = "(pack, offset) IN (SELECT pack, offset FROM uses)";
const UNUSED_CHUNKS = "DELETE FROM chunks WHERE hash NOT IN (SELECT chunk FROM records)";

/** By FNV-1a: as even as it has to be, and a microsecond faster than what is secure. */
function endsChunk(bytes: Uint8Array, start: number, end: number): boolean {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return (hash >>> 16) % CHUNK_ONE_IN === 0;
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new UnusableCache("a value is missing");
}
