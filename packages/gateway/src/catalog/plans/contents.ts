import type { Address } from "@idk/storage";
import { CONTENT_DELAY } from "../catalog.ts";
import { eachBatch, inserts, toAddress, toBytes } from "./convert.ts";
import {
  all,
  batches,
  integer,
  list,
  LIST_LIMIT,
  rows,
  statement,
  type Plan,
  type Statement,
  type Value,
} from "../database/port.ts";
import type { ContentRoot, Garbage, ObjectRecord, Part, Seq, Time } from "../records.ts";

/**
 * Adds content roots to an owner.
 *
 * @param isCounted Whether others may have the same roots: those of a copy. An address without a row in
 *   `shared` is in exactly one row of `contents`.
 */
export function* addContents(
  owner: Seq,
  contents: readonly (ContentRoot & { readonly part: number })[],
  isCounted: boolean,
): Plan<void> {
  if (contents.length === 0) return;
  if (isCounted) {
    const addresses = contents.map(({ address }) => address);
    yield* countUses(addresses);
    // What a rebuild imports may have become garbage by what it imported before.
    yield* all(
      ...eachBatch(addresses.map(toBytes), (marks, values) =>
        statement(`DELETE FROM garbage WHERE address IN ${marks}`, ...values),
      ),
    );
  }
  const values = contents.map(({ part, address, size, md5 }, place) => {
    return [owner, part, place, toBytes(address), size, md5];
  });
  yield* all(...inserts("contents", "owner, part, place, address, size, md5", values));
}

function* countUses(addresses: readonly Address[]): Plan<void> {
  const added = new Map<Address, number>();
  for (const address of addresses) added.set(address, (added.get(address) ?? 0) + 1);
  // In one order, because their rows stay locked.
  for (const batch of batches([...added.keys()].toSorted(), LIST_LIMIT)) {
    const { marks, values } = list(batch.map(toBytes));
    const found = yield* rows(
      `SELECT address, COUNT(*) AS uses FROM contents WHERE address IN ${marks} GROUP BY address`,
      ...values,
    );
    const before = new Map(found.map((row) => [toAddress(row["address"]), integer(row["uses"])]));
    const changes: Statement[] = [];
    for (const address of batch) {
      const uses = (before.get(address) ?? 0) + added.get(address)!;
      if (uses === 1) continue;
      changes.push(
        statement(
          `INSERT INTO shared (address, uses) VALUES (?, ?)
           ON CONFLICT (address) DO UPDATE SET uses = shared.uses + ?`,
          toBytes(address),
          uses,
          added.get(address)!,
        ),
      );
    }
    if (changes.length > 0) yield* all(...changes);
  }
}

/** Removes an owner's content roots and parts. What nobody else has becomes garbage. */
export function removeContents(owner: Seq, now: Time): Plan<void> {
  return removeWhere("owner = ?", [owner], now);
}

/** The same for some of the parts, by number. */
export function* removeParts(owner: Seq, now: Time, numbers: readonly number[]): Plan<void> {
  for (const batch of batches(numbers, LIST_LIMIT)) {
    const { marks, values } = list(batch);
    yield* removeWhere(`owner = ? AND part IN ${marks}`, [owner, ...values], now);
  }
}

function* removeWhere(which: string, values: readonly Value[], now: Time): Plan<void> {
  yield* all(
    statement(
      `UPDATE shared SET uses = shared.uses - gone.uses
       FROM (SELECT address, COUNT(*) AS uses FROM contents WHERE ${which} GROUP BY address) AS gone
       WHERE shared.address = gone.address`,
      ...values,
    ),
    statement(
      `INSERT INTO garbage (address, kind, due)
       SELECT DISTINCT contents.address, 1, CAST(? AS BIGINT)
       FROM contents LEFT JOIN shared ON shared.address = contents.address
       WHERE ${which} AND (shared.uses IS NULL OR shared.uses <= 0)
       ON CONFLICT (address) DO NOTHING`,
      now + CONTENT_DELAY,
      ...values,
    ),
    statement(
      `DELETE FROM shared
       WHERE uses <= 0 AND address IN (SELECT address FROM contents WHERE ${which})`,
      ...values,
    ),
    statement(`DELETE FROM contents WHERE ${which}`, ...values),
    statement(`DELETE FROM parts WHERE ${which.replace("part", "number")}`, ...values),
  );
}

export function insertParts(owner: Seq, parts: readonly Part[]): Statement[] {
  const values = parts.map(({ number, seq, size, etag, time, checksums }) => {
    return [owner, number, seq, size, etag, time, JSON.stringify(checksums)];
  });
  return inserts("parts", "owner, number, seq, size, etag, time, checksums_json", values);
}

/** Queues blobs as garbage. */
export function insertGarbage(garbage: readonly Garbage[]): Statement[] {
  const values = garbage.map(({ address, kind, due }) => {
    return [toBytes(address), kind === "identity" ? 0 : 1, due];
  });
  return inserts("garbage", "address, kind, due", values, "ON CONFLICT (address) DO NOTHING");
}

/**
 * An identity root as garbage. A manifest is due at once; an inline root when no read can need it any more.
 *
 * @param isBuried false if nothing in the store would keep a rebuild from bringing the object back
 */
export function rootGarbage({ root, kind }: ObjectRecord, now: Time, isBuried: boolean): Garbage {
  const isRead = kind === "inline" && isBuried;
  return { address: root, kind: "identity", due: isRead ? now + CONTENT_DELAY : now };
}

/** The content roots as garbage, due when no read can need them any more. */
export function contentGarbage(contents: readonly ContentRoot[], now: Time): Garbage[] {
  return contents.map(({ address }) => ({ address, kind: "content", due: now + CONTENT_DELAY }));
}
