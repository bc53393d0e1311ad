import { markLock, locked } from "./convert.ts";
import {
  all,
  integer,
  rows,
  statement,
  type Dialect,
  type Plan,
  type Row,
} from "../database/port.ts";
import type { Lineage, Mark, Seq } from "../records.ts";

/** How many marks a catalog remembers. */
const MARKS_KEPT = 64;

/** Makes the row that tells catalogs apart, unless it is there. */
export function* beginLineage(uuid: string): Plan<void> {
  yield* rows(
    "INSERT INTO facts (id, uuid, is_complete, settled_seq) VALUES (1, ?, 1, 0) ON CONFLICT (id) DO NOTHING",
    uuid,
  );
}

export function* lineage(): Plan<Lineage> {
  const [row] = yield* rows(
    `SELECT uuid, store, is_complete, settled_seq, snapshot_seq, snapshot_time, snapshot_name
     FROM facts WHERE id = 1`,
  );
  const { uuid, store, is_complete, settled_seq, snapshot_seq, snapshot_time, snapshot_name } =
    row!;
  return {
    uuid: uuid as string,
    store: (store as string | null) ?? undefined,
    isComplete: integer(is_complete) === 1,
    settled: integer(settled_seq),
    snapshot:
      snapshot_name === null
        ? undefined
        : {
            seq: integer(snapshot_seq),
            time: integer(snapshot_time),
            name: snapshot_name as string,
          },
  };
}

export function* recordSnapshot({ seq, time, name }: NonNullable<Lineage["snapshot"]>): Plan<void> {
  yield* rows(
    `UPDATE facts SET snapshot_seq = ?, snapshot_time = ?, snapshot_name = ?
     WHERE id = 1 AND (snapshot_seq IS NULL OR snapshot_seq < ?)`,
    seq,
    time,
    name,
    seq,
  );
}

export function* setComplete(isComplete: boolean): Plan<void> {
  yield* rows("UPDATE facts SET is_complete = ? WHERE id = 1", isComplete ? 1 : 0);
}

/** Returns the store that it is bound to now: the given one, unless there was one. */
export function* bindStore(store: string): Plan<string> {
  const [, bound] = yield* all(
    statement("UPDATE facts SET store = ? WHERE id = 1 AND store IS NULL", store),
    statement("SELECT store FROM facts WHERE id = 1"),
  );
  return bound![0]!["store"] as string;
}

export function* settle(dialect: Dialect, seq: Seq): Plan<void> {
  yield* all(
    statement("UPDATE facts SET settled_seq = ? WHERE id = 1 AND settled_seq < ?", seq, seq),
    { sql: dialect.raiseSeq, values: [seq] },
  );
}

export function* addMark(dialect: Dialect, nonce: string, skipped: number): Plan<number> {
  const [found] = yield* locked(
    dialect,
    [markLock()],
    [statement("SELECT number FROM marks WHERE number > 0 ORDER BY number DESC LIMIT 1")],
  );
  const number = found!.length === 0 ? 1 : integer(found![0]!["number"]) + 1;
  yield* all(...insertMark({ number, nonce }));
  if (skipped > 0) {
    const [highest] = yield* rows(dialect.highestSeq);
    yield* rows(dialect.raiseSeq, integer(highest!["seq"]) + skipped);
  }
  return number;
}

export function* importMark(mark: Mark): Plan<void> {
  yield* all(...insertMark(mark));
}

function insertMark({ number, nonce }: Mark) {
  return [
    statement(
      "INSERT INTO marks (number, nonce) VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET nonce = excluded.nonce",
      number,
      nonce,
    ),
    statement("DELETE FROM marks WHERE number <= ?", number - MARKS_KEPT),
  ];
}

export function* listMarks(): Plan<readonly Mark[]> {
  const found: readonly Row[] = yield* rows(
    "SELECT number, nonce FROM marks WHERE number > 0 ORDER BY number",
  );
  return found.map((row) => ({ number: integer(row["number"]), nonce: row["nonce"] as string }));
}
