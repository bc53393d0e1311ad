import { START, type SettingsHistory, settingsHistory } from "../support/settings-history.ts";
import { type SettingsHead, areSame, settingsApart } from "../../src/rules/joining.ts";
import { allow, close, revoke } from "../../src/rules/granting.ts";
import { describe, expect, test } from "bun:test";
import type { Address } from "@idk/storage";
import type { Settings } from "../../src/format/records/settings.ts";
import fc from "fast-check";
import { meetingsOf } from "../../src/rules/forks.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const [web, db] = [2, 3].map((byte) => writerKeyFromSeed(new Uint8Array(32).fill(byte)).writer) as [
  ReturnType<typeof writerKeyFromSeed>["writer"],
  ReturnType<typeof writerKeyFromSeed>["writer"],
];
const rule = (pattern: string, writer = web) => ({ writer, pattern, mayForget: false });
/** The last generation of each rule: `writer pattern`, `-` for one that closes. */
function lasts({ rules }: Settings): Record<string, number | null> {
  const names = new Map<string | null, string>([
    [web, "web"],
    [db, "db"],
    [null, "-"],
  ]);
  return Object.fromEntries(
    rules.map(({ writer, pattern, lastGeneration }) => [
      `${names.get(writer)} ${pattern}`,
      lastGeneration,
    ]),
  );
}

const same = (settings: Settings) => settings;
const letIn =
  (pattern: string, writer = web) =>
  (settings: Settings) =>
    allow(settings, rule(pattern, writer));
const end =
  (last: number, writer = web) =>
  (settings: Settings) =>
    revoke(settings, writer, last);
const shut = (pattern: string, last: number) => (settings: Settings) =>
  close(settings, pattern, last);
const grace = (graceSeconds: number) => (settings: Settings) => ({ ...settings, graceSeconds });

