import { describe, expect, test } from "bun:test";
import type { Call } from "./linearizable.ts";
import { type Objects, type Operation, violationOf } from "./model.ts";

type Given = readonly [start: number, end: number, operation: Operation];

const put = (key: string, etag: string, outcome: "done" | "unknown" = "done"): Operation => ({
  kind: "put",
  key,
  etag,
  outcome,
});
const create = (key: string, etag: string, outcome: "done" | "condition-failed"): Operation => ({
  kind: "put",
  key,
  etag,
  condition: { ifNoneMatch: "*" },
  outcome,
});
const replace = (
  key: string,
  ifMatch: string,
  etag: string,
  outcome: "done" | "condition-failed" | "no-object",
): Operation => ({ kind: "put", key, etag, condition: { ifMatch }, outcome });
const remove = (key: string, outcome: "done" | "unknown" = "done"): Operation => ({
  kind: "delete",
  key,
  outcome,
});
const read = (key: string, etag: string | undefined): Operation => ({ kind: "read", key, etag });
const list = (entries: Readonly<Record<string, string>>): Operation => ({
  kind: "list",
  prefix: "",
  entries: new Map(Object.entries(entries)),
});

const callsOf = (given: readonly Given[]): Call<Operation>[] =>
  given.map(([start, end, operation]) => ({ start, end, operation }));
const FOREVER = Number.POSITIVE_INFINITY;

const GOOD: readonly (readonly [string, readonly Given[]])[] = [
  [
    "a read of what was written",
    [
      [0, 1, put("k", "a")],
      [2, 3, read("k", "a")],
    ],
  ],
  [
    "reads on both sides of a write that they overlap",
    [
      [0, 1, put("k", "a")],
      [2, 9, put("k", "b")],
      [3, 4, read("k", "a")],
      [5, 6, read("k", "b")],
    ],
  ],
  [
    "a write without an answer that happened, and one that did not",
    [
      [0, FOREVER, put("k", "a", "unknown")],
      [0, FOREVER, put("k", "b", "unknown")],
      [9, 10, read("k", "b")],
      [11, 12, read("k", "b")],
    ],
  ],
  [
    "a write without an answer that happened late",
    [
      [0, FOREVER, put("k", "a", "unknown")],
      [1, 2, read("k", undefined)],
      [3, 4, read("k", "a")],
    ],
  ],
  [
    "one winner",
    [
      [0, 9, create("k", "a", "condition-failed")],
      [1, 8, create("k", "b", "done")],
      [10, 11, read("k", "b")],
    ],
  ],
  [
    "a deletion of nothing in the middle of a write",
    [
      [0, 9, put("k", "a")],
      [0, 9, remove("k")],
      [10, 11, read("k", undefined)],
    ],
  ],
  [
    "If-Match that won, and one that lost to it",
    [
      [0, 1, put("k", "a")],
      [2, 9, replace("k", "a", "b", "done")],
      [2, 9, replace("k", "a", "c", "condition-failed")],
      [10, 11, read("k", "b")],
      [12, 13, remove("k")],
      [14, 15, replace("k", "b", "d", "no-object")],
    ],
  ],
  [
    "a listing between two writes",
    [
      [0, 9, put("k", "a")],
      [0, 9, put("l", "b")],
      [0, 9, list({ l: "b" })],
    ],
  ],
];

const BAD: readonly (readonly [string, readonly Given[]])[] = [
  [
    "a lost write",
    [
      [0, 1, put("k", "a")],
      [2, 3, read("k", undefined)],
    ],
  ],
  [
    "an old read",
    [
      [0, 1, put("k", "a")],
      [2, 3, put("k", "b")],
      [4, 5, read("k", "a")],
    ],
  ],
  [
    "a read of what nobody wrote",
    [
      [0, 1, put("k", "a")],
      [0, 1, read("k", "x")],
    ],
  ],
  [
    "reads that go back",
    [
      [0, 1, put("k", "a")],
      [2, 9, put("k", "b")],
      [3, 4, read("k", "b")],
      [5, 6, read("k", "a")],
    ],
  ],
  [
    "a write without an answer that comes and goes",
    [
      [0, 1, put("k", "a")],
      [2, FOREVER, put("k", "b", "unknown")],
      [3, 4, read("k", "b")],
      [5, 6, read("k", "a")],
    ],
  ],
  [
    "a write that took effect after its process was dead",
    [
      [0, 5, put("k", "a", "unknown")],
      [6, 7, read("k", undefined)],
      [8, 9, read("k", "a")],
    ],
  ],
  [
    "two winners",
    [
      [0, 9, create("k", "a", "done")],
      [0, 9, create("k", "b", "done")],
    ],
  ],
  [
    "a winner over what was there",
    [
      [0, 1, put("k", "a")],
      [2, 3, create("k", "b", "done")],
    ],
  ],
  ["a loser to nobody", [[0, 1, create("k", "a", "condition-failed")]]],
  [
    "two that replaced the same",
    [
      [0, 1, put("k", "a")],
      [2, 9, replace("k", "a", "b", "done")],
      [2, 9, replace("k", "a", "c", "done")],
    ],
  ],
  [
    "a deletion that was undone",
    [
      [0, 1, put("k", "a")],
      [2, 3, remove("k")],
      [4, 5, read("k", "a")],
    ],
  ],
  [
    "a listing that saw the later write and not the earlier one",
    [
      [0, 1, put("k", "a")],
      [2, 9, put("l", "b")],
      [2, 9, list({ l: "b" })],
    ],
  ],
  [
    "listings that saw two writes in different orders",
    [
      [0, 99, put("k", "a")],
      [0, 99, put("l", "b")],
      [1, 2, list({ k: "a" })],
      [3, 4, list({ l: "b" })],
    ],
  ],
];

