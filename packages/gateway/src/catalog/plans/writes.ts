import { CLAIM_EXPIRY, WRITE_EXPIRY, type Fate } from "../catalog.ts";
import { eachBatch, locked, sequenceLock } from "./convert.ts";
import {
  all,
  integer,
  rows,
  statement,
  type Dialect,
  type NumberedRow,
  type Plan,
  type Statement,
} from "../database/port.ts";
import type { Key, Seq, Time, WriteInProgress } from "../records.ts";

const COLUMNS = ["started", "beat", "upload", "is_dead"] as const;

/** The row of a new write. See `Catalog.beginWrite`. */
export function writeRow(now: Time, upload?: Seq): NumberedRow {
  return {
    table: "writes",
    columns: COLUMNS,
    values: [now, now, upload ?? null, 0],
    lock: sequenceLock(true).id,
  };
}

export function insertWrite(seq: Seq, now: Time, upload?: Seq, started: Time = now): Statement {
  return statement(
    `INSERT INTO writes (seq, ${COLUMNS.join(", ")}) VALUES (?, ?, ?, ?, 0)`,
    seq,
    started,
    now,
    upload ?? null,
  );
}

/** Finds whether a write may still be committed, and keeps it so until the end of the transaction. */
export function selectWrite({ rowLock }: Dialect, seq: Seq): Statement {
  return statement(`SELECT seq FROM writes WHERE seq = ? AND is_dead = 0 ${rowLock}`, seq);
}

export function* beat(seqs: readonly Seq[], now: Time): Plan<ReadonlySet<Seq>> {
  if (seqs.length === 0) return new Set();
  const found = yield* all(
    ...eachBatch(seqs, (marks, values) =>
      statement(
        `UPDATE writes SET beat = ? WHERE is_dead = 0 AND seq IN ${marks} RETURNING seq`,
        now,
        ...values,
      ),
    ),
  );
  const alive = found.flat().map((row) => integer(row["seq"]));
  if (alive.length > 0) {
    yield* all(
      ...eachBatch(alive, (marks, values) =>
        statement(
          // Not one that was given back meanwhile: its write may live on, but anybody may claim the key.
          `UPDATE claims SET expires = ? WHERE expires > ? AND seq IN ${marks}`,
          now + CLAIM_EXPIRY,
          now,
          ...values,
        ),
      ),
    );
  }
  return new Set(alive);
}

export function* endWrites(seqs: readonly Seq[]): Plan<void> {
  if (seqs.length === 0) return;
  yield* all(
    ...eachBatch(seqs, (marks, values) =>
      statement(`DELETE FROM writes WHERE seq IN ${marks}`, ...values),
    ),
  );
}

/** Ends for good what gave no sign of life for so long. */
export function endSilentWrites(now: Time): Statement {
  return statement(
    "UPDATE writes SET is_dead = 1 WHERE is_dead = 0 AND beat <= ?",
    now - WRITE_EXPIRY,
  );
}

export function* oldestWrite(now: Time): Plan<WriteInProgress | undefined> {
  const [, found] = yield* all(
    endSilentWrites(now),
    statement("SELECT seq, started, beat FROM writes WHERE is_dead = 0 ORDER BY started LIMIT 1"),
  );
  const [row] = found!;
  return (
    row && {
      seq: integer(row["seq"]),
      started: integer(row["started"]),
      beat: integer(row["beat"]),
    }
  );
}

export function* forgetDeadWrites(before: Time): Plan<void> {
  yield* rows("DELETE FROM writes WHERE is_dead = 1 AND beat <= ?", before - WRITE_EXPIRY);
}

export function* stopCompletes(upload: Seq): Plan<readonly Seq[]> {
  const found = yield* rows("UPDATE writes SET is_dead = 1 WHERE upload = ? RETURNING seq", upload);
  return found.map((row) => integer(row["seq"]));
}

export function* fateOf(bucket: Seq, key: Key, seq: Seq): Plan<Fate> {
  const [objects, tombstones, writes, facts] = yield* all(
    statement("SELECT seq FROM objects WHERE bucket = ? AND key = ?", bucket, key),
    statement("SELECT seq FROM tombstones WHERE bucket = ? AND key = ?", bucket, key),
    statement("SELECT is_dead FROM writes WHERE seq = ?", seq),
    statement("SELECT settled_seq FROM facts WHERE id = 1"),
  );
  const found = [...objects!, ...tombstones!].map((row) => integer(row["seq"]));
  if (found.some((later) => later > seq)) return "replaced";
  if (found.includes(seq)) return "committed";
  const [write] = writes!;
  if (write !== undefined) return integer(write["is_dead"]) === 1 ? "failed" : "running";
  return seq <= integer(facts![0]!["settled_seq"]) ? "failed" : "unknown";
}

export function* beginSnapshot(
  dialect: Dialect,
  now: Time,
): Plan<{ seq: Seq; writes: readonly Seq[]; began: Time | undefined }> {
  // Whoever took a lower number has registered it once this lock is held.
  yield* locked(dialect, [sequenceLock(false)], []);
  const [next] = yield* rows(dialect.nextSeq);
  const seq = integer(next!["seq"]);
  const [found] = yield* all(
    statement("SELECT seq, started FROM writes WHERE is_dead = 0 AND seq < ? ORDER BY seq", seq),
    insertWrite(seq, now),
  );
  let began: Time | undefined;
  for (const row of found!) began = Math.min(began ?? Infinity, integer(row["started"]));
  return { seq, writes: found!.map((row) => integer(row["seq"])), began };
}
