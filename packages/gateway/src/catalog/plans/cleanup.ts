import type { Address } from "@idk/storage";
import { COMPLETED_KEPT, WRITE_EXPIRY, type Counts } from "../catalog.ts";
import { eachBatch, toAddress, toBytes } from "./convert.ts";
import {
  all,
  batches,
  integer,
  list,
  LIST_LIMIT,
  rows,
  statement,
  type Plan,
  type Row,
  type Statement,
} from "../database/port.ts";
import { endSilentWrites } from "./writes.ts";
import type { Garbage, Seq, Time, Tombstone } from "../records.ts";

/** How many rows one statement removes. */
const SOME = 1000;
/** Where counting stops. */
const COUNTED = 100_000;

function* run(statements: readonly Statement[]): Plan<void> {
  if (statements.length > 0) yield* all(...statements);
}

export function* dueGarbage(
  now: Time,
  limit: number,
  after: Garbage | undefined,
): Plan<readonly Garbage[]> {
  const found = yield* rows(
    `SELECT address, kind, due FROM garbage
     WHERE due <= ? AND (due, address) > (CAST(? AS BIGINT), ?)
       AND NOT EXISTS (SELECT 1 FROM contents WHERE contents.address = garbage.address)
       AND NOT EXISTS (SELECT 1 FROM objects WHERE objects.root = garbage.address)
     ORDER BY due, address LIMIT ?`,
    now,
    after?.due ?? -1,
    after === undefined ? new Uint8Array(0) : toBytes(after.address),
    limit,
  );
  return found.map((row) => ({
    address: toAddress(row["address"]),
    kind: integer(row["kind"]) === 0 ? "identity" : "content",
    due: integer(row["due"]),
  }));
}

export function* confirmGarbage(addresses: readonly Address[]): Plan<void> {
  yield* run(
    eachBatch(addresses.map(toBytes), (marks, values) =>
      statement(`DELETE FROM garbage WHERE address IN ${marks}`, ...values),
    ),
  );
}

export function* findKnown(
  addresses: readonly Address[],
  includesGarbage: boolean,
): Plan<ReadonlySet<Address>> {
  const known = new Set<Address>();
  for (const batch of batches(addresses.map(toBytes), LIST_LIMIT)) {
    const { marks, values } = list(batch);
    const named = [
      statement(`SELECT root AS address FROM objects WHERE root IN ${marks}`, ...values),
      statement(`SELECT DISTINCT address FROM contents WHERE address IN ${marks}`, ...values),
    ];
    const garbage = statement(`SELECT address FROM garbage WHERE address IN ${marks}`, ...values);
    const results = yield* all(...named, ...(includesGarbage ? [garbage] : []));
    for (const row of results.flat()) known.add(toAddress(row["address"]));
  }
  return known;
}

export function* pendingTombstones(after: Seq, limit: number): Plan<readonly Tombstone[]> {
  const found = yield* rows(
    `SELECT bucket, bucket_name, key, seq, time FROM tombstones
     WHERE is_stored = 0 AND seq > ? ORDER BY seq LIMIT ?`,
    after,
    limit,
  );
  return found.map((row) => ({
    bucket: integer(row["bucket"]),
    bucketName: row["bucket_name"] as string,
    key: row["key"] as Uint8Array,
    seq: integer(row["seq"]),
    time: integer(row["time"]),
  }));
}

export function* confirmTombstones(seqs: readonly Seq[]): Plan<void> {
  yield* run(
    eachBatch(seqs, (marks, values) =>
      statement(
        `UPDATE tombstones SET is_stored = 1 WHERE is_stored = 0 AND seq IN ${marks}`,
        ...values,
      ),
    ),
  );
}

export function* takeLease(
  name: string,
  holder: string,
  now: Time,
  duration: number,
): Plan<boolean> {
  const taken = yield* rows(
    `INSERT INTO leases (name, holder, expires) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
     WHERE leases.holder = excluded.holder OR leases.expires <= ? RETURNING name`,
    name,
    holder,
    now + duration,
    now,
  );
  return taken.length > 0;
}

export function* endLease(name: string, holder: string): Plan<void> {
  yield* rows("DELETE FROM leases WHERE name = ? AND holder = ?", name, holder);
}

export function* counts(): Plan<Counts> {
  const count = (table: string, condition = "") =>
    statement(
      `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${table} ${condition} LIMIT ${COUNTED}) AS counted`,
    );
  const results = yield* all(
    count("garbage"),
    count("tombstones", "WHERE is_stored = 0"),
    count("uploads"),
    count("writes", "WHERE is_dead = 0"),
    // Those of committed writes stay for a while.
    count(
      "writes",
      "WHERE is_dead = 0 AND EXISTS (SELECT 1 FROM claims WHERE claims.seq = writes.seq)",
    ),
  );
  const [garbage, tombstones, uploads, writes, claims] = results.map(([row]) => integer(row!["n"]));
  return {
    garbage: garbage!,
    tombstones: tombstones!,
    uploads: uploads!,
    writes: writes!,
    claims: claims!,
  };
}

/**
 * Each a batch of what is out of date. A claim stays as long as its write is known, even a dead one: the
 * root of that may still be in the store, and must not win over an older write that is committed later. That
 * of a write which was committed or given back stays as long as an older write is in progress.
 *
 * @returns whether there may be more
 */
export function* purge(now: Time): Plan<boolean> {
  const old = now - WRITE_EXPIRY;
  // A sweep may never run, or nowhere near as often.
  const [, found] = yield* all(
    endSilentWrites(now),
    statement("SELECT seq FROM writes WHERE is_dead = 0 AND seq > 0 ORDER BY seq LIMIT 1"),
  );
  const [running]: readonly Row[] = found!;
  const oldest = running === undefined ? Number.MAX_SAFE_INTEGER : integer(running["seq"]);
  const removed = yield* all(
    statement(
      `DELETE FROM completed WHERE seq IN
         (SELECT seq FROM completed WHERE completed < ? ORDER BY completed LIMIT ${SOME})
       RETURNING seq`,
      now - COMPLETED_KEPT,
    ),
    statement(
      `DELETE FROM claims WHERE seq IN
         (SELECT seq FROM claims WHERE expires < ? AND seq < ?
            AND NOT EXISTS (SELECT 1 FROM writes WHERE writes.seq = claims.seq)
          ORDER BY expires LIMIT ${SOME})
       RETURNING seq`,
      old,
      oldest,
    ),
    // A tombstone also tells a slow write that it is older than the deletion.
    statement(
      `DELETE FROM tombstones WHERE is_stored = 1 AND time < ? AND seq IN
         (SELECT seq FROM tombstones WHERE is_stored = 1 AND seq < ? ORDER BY seq LIMIT ${SOME})
       RETURNING seq`,
      old,
      oldest,
    ),
  );
  return removed.some((some) => some.length === SOME);
}
