import { expect, test } from "bun:test";
import type { Catalog, ClaimOptions, Condition } from "../../../src/catalog/catalog.ts";
import type { Bucket, ObjectRecord, Seq, StoredObject } from "../../../src/catalog/records.ts";
import {
  address,
  bytes,
  DAY,
  failureOf,
  garbage,
  inline,
  NOW,
  put,
  putManifest,
  putOf,
  root,
  using,
  type OpenFixture,
} from "./fixture.ts";

const KEY = bytes("key");
const ANY: Condition = { ifMatch: ["*"] };

interface Place {
  readonly catalog: Catalog;
  readonly bucket: Bucket;
}

/** Takes a number for a write that is made of a version; fails unless it gets one. */
async function reserve(
  { catalog, bucket }: Place,
  changes: StoredObject | undefined,
  options: ClaimOptions = {},
  condition?: Condition,
): Promise<Seq> {
  const renews = { seq: await catalog.beginWrite(NOW), started: NOW };
  const given = { renews, changes, reserves: true, ...options };
  const claimed = await catalog.claim(bucket.id, KEY, condition, NOW, given);
  await catalog.endWrites([renews.seq]);
  if (claimed.outcome !== "claimed") throw new Error(claimed.outcome);
  return claimed.seq;
}

async function current({ catalog, bucket }: Place): Promise<StoredObject> {
  return (await catalog.findObject(bucket.id, KEY))!;
}

async function commit(
  { catalog, bucket }: Place,
  seq: Seq,
  more: Parameters<typeof putOf>[3] = {},
  object: Partial<ObjectRecord> = {},
): Promise<string> {
  return (await catalog.commitPut(putOf(bucket, "key", inline(seq, object), more))).outcome;
}

/** A change that leaves the ETag as it is, as most do. */
async function change(place: Place, seq: Seq, changes: StoredObject): Promise<string> {
  return commit(place, seq, { changes, isRegistered: true }, { etag: changes.etag });
}

