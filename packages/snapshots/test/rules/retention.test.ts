import {
  type DatedSnapshot,
  type RetentionPolicy,
  decideRetention,
} from "../../src/rules/retention.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fails } from "../support.ts";

const at = (text: string, tags: readonly string[] = [], time = text): DatedSnapshot => ({
  storedAt: Date.parse(`${text}Z`),
  time: Date.parse(`${time}Z`),
  tags,
});

/** The times that are kept, and why. Snapshots are given oldest first. */
function kept(
  snapshots: readonly DatedSnapshot[],
  policy: RetentionPolicy,
  options: Parameters<typeof decideRetention>[2] = { isClosed: true },
): Record<string, string> {
  const decisions = decideRetention(snapshots.toReversed(), policy, options);
  return Object.fromEntries(
    decisions
      .filter(({ reasons }) => reasons.length > 0)
      .map(({ snapshot, reasons }) => [
        new Date(snapshot.storedAt).toISOString().slice(0, 16),
        reasons.join(),
      ]),
  );
}

describe("a policy", () => {
  const days = [
    "2026-11-18T08:00",
    "2026-11-18T20:00",
    "2026-11-19T08:00",
    "2026-11-20T08:10",
    "2026-11-20T08:50",
  ];
  const snapshots = days.map((text) => at(text));

  test("keeps the newest", () => {
    expect(kept(snapshots, { last: 2 })).toEqual({ [days[3]!]: "last", [days[4]!]: "last" });
  });

  test("keeps the first of each of the newest hours and days that have any", () => {
    expect(kept(snapshots, { hourly: 2 })).toEqual({ [days[2]!]: "hourly", [days[3]!]: "hourly" });
    expect(kept(snapshots, { daily: 2 })).toEqual({ [days[2]!]: "daily", [days[3]!]: "daily" });
    expect(kept(snapshots, { daily: Infinity })).toEqual({
      [days[0]!]: "daily",
      [days[2]!]: "daily",
      [days[3]!]: "daily",
    });
  });

  test("has weeks that begin on Mondays, months and years in UTC", () => {
    const list = [
      "2025-12-28T23:59",
      "2025-12-29T00:00",
      "2026-01-01T00:00",
      "2026-01-04T23:59",
      "2026-01-05T00:00",
    ];
    const all = list.map((text) => at(text));
    expect(Object.keys(kept(all, { weekly: 9 })).toSorted()).toEqual([
      list[0]!,
      list[1]!,
      list[4]!,
    ]);
    expect(Object.keys(kept(all, { monthly: 9 })).toSorted()).toEqual([list[0]!, list[2]!]);
    expect(Object.keys(kept(all, { yearly: 1 }))).toEqual([list[2]!]);
  });

  test("of before 1970 has periods, too", () => {
    const list = ["1969-12-28T23:59", "1969-12-29T00:00", "1969-12-31T23:00", "1970-01-01T00:00"];
    expect(
      Object.keys(
        kept(
          list.map((text) => at(text)),
          { weekly: 1 },
        ),
      ),
    ).toEqual([list[1]!]);
    expect(
      Object.keys(
        kept(
          list.map((text) => at(text)),
          { yearly: 2 },
        ),
      ).toSorted(),
    ).toEqual([list[0]!, list[3]!]);
  });

  test("keeps what is within a time of the newest, by the calendar", () => {
    const list = ["2026-01-31T11:59", "2026-01-31T12:00", "2026-02-28T12:00", "2026-03-31T12:00"];
    const all = list.map((text) => at(text));
    // A month before March 31 is February 28.
    expect(Object.keys(kept(all, { within: { months: 1 } })).toSorted()).toEqual(list.slice(2));
    expect(Object.keys(kept(all, { within: { months: 2 } })).toSorted()).toEqual(list.slice(1));
    expect(Object.keys(kept(all, { within: { months: 2, hours: 1 } })).length).toBe(4);
    expect(Object.keys(kept(all, { within: { days: 31 } })).toSorted()).toEqual(list.slice(2));
    expect(Object.keys(kept(all, { within: { years: 2 ** 50 } })).length).toBe(4);
  });

  test("keeps what has all tags of a list", () => {
    const all = [at(days[0]!, ["a"]), at(days[1]!, ["a", "b"]), at(days[2]!, ["c"]), at(days[3]!)];
    expect(kept(all, { tags: [["a", "b"], ["c"]] })).toEqual({
      [days[1]!]: "tag",
      [days[2]!]: "tag",
    });
  });

  test("keeps the newest of a chain that is not closed, whatever it says", () => {
    const all = [at(days[0]!, ["a"]), at(days[1]!)];
    expect(kept(all, { tags: [["a"]] }, {})).toEqual({ [days[0]!]: "tag", [days[1]!]: "newest" });
  });

  test("keeps and does not count what has another time than the store's, unless told to go by it", () => {
    // A copied store has one time for all.
    const copied = days.map((text) => at("2026-12-01T00:00", [], text));
    const reasons = (options: object) =>
      decideRetention(copied.toReversed(), { daily: 2 }, { isClosed: true, ...options }).map(
        (decision) => decision.reasons.join(),
      );
    expect(reasons({})).toEqual(days.map(() => "time differs"));
    expect(reasons({ times: "head" })).toEqual(["", "daily", "daily", "", ""]);
    const lying = [at(days[0]!), at(days[3]!, [], "2030-01-01T00:00"), at(days[4]!)];
    expect(kept(lying, { last: 1 })).toEqual({ [days[3]!]: "time differs", [days[4]!]: "last" });
  });

  test("that a thief floods keeps what was there before in each period", () => {
    const good = at("2026-11-20T01:00");
    const flood = Array.from({ length: 500 }, (_, i) =>
      at(new Date(Date.parse("2026-11-20T02:00Z") + i * 60_000).toISOString().slice(0, 16)),
    );
    expect(kept([good, ...flood], { daily: 7 })["2026-11-20T01:00"]).toBe("daily");
  });

  test("keeps no more than its numbers, and the more of them the more", () => {
    const dates = fc.array(fc.integer({ min: 0, max: 400 * 24 }), { maxLength: 60 });
    fc.assert(
      fc.property(dates, fc.nat(5), fc.nat(5), (hours, daily, weekly) => {
        fc.pre(daily + weekly > 0);
        const list = hours
          .toSorted((a, b) => b - a)
          .map((hour) => ({ storedAt: hour * 3_600_000, time: hour * 3_600_000, tags: [] }));
        const keep = (policy: RetentionPolicy) =>
          new Set(
            decideRetention(list, policy, { isClosed: true })
              .filter(({ reasons }) => reasons.length > 0)
              .map(({ snapshot }) => snapshot),
          );
        const some = keep({ daily, weekly });
        expect(some.size).toBeLessThanOrEqual(daily + weekly);
        const more = keep({ daily: daily + 1, weekly: weekly + 1 });
        expect([...some].every((snapshot) => more.has(snapshot))).toBe(true);
        // Forgetting again changes nothing.
        const left = list.filter((snapshot) => some.has(snapshot));
        expect(
          decideRetention(left, { daily, weekly }, { isClosed: true }).every(
            ({ reasons }) => reasons.length > 0,
          ),
        ).toBe(true);
      }),
    );
  });

  test.each<[string, RetentionPolicy]>([
    ["no rule", {}],
    ["numbers that are zero", { last: 0, within: { days: 0 } }],
    ["a negative number", { last: -1 }],
    ["a half", { daily: 0.5 }],
    ["a negative span", { within: { days: -1 } }],
    ["a list of no tags", { last: 1, tags: [[]] }],
  ])("of %s is refused", (_, policy) => {
    fails(() => decideRetention(snapshots, policy), "usage");
  });
});