describe("settings that are joined", () => {
  test("have every change, and those of one are as they are", () => {
    const it = settingsHistory();
    const base = it.change(letIn("a"));
    const heads = [
      it.change(letIn("b"), base),
      it.change(letIn("c", db), base),
      it.change(grace(7200), base),
      it.change(shut("old", 50), base),
      it.change(end(40), base),
    ];
    const joined = it.join(...heads);
    expect(joined.graceSeconds).toBe(7200);
    expect(lasts(joined)).toEqual({ "web a": 40, "web b": 40, "db c": null, "- old": 50 });
    expect(it.join(base)).toBe(base.head.settings);
  });

  test("have a right ended that another head left, gave again before, or gave at the same time", () => {
    const it = settingsHistory();
    const base = it.change(letIn("a"));
    const ended = it.change(end(40), base);
    for (const other of [
      it.change(same, base),
      it.change(letIn("a"), base),
      it.change(letIn("a"), it.change(end(30), base)),
    ]) {
      expect(lasts(it.join(ended, other))["web a"]).toBe(40);
    }
    // A right to other names too: what is ended is the key.
    expect(lasts(it.join(ended, it.change(letIn("b"), base)))).toEqual({
      "web a": 40,
      "web b": 40,
    });
    // Also if the head that ended it gave the key another right since.
    const again = it.change(letIn("c"), ended);
    const both = it.join(again, it.change(letIn("b"), base));
    expect(lasts(both)).toEqual({ "web a": 40, "web b": 40, "web c": null });
  });

  test("have a right that the head left that ended another one of the key", () => {
    const it = settingsHistory();
    const base = it.change((settings) => letIn("b")(letIn("a")(settings)));
    const ended = it.change((settings) => letIn("b")(end(40)(settings)), base);
    const other = it.change(letIn("c", db), base);
    expect(lasts(it.join(ended, other))).toEqual({ "web a": 40, "web b": null, "db c": null });
  });

  test("have a right that was given again by a head that knew of its end", () => {
    const it = settingsHistory();
    const base = it.change(end(40), it.change(letIn("a")));
    const again = it.change(letIn("a"), base);
    expect(lasts(it.join(again, it.change(letIn("b", db), base)))).toEqual({
      "web a": null,
      "db b": null,
    });
    // Another head, which only left it ended, has not ended it once more.
    expect(lasts(it.join(again, it.change(end(90), base)))["web a"]).toBeNull();
    // Behind a join, too, also one that two owners have written.
    const [one, two] = [it.change(end(60), again), it.change(grace(9000), again)];
    const [first, second] = [it.joined(one, two), it.joined(one, two)];
    const since = it.change(letIn("a"), first);
    expect(lasts(it.join(since, second))["web a"]).toBeNull();
  });

  test("keep the earliest end and close, and the longest grace period", () => {
    const it = settingsHistory();
    const base = it.change((settings) => shut("old", 80)(letIn("a")(settings)));
    const heads = [
      it.change((settings) => grace(9000)(shut("old", 70)(end(60)(settings))), base),
      it.change((settings) => grace(8000)(shut("old", 60)(end(70)(settings))), base),
    ];
    const joined = it.join(...heads);
    expect(joined.graceSeconds).toBe(9000);
    expect(lasts(joined)).toEqual({ "web a": 60, "- old": 60 });
    // Opened again by one that knew.
    const open = it.change((settings) => ({ ...settings, rules: [] }), base);
    expect(lasts(it.join(open, it.change(same, base)))).toEqual({});
    expect(lasts(it.join(open, it.change(shut("old", 70), base)))).toEqual({ "- old": 70 });
  });

  test("lack a rule that was taken away, whatever others made of it", () => {
    const it = settingsHistory();
    const base = it.change(letIn("a"));
    const none = it.change(() => START, base);
    expect(lasts(it.join(none, it.change(end(40), base)))).toEqual({});
    expect(lasts(it.join(none, it.change(letIn("b", db), base)))).toEqual({ "db b": null });
  });

  test("take nothing from a join that others wrote wrongly but what is stricter", () => {
    const it = settingsHistory();
    const base = it.change(letIn("a"));
    const [ended, given] = [it.change(end(40), base), it.change(letIn("b", db), base)];
    // As of three owners that once changed settings at the same time: it lacks one change.
    const wrong = it.put(given.head.settings, [ended.marker.address, given.marker.address]);
    const right = it.joined(ended, given);
    expect(lasts(it.join(wrong, right))).toEqual({ "web a": 40, "db b": null });
    const strict = it.put(it.join(ended), [ended.marker.address, given.marker.address]);
    expect(lasts(it.join(strict, right))).toEqual({ "web a": 40 });
  });

  test("are the strictest of both if it is not known what came before", () => {
    const it = settingsHistory();
    const base = it.change((settings) => letIn("b", db)(end(40)(letIn("a")(settings))));
    const between = it.change(same, base);
    const ended = it.change((settings) => shut("old", 70)(end(60, db)(settings)), between);
    const again = it.change(letIn("c"), it.change(letIn("a"), base));
    expect(lasts(it.join(ended, again))).toEqual({
      "web a": null,
      "db b": 60,
      "- old": 70,
      "web c": null,
    });
    it.lose(between);
    // Any of it may have been changed by what is gone.
    expect(lasts(it.join(ended, again))).toEqual({ "web a": 40, "db b": 60, "- old": 70 });
  });

  test("are the strictest of both also if one of several that came before is gone", () => {
    const it = settingsHistory();
    const base = it.change(end(40), it.change(letIn("a")));
    const [left, gone] = [it.change(grace(7200), base), it.change(same, base)];
    const [joined, again] = [it.joined(left, gone), it.change(letIn("a"), base)];
    expect(lasts(it.join(joined, again))).toEqual({ "web a": null });
    it.lose(gone);
    expect(lasts(it.join(joined, again))).toEqual({ "web a": 40 });
  });

  test("come after older ones only, whatever they name", () => {
    const it = settingsHistory();
    const base = it.change(letIn("a"));
    const later = "3".padStart(64, "0") as Address;
    const wrong = it.put(base.head.settings, [base.marker.address, later]);
    const newest = it.change(end(40), base);
    expect(newest.marker.address).toBe(later);
    expect(it.tips()).toEqual([newest, wrong]);
    expect(it.lineage().missingOf(wrong)).toEqual([later]);
  });

  test("are found also if what came before them is gone, however late they are seen", () => {
    const it = settingsHistory();
    const base = it.change(letIn("a"));
    const ended = it.change(end(40), base);
    const later = it.change(letIn("b", db), base);
    const newest = it.change(grace(7200), later);
    it.lose(base);
    // Both name what is gone, which is therefore older than both.
    expect(it.tips()).toEqual([newest, ended]);
    expect(settingsApart(it.chain())).toEqual([newest, ended]);
    expect(lasts(it.join(newest, ended))).toEqual({ "web a": 40 });
    // What is gone now may have known of it.
    it.lose(later);
    expect(it.tips()).toEqual([newest]);
  });

  test("are told from others by what they mean", () => {
    const it = settingsHistory();
    const [a, b] = [letIn("a"), letIn("b")];
    expect(areSame(a(b(START)), b(a(START)))).toBe(true);
    // Of rules that are there twice, the one that lets in for longer, or closes earlier, decides.
    const open = [...end(5)(a(START)).rules, ...a(START).rules];
    const closed = [...shut("a", 5)(START).rules, ...shut("a", 6)(START).rules];
    for (const order of [(list: typeof open) => list, (list: typeof open) => list.toReversed()]) {
      expect(areSame({ ...START, rules: order(open) }, a(START))).toBe(true);
      expect(areSame({ ...START, rules: order(closed) }, shut("a", 5)(START))).toBe(true);
    }
    for (const other of [START, end(5)(a(START)), grace(7200)(a(START)), b(START), a(b(START))]) {
      expect(areSame(a(START), other)).toBe(false);
    }
    const base = it.change(a);
    expect(settingsApart(it.chain())).toEqual([]);
    const heads = [it.change(b, base), it.change(b, base)];
    expect(settingsApart(it.chain())).toEqual([]);
    heads.push(it.change(end(40), base));
    expect(settingsApart(it.chain())).toEqual(heads.toReversed());
    it.joined(...heads);
    expect(settingsApart(it.chain())).toEqual([]);
  });
});