export function reservationBehaviour(open: OpenFixture): void {
  test(
    "a write with a lower number than a reservation has to take a new one until there is another version",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      await put(catalog, bucket, "key");
      const early = [await catalog.nextSeq(), await catalog.nextSeq(), await catalog.nextSeq()];
      const source = await current(place);
      const seq = await reserve(place, source);
      expect(await commit(place, early[0]!)).toBe("retry");
      expect(await change(place, seq, source)).toBe("stored");
      // Also when what was reserved is what is there.
      expect(await commit(place, early[1]!)).toBe("retry");
      expect(await catalog.counts()).toMatchObject({ writes: 0, claims: 0 });
      await put(catalog, bucket, "key");
      expect(await commit(place, early[2]!)).toBe("superseded");
    }),
  );

  test(
    "only the version that is there can be reserved",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      await put(catalog, bucket, "key");
      const source = await current(place);
      // As another one with the same ETag is not.
      await put(catalog, bucket, "key", { etag: source.etag });
      expect(await failureOf(reserve(place, source))).toMatchObject({ message: "source-changed" });
      await catalog.deleteObject(bucket.id, KEY, { now: NOW });
      expect(await failureOf(reserve(place, source))).toMatchObject({ message: "source-changed" });
      // A write that is made of nothing can be renewed all the same.
      expect(await commit(place, await reserve(place, undefined))).toBe("stored");
    }),
  );

  test(
    "of two changes of a version the other one waits, or takes it over",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      await put(catalog, bucket, "key");
      const source = await current(place);
      const first = await reserve(place, source);
      expect(await failureOf(reserve(place, source))).toMatchObject({ message: "reserved" });
      const second = await reserve(place, source, { isImpatient: true });
      expect(await change(place, first, source)).toBe("retry");
      expect(await failureOf(reserve(place, source))).toMatchObject({ message: "reserved" });
      await catalog.endWrites([second]);
      // It ended without a commit, and was still not undone by the one that it had taken it over from.
      expect(await change(place, first, source)).toBe("retry");
      const third = await reserve(place, source);
      expect(await change(place, third, source)).toBe("stored");
      expect(await change(place, first, source)).toBe("retry");
      expect((await current(place)).seq).toBe(third);
    }),
  );

  test(
    "a write without a sign of life keeps a reservation for a day at most",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      await put(catalog, bucket, "key");
      const source = await current(place);
      const seq = await reserve(place, source);
      await catalog.purge(NOW + DAY);
      expect(await change(place, seq, source)).toBe("expired");
      await reserve(place, source);
    }),
  );

  test(
    "a claim outlives a change, with a new number and if its condition still holds",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      const { etag } = await put(catalog, bucket, "key");
      const claim = await catalog.claim(bucket.id, KEY, { ifMatch: [etag] }, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      const source = await current(place);
      const seq = await reserve(place, source);
      const claimed = { isClaimed: true, isRegistered: true };
      expect(await commit(place, claim.seq, claimed)).toBe("retry");
      expect(await change(place, seq, source)).toBe("stored");
      expect(await commit(place, claim.seq, claimed)).toBe("retry");
      const other = await catalog.claim(bucket.id, KEY, ANY, NOW);
      expect(other.outcome).toBe("conflict");
      const renews = { seq: claim.seq, started: NOW };
      const again = async (condition: Condition) =>
        catalog.claim(bucket.id, KEY, condition, NOW, { renews, reserves: true });
      expect((await again({ ifMatch: ["other"] })).outcome).toBe("failed");
      const renewed = await again({ ifMatch: [etag] });
      if (renewed.outcome !== "claimed") throw new Error(renewed.outcome);
      expect(await commit(place, renewed.seq, claimed)).toBe("stored");
    }),
  );

  test.each([true, false])(
    "a change beside a claim with a higher number, the ETag stays: %p",
    (stays) =>
      using(open, async (place) => {
        const { catalog, bucket } = place;
        await put(catalog, bucket, "key");
        const source = await current(place);
        const etag = stays ? source.etag : "other";
        for (const isDone of [false, true]) {
          const seq = await reserve(place, await current(place));
          const claim = await catalog.claim(bucket.id, KEY, ANY, NOW);
          if (claim.outcome !== "claimed") throw new Error(claim.outcome);
          const claimed = { isClaimed: true, isRegistered: true };
          if (isDone) expect(await commit(place, claim.seq, claimed)).toBe("stored");
          const outcome = await commit(place, seq, { changes: source }, { etag });
          expect(outcome).toBe(stays ? (isDone ? "superseded" : "stored") : "retry");
          await catalog.releaseClaim(bucket.id, KEY, claim.seq, NOW);
          await put(catalog, bucket, "key", { etag: source.etag });
        }
      })(),
  );

  test(
    "a change beside a conditional deletion with a higher number finds nothing",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      await put(catalog, bucket, "key");
      const source = await current(place);
      const seq = await reserve(place, source);
      // A change would have given it another time.
      const condition = { ifTime: source.time };
      expect((await catalog.deleteObject(bucket.id, KEY, { condition, now: NOW })).outcome).toBe(
        "deleted",
      );
      expect(await change(place, seq, source)).toBe("retry");
      expect(await failureOf(reserve(place, source))).toMatchObject({ message: "source-changed" });
    }),
  );

  test(
    "a change has content of its own, or shares that of its version",
    using(open, async (place) => {
      const { catalog, bucket } = place;
      await putManifest(catalog, bucket, "key", ["x"]);
      const source = await current(place);
      const contents = [{ ...root("x"), part: 1 }];
      const kind = "manifest";
      const shares = { changes: source, source, contents };
      expect(await commit(place, await reserve(place, source), shares, { kind })).toBe("stored");
      expect(await garbage(catalog)).toEqual([source.root]);
      const changes = await current(place);
      const own = { changes, contents: [{ ...root("y"), part: 1 }] };
      const late = await reserve(place, changes);
      await put(catalog, bucket, "key");
      expect(await commit(place, late, own, { kind })).toBe("superseded");
      expect(await garbage(catalog)).toContain(address("x"));
      expect(await garbage(catalog)).toContain(address("y"));
    }),
  );
}