test.each(GOOD)("accepts %s", (_, given) => {
  expect(violationOf(callsOf(given))).toBeUndefined();
});

test.each(BAD)("refuses %s", (_, given) => {
  expect(violationOf(callsOf(given))).toBeString();
});

test("knows what there was before", () => {
  const before: Objects = new Map([
    ["k", "a"],
    ["l", "b"],
  ]);
  expect(violationOf(callsOf([[0, 1, list({ k: "a", l: "b" })]]), before)).toBeUndefined();
  expect(violationOf(callsOf([[0, 1, list({ k: "a" })]]), before)).toBeString();
});

test("names what cannot be", () => {
  const violation = violationOf(
    callsOf([
      [0, 1, put("k", "a")],
      [2, 3, read("k", undefined)],
    ]),
  );
  expect(violation).toContain("at last there was k,a");
  expect(violation).toContain('2.0 to 3.0: {"kind":"read","key":"k"}');
});

describe("random histories", () => {
  /** Numbers from 0 to below the limit, the same for the same seed. */
  const randomOf = (seed: number) => {
    let state = seed >>> 0;
    return (limit: number): number => {
      state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
      return ((state ^ (state >>> 13)) >>> 0) % limit;
    };
  };
  type Random = ReturnType<typeof randomOf>;

  /** What a correct store answers, and what happens to it. */
  function execute(state: Map<string, string>, random: Random): Operation {
    const key = ["k", "l"][random(2)]!;
    const etag = ["a", "b", "c"][random(3)]!;
    const present = state.get(key);
    switch (random(8)) {
      case 0:
      case 1:
        state.set(key, etag);
        return put(key, etag);
      case 2:
        if (present !== undefined) return create(key, etag, "condition-failed");
        state.set(key, etag);
        return create(key, etag, "done");
      case 3:
        if (present === undefined) return replace(key, "a", etag, "no-object");
        if (present !== "a") return replace(key, "a", etag, "condition-failed");
        state.set(key, etag);
        return replace(key, "a", etag, "done");
      case 4:
        state.delete(key);
        return remove(key);
      case 5:
        if (random(2) === 0) {
          state.set(key, etag);
          return put(key, etag, "unknown");
        }
        return remove(key, "unknown");
      case 6:
        return read(key, present);
      default:
        return list(Object.fromEntries(state));
    }
  }

  /** Requests that take effect at 10, 20, …, and are seen from earlier until later. */
  function historyOf(random: Random, length: number): Call<Operation>[] {
    const state = new Map<string, string>();
    return Array.from({ length }, (_, index) => {
      const at = 10 * (index + 1);
      const operation = execute(state, random);
      return { operation, start: at - random(40), end: at + random(40) };
    });
  }

  test("of a correct store are accepted, however long", () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const history = historyOf(randomOf(seed), 300);
      expect([seed, violationOf(history)]).toEqual([seed, undefined]);
    }
  });

  test("are accepted exactly if some order of them all explains them", () => {
    const counts = { accepted: 0, refused: 0 };
    for (let seed = 1; seed <= 3000; seed += 1) {
      const random = randomOf(seed);
      const history = historyOf(random, 5);
      // Another outcome in one place, which may be possible as well.
      const at = random(history.length);
      const changed = [...history];
      const key = ["k", "l"][random(2)]!;
      changed[at] = {
        ...history[at]!,
        operation: [
          read(key, ["a", "b", undefined][random(3)]),
          create(key, "c", "done"),
          list({ [key]: "a" }),
        ][random(3)]!,
      };
      const isAccepted = violationOf(changed) === undefined;
      expect([seed, isAccepted]).toEqual([seed, hasOrder(new Map(), changed)]);
      counts[isAccepted ? "accepted" : "refused"] += 1;
    }
    expect(counts.accepted).toBeGreaterThan(300);
    expect(counts.refused).toBeGreaterThan(300);
  });

  /** By trying all orders. */
  function hasOrder(state: ReadonlyMap<string, string>, left: readonly Call<Operation>[]): boolean {
    if (left.length === 0) return true;
    const firstEnd = Math.min(...left.map(({ end }) => end));
    return left.some((call) => {
      if (call.start > firstEnd) return false;
      const others = left.filter((other) => other !== call);
      return effects(state, call.operation).some((next) => hasOrder(next, others));
    });
  }

  /** Written apart from the model under test. */
  function effects(
    state: ReadonlyMap<string, string>,
    operation: Operation,
  ): readonly ReadonlyMap<string, string>[] {
    const set = (key: string, etag: string): ReadonlyMap<string, string> =>
      new Map([...state, [key, etag]]);
    const without = (key: string): ReadonlyMap<string, string> =>
      new Map([...state].filter(([other]) => other !== key));
    if (operation.kind === "read")
      return state.get(operation.key) === operation.etag ? [state] : [];
    if (operation.kind === "list") {
      const text = (entries: ReadonlyMap<string, string>): string =>
        JSON.stringify([...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)));
      return text(state) === text(operation.entries) ? [state] : [];
    }
    if (operation.kind === "delete") {
      const deleted = without(operation.key);
      return operation.outcome === "unknown" ? [state, deleted] : [deleted];
    }
    const { key, etag, condition, outcome } = operation;
    if (outcome === "unknown") return [state, set(key, etag)];
    const present = state.get(key);
    const isAllowed =
      condition === undefined ||
      ("ifNoneMatch" in condition ? present === undefined : present === condition.ifMatch);
    if (outcome === "done") return isAllowed ? [set(key, etag)] : [];
    if (isAllowed) return [];
    return (outcome === "no-object") === (present === undefined) ? [state] : [];
  }
});
