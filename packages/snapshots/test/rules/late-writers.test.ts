/*
 * Owners who change the settings late, by a listing of up to half a grace period ago, beside prunes that are
 * slow, or are killed, and beside readers who store again what was deleted: nothing that anyone has changed is
 * lost, and no revocation is undone.
 */
import { type SettingsHead, joinSettings } from "../../src/rules/joining.ts";
import { START, settingsHistory } from "../support/settings-history.ts";
import { allow, revoke } from "../../src/rules/granting.ts";
import { expect, test } from "bun:test";
import { lineageOf, tipsOf } from "../../src/rules/forks.ts";
import type { Settings } from "../../src/format/records/settings.ts";
import { deathsOf } from "../../src/rules/death.ts";
import fc from "fast-check";
import { nextGeneration } from "../../src/format/names/marker.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const OWNER = writerKeyFromSeed(new Uint8Array(32).fill(1)).writer;
const WEB = writerKeyFromSeed(new Uint8Array(32).fill(2)).writer;
const PATTERNS = ["a", "b"] as const;
/** In ticks of the store's clock. */
const GRACE = 8;
const OWNERS = 3;

const STEP = fc.record({
  what: fc.noBias(
    fc.constantFrom("list", "list", "list", "allow", "revoke", "grace", "prune", "delete"),
  ),
  owner: fc.noBias(fc.nat(OWNERS - 1)),
  wait: fc.noBias(fc.nat(3)),
  pattern: fc.constantFrom(...PATTERNS),
  /** A bit for each head that is to be deleted, and for each that is stored again. */
  deleted: fc.noBias(fc.nat()),
  restored: fc.noBias(fc.nat()),
});

const isOpen = ({ rules }: Settings): boolean =>
  rules.some(({ lastGeneration }) => lastGeneration === null);
const hasBit = (bits: number, place: number): boolean => (bits & (2 ** (place % 31))) !== 0;

/** Heads with the store's times of their markers, and what their writers knew. */
function datedHistory() {
  const it = settingsHistory();
  const times = new Map<SettingsHead, number>();
  const pasts = new Map<SettingsHead, ReadonlySet<SettingsHead>>();
  return {
    it,
    put(settings: Settings, before: readonly SettingsHead[], at: number, now: number) {
      const generations = before.map(({ head }) => head.generation);
      const made = it.put(
        settings,
        before.map(({ marker }) => marker.address),
        nextGeneration(generations, at),
      );
      times.set(made, now);
      pasts.set(made, new Set([made, ...before.flatMap((one) => [...pasts.get(one)!])]));
      return made;
    },
    copy(found: SettingsHead, now: number) {
      const copied = it.copy(found);
      times.set(copied, now);
      pasts.set(copied, pasts.get(found)!);
    },
    knows: (by: SettingsHead, other: SettingsHead) => pasts.get(by)!.has(other),
    /** What a prune that begins now is to delete. */
    dead(now: number): SettingsHead[] {
      const heads = it.heads.map((found) => ({ ...found, storedAt: times.get(found)! }));
      const deathOf = deathsOf({
        heads,
        refused: [],
        forgettings: [],
        owner: OWNER,
        grace: GRACE,
      });
      return it.heads.filter(({ marker }) => deathOf(marker) <= now);
    },
  };
}

test("owners who write late lose nothing beside prunes, and undo no revocation", () => {
  let deletions = 0;
  let lateHeads = 0;
  fc.assert(
    fc.property(fc.array(STEP, { minLength: 20, maxLength: 60, size: "max" }), (steps) => {
      const { it, put, copy, knows, dead } = datedHistory();
      let now = 100;
      const rule = (pattern: string) => ({ writer: WEB, pattern, mayForget: false });
      put(allow(START, rule("a")), [], now, now);
      const listings: (
        | { readonly heads: readonly SettingsHead[]; readonly at: number }
        | undefined
      )[] = Array.from({ length: OWNERS }, () => undefined);
      const ends: { readonly by: SettingsHead; readonly last: number }[] = [];
      const gifts = [{ by: it.heads[0]!, pattern: "a" }];
      let doomed: readonly SettingsHead[] = [];
      let longest = START.graceSeconds;
      for (const [i, { what, owner, wait, pattern, deleted, restored }] of steps.entries()) {
        now += wait;
        if (what === "list") listings[owner] = { heads: it.chain(), at: now };
        else if (what === "prune") doomed = dead(now);
        else if (what === "delete") {
          for (const [place, head] of doomed.entries()) {
            if (!hasBit(deleted, place) || !it.heads.includes(head)) continue;
            it.lose(head);
            deletions += 1;
            if (hasBit(restored, place)) copy(head, now);
          }
        } else {
          const listed = listings[owner];
          listings[owner] = undefined;
          // An owner who is later is told that it was.
          if (listed === undefined || now - listed.at > GRACE / 2) continue;
          const lineage = lineageOf(listed.heads);
          const tips = tipsOf(lineage);
          const joined = joinSettings(lineage, tips);
          if (it.chain()[0] !== listed.heads[0]) lateHeads += 1;
          if (tips.length > 1) {
            put(joined, tips, 0, now);
          } else if (what === "allow") {
            gifts.push({ by: put(allow(joined, rule(pattern)), tips, listed.at, now), pattern });
          } else if (what === "revoke" && isOpen(joined)) {
            const last = 1000 - i;
            ends.push({ by: put(revoke(joined, WEB, last), tips, listed.at, now), last });
          } else {
            longest += 1;
            put({ ...joined, graceSeconds: longest }, tips, listed.at, now);
          }
        }
      }
      const { rules, graceSeconds } = it.join(...it.tips());
      expect(graceSeconds).toBe(longest);
      for (const pattern of PATTERNS) {
        const last = rules.find((one) => one.pattern === pattern)?.lastGeneration;
        const given = gifts.filter((gift) => gift.pattern === pattern);
        for (const { by, last: latest } of ends) {
          // Only who knew of the revocation can give the right again.
          if (last === undefined || given.some((gift) => knows(gift.by, by))) continue;
          expect(last ?? Infinity).toBeLessThanOrEqual(latest);
        }
        // A right is lost only by a revocation that its giver did not know of.
        if (given.some((gift) => ends.every(({ by }) => knows(gift.by, by)))) {
          expect(last).toBeNull();
        }
      }
    }),
    { numRuns: 3000 },
  );
  // Both happen.
  expect(deletions).toBeGreaterThan(1000);
  expect(lateHeads).toBeGreaterThan(300);
});
