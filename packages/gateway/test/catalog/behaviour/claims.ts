import { expect, test } from "bun:test";
import { CLAIM_EXPIRY, type Condition } from "../../../src/catalog/catalog.ts";
import {
  bytes,
  DAY,
  garbage,
  inline,
  NOW,
  put,
  putOf,
  SECOND,
  using,
  type OpenFixture,
} from "./fixture.ts";

const NONE: Condition = { ifNoneMatch: ["*"] };
const KEY = bytes("key");

export function claimBehaviour(open: OpenFixture): void {
  test(
    "of 64 conditional writes at once one wins, over two catalogs",
    using(open, async ({ catalog, bucket, reopen }) => {
      const catalogs = [catalog, await reopen()];
      for (const key of ["one", "two", "three"]) {
        const outcomes = await Promise.all(
          Array.from({ length: 64 }, async (_, i) => {
            const writer = catalogs[i % 2]!;
            const claim = await writer.claim(bucket.id, bytes(key), NONE, NOW);
            if (claim.outcome !== "claimed") return claim.outcome;
            const object = inline(claim.seq);
            return (await writer.commitPut(putOf(bucket, key, object, { isClaimed: true })))
              .outcome;
          }),
        );
        expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
        const refused = outcomes.filter(
          (outcome) => outcome === "conflict" || outcome === "failed",
        );
        expect(refused).toHaveLength(63);
        // No refused write has stored anything.
        expect(await garbage(catalog)).toEqual([]);
      }
    }),
  );

  test(
    "checks the condition before it claims",
    using(open, async ({ catalog, bucket }) => {
      const claim = async (key: string, condition: Condition) =>
        (await catalog.claim(bucket.id, bytes(key), condition, NOW)).outcome;
      const object = await put(catalog, bucket, "key");
      expect(await claim("key", NONE)).toBe("failed");
      expect(await claim("key", { ifNoneMatch: [object.etag] })).toBe("failed");
      expect(await claim("key", { ifMatch: ["other"] })).toBe("failed");
      expect(await claim("none", { ifMatch: ["*"] })).toBe("absent");
      expect(await claim("key", { ifMatch: ["other", object.etag] })).toBe("claimed");
      expect(await claim("key", { ifMatch: ["*"] })).toBe("conflict");
      const nowhere = await catalog.claim(bucket.id + 1, bytes("key"), NONE, NOW);
      expect(nowhere).toEqual({ outcome: "no-bucket" });
    }),
  );

  test(
    "a write with a lower number than a claim has to take a new one",
    using(open, async ({ catalog, bucket }) => {
      const early = await catalog.nextSeq();
      const claim = await catalog.claim(bucket.id, KEY, NONE, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      expect(await catalog.commitPut(putOf(bucket, "key", inline(early)))).toEqual({
        outcome: "retry",
      });
      const object = inline(claim.seq);
      const committed = await catalog.commitPut(putOf(bucket, "key", object, { isClaimed: true }));
      expect(committed.outcome).toBe("stored");
      // The claim has ended, and so has the write in progress.
      expect(await catalog.oldestWrite(NOW)).toBeUndefined();
      expect((await catalog.claim(bucket.id, KEY, { ifMatch: ["*"] }, NOW)).outcome).toBe(
        "claimed",
      );
    }),
  );

  test(
    "a write with a lower number than a conditional write that is committed has to take a new one",
    using(open, async ({ catalog, bucket }) => {
      const { etag } = await put(catalog, bucket, "key");
      const condition = { ifMatch: [etag] };
      const early = await catalog.nextSeq();
      const commit = async (seq: number) =>
        (await catalog.commitPut(putOf(bucket, "key", inline(seq)))).outcome;
      const claim = await catalog.claim(bucket.id, KEY, condition, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      const object = inline(claim.seq);
      await catalog.commitPut(putOf(bucket, "key", object, { isClaimed: true }));
      // It was not there when the condition held, so it comes after it, and must not be lost.
      expect(await commit(early)).toBe("retry");
      expect((await catalog.counts()).claims).toBe(0);

      const before = await catalog.nextSeq();
      const deleted = await catalog.deleteObject(bucket.id, KEY, {
        condition: { ifMatch: [object.etag] },
        now: NOW,
      });
      expect(deleted.outcome).toBe("deleted");
      expect(await commit(before)).toBe("retry");
      expect(await commit(await catalog.nextSeq())).toBe("stored");
      // Without a condition, it may as well have been there before.
      const last = await catalog.nextSeq();
      await catalog.deleteObject(bucket.id, KEY, { now: NOW });
      expect(await commit(last)).toBe("superseded");
    }),
  );

  test(
    "what a conditional write leaves behind is forgotten when no older write is left",
    using(open, async ({ catalog, bucket }) => {
      const early = await catalog.beginWrite(NOW);
      const claim = await catalog.claim(bucket.id, KEY, NONE, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      await catalog.commitPut(putOf(bucket, "key", inline(claim.seq), { isClaimed: true }));
      const commit = async () =>
        (await catalog.commitPut(putOf(bucket, "key", inline(early)))).outcome;
      const late = NOW + 2 * DAY;
      await catalog.beat([early], late);
      await catalog.purge(late);
      expect(await commit()).toBe("retry");
      await catalog.endWrites([early]);
      await catalog.purge(late);
      expect(await commit()).toBe("superseded");
    }),
  );

  test(
    "a claim that is given back still refuses writes older than an earlier conditional write",
    using(open, async ({ catalog, bucket }) => {
      const early = await catalog.beginWrite(NOW);
      const claim = async (condition: Condition) => {
        const claimed = await catalog.claim(bucket.id, KEY, condition, NOW);
        if (claimed.outcome !== "claimed") throw new Error(claimed.outcome);
        return claimed.seq;
      };
      const commit = async (seq: number, isClaimed = false) =>
        (await catalog.commitPut(putOf(bucket, "key", inline(seq), { isClaimed }))).outcome;
      const created = await claim(NONE);
      expect(await commit(created, true)).toBe("stored");
      // It took over the claim that the committed write had left behind.
      const failed = await claim({ ifMatch: ["*"] });
      await catalog.releaseClaim(bucket.id, KEY, failed, NOW);
      expect(await commit(early)).toBe("retry");
      expect(await catalog.counts()).toMatchObject({ claims: 0, writes: 1 });
      // It is forgotten with the last older write.
      const late = NOW + 2 * DAY;
      await catalog.beat([early], late);
      await catalog.purge(late);
      expect(await commit(early)).toBe("retry");
      await catalog.endWrites([early]);
      await catalog.purge(late);
      expect(await commit(early)).toBe("superseded");
    }),
  );

  test(
    "a claim is lost to a later write, and to a deletion",
    using(open, async ({ catalog, bucket }) => {
      for (const isDeleted of [false, true]) {
        const condition = isDeleted ? { ifMatch: ["*"] } : NONE;
        const claim = await catalog.claim(bucket.id, KEY, condition, NOW);
        if (claim.outcome !== "claimed") throw new Error(claim.outcome);
        if (isDeleted) await catalog.deleteObject(bucket.id, KEY, { now: NOW });
        else await put(catalog, bucket, "key");
        const object = inline(claim.seq);
        expect(await catalog.commitPut(putOf(bucket, "key", object, { isClaimed: true }))).toEqual({
          outcome: "lost",
        });
        await catalog.releaseClaim(bucket.id, KEY, claim.seq, NOW);
        expect(await catalog.counts()).toMatchObject({ writes: 0 });
      }
      expect(await catalog.findObject(bucket.id, KEY)).toBeUndefined();
    }),
  );

  test(
    "a claim without a sign of life can be taken over, and one with it cannot",
    using(open, async ({ catalog, bucket }) => {
      const claim = await catalog.claim(bucket.id, KEY, NONE, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      const again = async (now: number) => catalog.claim(bucket.id, KEY, NONE, now);
      expect((await again(NOW + CLAIM_EXPIRY - 1)).outcome).toBe("conflict");
      await catalog.beat([claim.seq], NOW + CLAIM_EXPIRY - 1);
      expect((await again(NOW + CLAIM_EXPIRY)).outcome).toBe("conflict");
      const taken = await again(NOW + 2 * CLAIM_EXPIRY);
      if (taken.outcome !== "claimed") throw new Error(taken.outcome);
      const commit = async (seq: number) =>
        (await catalog.commitPut(putOf(bucket, "key", inline(seq), { isClaimed: true }))).outcome;
      expect(await commit(claim.seq)).toBe("lost");
      // The one that lost does not give back what is another's.
      await catalog.releaseClaim(bucket.id, KEY, claim.seq, NOW);
      expect(await commit(taken.seq)).toBe("stored");
    }),
  );

  test(
    "a claim that was given back can be claimed at once",
    using(open, async ({ catalog, bucket }) => {
      const claim = await catalog.claim(bucket.id, KEY, NONE, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      await catalog.releaseClaim(bucket.id, KEY, claim.seq, NOW);
      expect(await catalog.oldestWrite(NOW)).toBeUndefined();
      expect((await catalog.claim(bucket.id, KEY, NONE, NOW)).outcome).toBe("claimed");
    }),
  );

  test(
    "a claim that was given back is not extended by a sign of life that was on its way",
    using(open, async ({ catalog, bucket }) => {
      const claim = async () => catalog.claim(bucket.id, KEY, NONE, NOW);
      for (const beat of [NOW - SECOND, NOW, NOW + SECOND]) {
        const claimed = await claim();
        if (claimed.outcome !== "claimed") throw new Error(claimed.outcome);
        const { seq } = claimed;
        await catalog.releaseClaim(bucket.id, KEY, seq, NOW, { mayHaveRoot: true });
        expect(await catalog.beat([seq], beat)).toEqual(new Set([seq]));
      }
      expect((await claim()).outcome).toBe("claimed");
    }),
  );

  test(
    "a claim that was given back refuses its own write's late commit, and older writes, while that write is known",
    using(open, async ({ catalog, bucket }) => {
      const early = await catalog.beginWrite(NOW);
      const commit = async (seq: number, isClaimed = false) =>
        (await catalog.commitPut(putOf(bucket, "key", inline(seq), { isClaimed }))).outcome;
      const claim = async () => {
        const claimed = await catalog.claim(bucket.id, KEY, NONE, NOW);
        if (claimed.outcome !== "claimed") throw new Error(claimed.outcome);
        return claimed.seq;
      };
      const failed = await claim();
      await catalog.releaseClaim(bucket.id, KEY, failed, NOW, { mayHaveRoot: true });
      expect(await catalog.fateOf(bucket.id, KEY, failed)).toBe("running");
      // Its root would win over an older write at a rebuild.
      await catalog.endWrites([early]);
      await catalog.oldestWrite(NOW + 2 * DAY);
      await catalog.purge(NOW + 2 * DAY);
      expect(await commit(early)).toBe("retry");
      expect(await catalog.fateOf(bucket.id, KEY, failed)).toBe("failed");
      const next = await claim();
      // As of a transaction that the database was still running.
      expect(await commit(failed, true)).toBe("lost");
      expect(await commit(next, true)).toBe("stored");
      expect(await commit(failed, true)).toBe("lost");
    }),
  );

  test(
    "writes in progress are known until they end, or show no sign of life for a day",
    using(open, async ({ catalog, bucket }) => {
      const seqs: number[] = [];
      for (let i = 0; i < 3; i++) seqs.push(await catalog.beginWrite(NOW + i));
      const oldest = { seq: seqs[0]!, started: NOW, beat: NOW };
      expect(await catalog.oldestWrite(NOW)).toEqual(oldest);
      await catalog.beat(seqs.slice(0, 2), NOW + DAY);
      expect(await catalog.oldestWrite(NOW)).toEqual({ ...oldest, beat: NOW + DAY });
      await catalog.commitPut(putOf(bucket, "key", inline(seqs[0]!)));
      expect((await catalog.oldestWrite(NOW))?.seq).toBe(seqs[1]);
      await catalog.endWrites([seqs[1]!]);
      expect((await catalog.oldestWrite(NOW))?.seq).toBe(seqs[2]);
      expect(await catalog.oldestWrite(NOW + DAY + 2)).toBeUndefined();
      await catalog.purge(NOW + DAY + 3);
      expect((await catalog.counts()).writes).toBe(0);
    }),
  );

  test(
    "a registered write is committed only while it is alive",
    using(open, async ({ catalog, bucket }) => {
      const [alive, silent] = [await catalog.beginWrite(NOW), await catalog.beginWrite(NOW)];
      const late = NOW + DAY;
      await catalog.beat([alive], late - 1);
      expect((await catalog.oldestWrite(late))?.seq).toBe(alive);
      // The sweep goes on without the other one, so no sign of life brings it back.
      expect(await catalog.beat([alive, silent], late)).toEqual(new Set([alive]));
      const commit = async (seq: number) =>
        (await catalog.commitPut(putOf(bucket, "key", inline(seq), { isRegistered: true })))
          .outcome;
      expect(await commit(silent)).toBe("expired");
      expect(await catalog.findObject(bucket.id, KEY)).toBeUndefined();
      expect(await commit(alive)).toBe("stored");
      // As if the answer had been lost.
      expect(await commit(alive)).toBe("stored");
      expect(await commit(await catalog.nextSeq())).toBe("expired");
    }),
  );

  test(
    "tells what became of the write of a root",
    using(open, async ({ catalog, bucket }) => {
      const fate = async (seq: number) => catalog.fateOf(bucket.id, KEY, seq);
      const running = await catalog.beginWrite(NOW);
      const foreign = await catalog.nextSeq();
      expect([await fate(running), await fate(foreign)]).toEqual(["running", "unknown"]);
      await catalog.oldestWrite(NOW + DAY);
      expect([await fate(running), await fate(foreign)]).toEqual(["failed", "unknown"]);
      await catalog.forgetDeadWrites(NOW + DAY);
      expect(await fate(running)).toBe("unknown");
      const { seq } = await put(catalog, bucket, "key");
      expect([await fate(foreign), await fate(seq)]).toEqual(["replaced", "committed"]);
      await catalog.deleteObject(bucket.id, KEY, { now: NOW });
      expect(await fate(seq)).toBe("replaced");
      await catalog.settle(seq + 1000);
      expect(await catalog.fateOf(bucket.id, bytes("other"), seq + 1000)).toBe("failed");
      expect(await catalog.nextSeq()).toBeGreaterThan(seq + 1000);
    }),
  );

  test(
    "a snapshot names the writes that it may not have",
    using(open, async ({ catalog, bucket, reopen }) => {
      const other = await reopen();
      const claim = await catalog.claim(bucket.id, KEY, NONE, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      const begun = await Promise.all(
        Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? catalog : other).beginWrite(NOW)),
      );
      const [{ seq, writes, began }, ...later] = await Promise.all([
        catalog.beginSnapshot(NOW),
        ...Array.from({ length: 10 }, () => other.beginWrite(NOW)),
      ]);
      const lower = [claim.seq, ...begun, ...later].filter((write) => write < seq);
      expect([...writes]).toEqual(lower.toSorted((a, b) => a - b));
      expect(began).toBe(NOW);
      await catalog.oldestWrite(NOW + DAY);
      const empty = await catalog.beginSnapshot(NOW + DAY);
      expect([empty.writes, empty.began]).toEqual([[], undefined]);
    }),
  );

  test(
    "a claim outlives its expiry against older writes, as long as its write is known",
    using(open, async ({ catalog, bucket }) => {
      const early = await catalog.nextSeq();
      const claim = await catalog.claim(bucket.id, KEY, NONE, NOW);
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      await catalog.oldestWrite(NOW + 2 * DAY);
      await catalog.purge(NOW + 2 * DAY);
      const commit = async () =>
        (await catalog.commitPut(putOf(bucket, "key", inline(early)))).outcome;
      expect(await commit()).toBe("retry");
      await catalog.forgetDeadWrites(NOW + 2 * DAY);
      await catalog.purge(NOW + 2 * DAY);
      expect(await commit()).toBe("stored");
    }),
  );

  test(
    "a lease has one holder at a time",
    using(open, async ({ catalog, reopen }) => {
      const other = await reopen();
      const takes = await Promise.all(
        Array.from({ length: 16 }, (_, i) =>
          (i % 2 === 0 ? catalog : other).takeLease("sweep", `holder ${i}`, NOW, 1000),
        ),
      );
      expect(takes.filter(Boolean)).toHaveLength(1);
      const holder = `holder ${takes.indexOf(true)}`;
      expect(await other.takeLease("sweep", holder, NOW + 900, 1000)).toBe(true);
      expect(await catalog.takeLease("sweep", "x", NOW + 1000, 1000)).toBe(false);
      expect(await catalog.takeLease("other", "x", NOW, 1000)).toBe(true);
      expect(await catalog.takeLease("sweep", "x", NOW + 1900, 1000)).toBe(true);
      await catalog.endLease("sweep", holder);
      expect(await catalog.takeLease("sweep", holder, NOW + 1900, 1000)).toBe(false);
      await catalog.endLease("sweep", "x");
      expect(await catalog.takeLease("sweep", holder, NOW + 1900, 1000)).toBe(true);
    }),
  );

  test(
    "forgets tombstones a day after they were stored, unless an older write is in progress",
    using(open, async ({ catalog, bucket }) => {
      const early = await catalog.beginWrite(NOW);
      const deleted = await catalog.deleteObject(bucket.id, KEY, { now: NOW });
      if (deleted.outcome !== "deleted") throw new Error(deleted.outcome);
      const late = NOW + 2 * DAY;
      await catalog.beat([early], late);
      await catalog.confirmTombstones([deleted.tombstone.seq]);
      await catalog.purge(late);
      const commit = async () =>
        (await catalog.commitPut(putOf(bucket, "key", inline(early)))).outcome;
      expect(await commit()).toBe("superseded");
      await catalog.endWrites([early]);
      await catalog.purge(NOW + DAY);
      expect(await commit()).toBe("superseded");
      await catalog.purge(NOW + DAY + 1);
      expect(await commit()).toBe("stored");
    }),
  );

  test(
    "a write whose process died keeps no tombstone for longer than a day, though nothing sweeps",
    using(open, async ({ catalog, bucket }) => {
      const silent = await catalog.beginWrite(NOW);
      const deleted = await catalog.deleteObject(bucket.id, KEY, { now: NOW });
      if (deleted.outcome !== "deleted") throw new Error(deleted.outcome);
      await catalog.confirmTombstones([deleted.tombstone.seq]);
      await catalog.purge(NOW + 2 * DAY);
      const put = putOf(bucket, "key", inline(silent), { isRegistered: true });
      expect((await catalog.commitPut(put)).outcome).toBe("expired");
      // What is older than nothing known is stored.
      expect((await catalog.commitPut(putOf(bucket, "key", inline(silent)))).outcome).toBe(
        "stored",
      );
    }),
  );
}
