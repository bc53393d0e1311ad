/* oxlint-disable oxc/no-map-spread -- the rules of a test are few */
import { describe, expect, test } from "bun:test";
import {
  type StoredHead,
  closedBehind,
  isAhead,
  mayForget,
  newestSettings,
  verifiedHead,
  whyNotAllowed,
} from "../../src/rules/counting.ts";
import type { ChainId, RepositoryId } from "../../src/format/names/identifiers.ts";
import { type Head, encodeHead, encodePayload } from "../../src/format/records/head.ts";
import type { Rule, Settings } from "../../src/format/records/settings.ts";
import { signPayload, writerKeyFromSeed } from "../../src/format/keys/writer.ts";
import type { Address } from "@idk/storage";
import type { Marker } from "../../src/format/names/marker.ts";
import { createHash } from "node:crypto";
import { chainOf } from "../../src/format/names/chain.ts";
import { fails } from "../support.ts";

const [owner, web, thief] = [1, 2, 3].map((byte) =>
  writerKeyFromSeed(new Uint8Array(32).fill(byte)),
) as [Key, Key, Key];
type Key = ReturnType<typeof writerKeyFromSeed>;
const repository = "10".repeat(16) as RepositoryId;
const address = "ab".repeat(32) as Address;
const pinned = { repository, owner: owner.writer };

function head(name: string, key: Key, generation = 100): Head {
  return {
    kind: "snap",
    repository,
    chain: chainOf(repository, name),
    name,
    generation,
    previous: [],
    time: 0,
    writer: key.writer,
    expectedSeconds: null,
    message: null,
    tags: [],
    snapshot: address,
    reach: address,
  };
}

const forget = (key: Key, markers: readonly Marker[] = [], generation = 100): Head => {
  const {
    kind: _,
    snapshot: __,
    reach: ___,
    ...common
  } = head(".", key, generation) as Extract<Head, { kind: "snap" }>;
  return { ...common, kind: "forget", markers };
};
const settingsHead = (key: Key, settings: Settings, generation = 100): Head => {
  const {
    kind: _,
    snapshot: __,
    reach: ___,
    ...common
  } = head("", key, generation) as Extract<Head, { kind: "snap" }>;
  return { ...common, kind: "repo", settings };
};
const stored = (value: Head): StoredHead => ({
  marker: { chain: value.chain, generation: value.generation, address },
  head: value,
  payloadHash: "",
});
const rules = (...list: Partial<Rule>[]): Settings => ({
  graceSeconds: 3600,
  rules: list.map((rule) => ({
    writer: null,
    pattern: "*",
    mayForget: false,
    lastGeneration: null,
    ...rule,
  })),
});
const why = (value: Head, settings: Settings) =>
  whyNotAllowed(stored(value), settings, owner.writer);