/** What an owner may do next: to which of the heads, and what; or join some. */
const STEP = fc.record({
  at: fc.noBias(fc.nat()),
  other: fc.noBias(fc.nat()),
  what: fc.constantFrom("allow", "revoke", "close", "grace", "same", "join", "prune"),
  pattern: fc.constantFrom("a", "b", "c"),
  writer: fc.constantFrom(web, db),
});

/**
 * Deletes some of the heads that are not the newest, as a prune does that is killed, and stores some of these
 * again, as a reader of them can.
 *
 * @param deleted a bit for each head
 * @param restored the same
 */
function killedPrune(
  it: SettingsHistory,
  newest: SettingsHead,
  deleted: number,
  restored: number,
): void {
  for (const [i, head] of it.heads.filter((other) => other !== newest).entries()) {
    const bit = 2 ** (i % 31);
    if ((deleted & bit) === 0) continue;
    it.lose(head);
    if ((restored & bit) !== 0) it.copy(head);
  }
}

test("no end of a right is undone but by a head that knew of it, however heads are joined", () => {
  fc.assert(
    fc.property(fc.array(STEP, { minLength: 2, maxLength: 14 }), (steps) => {
      const it = settingsHistory();
      it.change((settings) => letIn("a", db)(letIn("a")(settings)));
      const pasts = new Map([[it.heads[0]!, new Set(it.heads)]]);
      /** Heads that ended a writer's rights, and those that gave it one. */
      const [ends, gifts]: {
        by: SettingsHead;
        writer: string;
        pattern?: string;
        last: number;
      }[][] = [[], []];
      /** What a prune has left, which all owners have read since. */
      let left = it.heads[0]!;
      for (const [i, { at, other, what, pattern, writer }] of steps.entries()) {
        const written = it.heads.filter((found) => pasts.get(found)?.has(left) === true);
        if (what === "prune") {
          const open = it.tips();
          left = open.length > 1 ? it.joined(...open) : open[0]!;
          const past = new Set([left]);
          for (const tip of open) for (const found of pasts.get(tip)!) past.add(found);
          pasts.set(left, past);
          killedPrune(it, left, at, other);
          expect(it.tips()).toEqual([left]);
          continue;
        }
        const before = written[at % written.length]!;
        const second = written[other % written.length]!;
        const last = 1000 - i;
        const knows = pasts.get(before)!.has(second) || pasts.get(second)!.has(before);
        const isOpen = before.head.settings.rules.some(
          (one) => one.writer === writer && one.lastGeneration === null,
        );
        let made: SettingsHead;
        if (what === "join" && !knows) made = it.joined(before, second);
        else if (what === "allow") made = it.change(letIn(pattern, writer), before);
        else if (what === "revoke" && isOpen) made = it.change(end(last, writer), before);
        else if (what === "close") made = it.change(shut(pattern, last), before);
        else made = it.change(what === "grace" ? grace(4000 + i) : same, before);
        const isJoin = what === "join" && !knows;
        pasts.set(
          made,
          new Set([made, ...pasts.get(before)!, ...(isJoin ? pasts.get(second)! : [])]),
        );
        if (what === "allow") gifts!.push({ by: made, writer, pattern, last });
        if (what === "revoke" && isOpen) ends!.push({ by: made, writer, last });
      }
      const tips = it.tips();
      const joined = it.join(...tips);
      for (const { by, writer, last } of ends!) {
        for (const one of joined.rules.filter((of) => of.writer === writer)) {
          const isGiven = gifts!.some(
            (gift) =>
              gift.writer === writer && gift.pattern === one.pattern && pasts.get(gift.by)!.has(by),
          );
          if (!isGiven) expect(one.lastGeneration ?? Infinity).toBeLessThanOrEqual(last);
        }
      }
      // No right is lost without an end that its giver did not know, or that came later.
      for (const { by, writer, pattern } of gifts!) {
        const one = joined.rules.find((of) => of.writer === writer && of.pattern === pattern);
        const isEnded = ends!.some(
          (other) => other.writer === writer && !pasts.get(by)!.has(other.by),
        );
        if (!isEnded) expect(one?.lastGeneration).toBeNull();
      }
      const graces = it.heads.map(({ head }) => head.settings.graceSeconds);
      expect(joined.graceSeconds).toBe(Math.max(...graces));
      // Nothing else comes of it if others join some of them first.
      const shuffled = tips.toSorted(
        (a, b) => ((a.marker.generation * 7) % 5) - ((b.marker.generation * 7) % 5),
      );
      expect(areSame(it.join(...shuffled), joined)).toBe(true);
      const [first, ...rest] = shuffled;
      let merged = first!;
      for (const tip of rest) merged = it.joined(merged, tip);
      expect(areSame(merged.head.settings, joined)).toBe(true);
      const again = it.joined(...tips);
      expect(areSame(it.join(merged, again), joined)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test("heads that no other is apart from are found as by following each head to those before it", () => {
  const heads = fc.array(fc.array(fc.noBias(fc.nat()), { minLength: 1, maxLength: 2 }), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(heads, fc.option(fc.nat()), (befores, lost) => {
      const it = settingsHistory();
      for (const before of [[], ...befores]) {
        const { heads: all } = it;
        const previous = before.map((at) => all[at % all.length]!.marker.address);
        it.put(START, previous);
      }
      // The oldest is pruned before others.
      if (lost !== null) it.lose(it.heads[0]!);
      const { parentsOf, missingOf } = it.lineage();
      const isAfter = (a: SettingsHead, b: SettingsHead): boolean =>
        parentsOf(a).some((parent) => parent === b || isAfter(parent, b));
      const naming = it.heads.filter((found) => missingOf(found).length > 0);
      const since = Math.min(...naming.map(({ head }) => head.generation));
      const clear = it.heads.filter(({ head }) => naming.length === 0 || head.generation >= since);
      const expected = clear.filter((one) =>
        clear.every((other) => other === one || isAfter(one, other) || isAfter(other, one)),
      );
      expect(new Set(meetingsOf(it.lineage()))).toEqual(new Set(expected));
    }),
    { numRuns: 2000 },
  );
});