describe("who may write", () => {
  test("the owner everything, others what a rule lets them", () => {
    const settings = rules({ writer: web.writer, pattern: "web-*" });
    expect(why(head("anything", owner), settings)).toBeUndefined();
    expect(why(head("web-1", web), settings)).toBeUndefined();
    expect(why(head("web-1", thief), settings)).toContain("may not write");
    expect(why(head("db", web), settings)).toContain("may not write");
    expect(why(head("db", web), rules())).toContain("may not write");
  });

  test("a key that leaves keeps what it wrote", () => {
    const settings = rules({ writer: web.writer, lastGeneration: 100 });
    expect(why(head("a", web, 100), settings)).toBeUndefined();
    expect(why(head("a", web, 101), settings)).toContain("no longer");
    // Another rule may still let it.
    const both = rules(
      { writer: web.writer, lastGeneration: 100 },
      { writer: web.writer, pattern: "a" },
    );
    expect(why(head("a", web, 101), both)).toBeUndefined();
  });

  test("a closed chain is closed for the owner, too, and the others are not", () => {
    const settings = rules(
      { pattern: "old*", lastGeneration: 100 },
      { pattern: "*", lastGeneration: 200 },
    );
    expect(why(head("old", owner, 100), settings)).toBeUndefined();
    expect(why(head("old", owner, 101), settings)).toContain("closed");
    expect(why(head("new", owner, 200), settings)).toBeUndefined();
    expect(closedBehind("older", settings)).toBe(100);
    expect(closedBehind("new", rules({ writer: web.writer, lastGeneration: 5 }))).toBe(Infinity);
    // Otherwise nobody could open it again.
    expect(why(settingsHead(owner, settings, 300), settings)).toBeUndefined();
    expect(why(forget(owner, [], 300), settings)).toBeUndefined();
  });

  test("to forget needs a right of its own", () => {
    const settings = rules(
      { writer: web.writer },
      { writer: thief.writer, mayForget: true, lastGeneration: 50 },
    );
    expect(why(forget(owner), settings)).toBeUndefined();
    expect(why(forget(web), settings)).toContain("may not forget");
    expect(why(forget(thief, [], 51), settings)).toContain("may not forget");
    expect(why(forget(thief, [], 50), settings)).toBeUndefined();
  });

  test("forgetting works in the chains of the rule only", () => {
    const settings = rules({ writer: web.writer, pattern: "web-*", mayForget: true });
    const names = new Map(
      ["web-1", "db", "", "."].map((name) => [chainOf(repository, name), name]),
    );
    const nameOf = (chain: ChainId) => names.get(chain);
    const may = (key: Key, name: string) =>
      mayForget(
        forget(key),
        settings,
        owner.writer,
        nameOf,
      )({
        chain: chainOf(repository, name),
        generation: 1,
        address,
      });
    expect(["web-1", "db", "", ".", "web-unknown"].map((name) => may(web, name))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
    expect(["web-1", "db", "", "."].every((name) => may(owner, name))).toBe(true);
    expect(may(thief, "web-1")).toBe(false);
    const all = rules({ writer: web.writer, mayForget: true });
    const anything = mayForget(forget(web), all, owner.writer, nameOf);
    expect(anything({ chain: chainOf(repository, ""), generation: 1, address })).toBe(false);
  });
});

test("settings count only with the owner's signature; of several the newest do", () => {
  const settings = (graceSeconds: number): Settings => ({ graceSeconds, rules: [] });
  const heads = [5, 9, 7].map((generation) =>
    stored(settingsHead(owner, settings(3600 + generation), generation)),
  );
  expect(newestSettings(heads)?.head.settings.graceSeconds).toBe(3609);
  expect(newestSettings([stored(head("a", owner))])).toBeUndefined();

  const sealed = (value: Head, key: Key) => {
    const payload = encodePayload(value);
    return encodeHead({ payload, signature: signPayload(key, payload) });
  };
  const own = settingsHead(owner, settings(3600));
  const verified = verifiedHead(sealed(own, owner), stored(own).marker, pinned);
  expect(verified.head).toEqual(own);
  expect(verified.payloadHash).toBe(createHash("sha256").update(encodePayload(own)).digest("hex"));
  const forged = settingsHead(thief, settings(3600));
  fails(
    () => verifiedHead(sealed(forged, thief), stored(forged).marker, pinned),
    "head",
    "did not sign",
  );
  fails(() => verifiedHead(sealed(own, thief), stored(own).marker, pinned), "head", "signature");
  // A name that is not that of the chain: otherwise a writer could write into another's.
  const renamed: Head = { ...head("db", web), chain: chainOf(repository, "web-1") };
  fails(
    () => verifiedHead(sealed(renamed, web), stored(renamed).marker, pinned),
    "head",
    "its chain",
  );
});

test("a marker a day ahead of the store's time does not count", () => {
  const [DAY, now] = [86_400_000, 1_800_000_000_000];
  const at = (generation: number): Marker => ({
    chain: chainOf(repository, "a"),
    generation,
    address,
  });
  expect(isAhead(at(now + DAY), now, now)).toBe(false);
  expect(isAhead(at(now + DAY + 1), now, now)).toBe(true);
  // Ahead when it was put, or ahead of now by a clock of the store that was wrong then.
  expect(isAhead(at(now), now - DAY - 1, now)).toBe(true);
  expect(isAhead(at(now + 2 * DAY), now + DAY, now)).toBe(true);
});
