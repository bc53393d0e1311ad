import { expect, test } from "bun:test";
import { given, writeOnly } from "./support.ts";
import { decodeReach, extendReach } from "../../src/format/records/reach.ts";
import { decodeState, encodeState } from "../../src/write/session/state.ts";
import type { Address } from "@idk/storage";
import {
  type Snapshot,
  decodeSnapshot,
  encodeSnapshot,
} from "../../src/format/records/snapshot.ts";
import type { SessionId } from "../../src/format/names/identifiers.ts";
import { addressList } from "../../src/format/records/address-list.ts";
import { createStore } from "@idk/storage";
import { putReach } from "../../src/write/session/commit.ts";
import { randomBytes } from "node:crypto";
import { packFills, sparsePacks } from "../../src/write/session/sparse.ts";
import { sessionsToKeep } from "../../src/write/session/start.ts";

const id = (at: number): SessionId => at.toString(16).padStart(32, "0") as SessionId;
const keysOf = (length: number) => ({ sessionKey: () => new Uint8Array(length) });

test("a snapshot has the keys of 512 sessions, and the half with fewer bytes is given up", () => {
  const sizes = (count: number) =>
    new Map(Array.from({ length: count }, (_, at) => [id(at), (at * 7919) % 1000]));
  // One more comes.
  expect(sessionsToKeep(sizes(511), keysOf(100), 100).size).toBe(511);
  const all = sizes(512);
  const kept = sessionsToKeep(all, keysOf(100), 100);
  expect(kept.size).toBe(256);
  const least = Math.min(...Array.from(kept, (session) => all.get(session)!));
  for (const [session, bytes] of all) if (bytes > least) expect(kept.has(session)).toBe(true);
  // Keys for many recipients.
  expect(sessionsToKeep(sizes(20), keysOf(80_000), 80_000).size).toBe(10);
  expect(sessionsToKeep(sizes(20), { sessionKey: () => undefined }, 100).size).toBe(0);
});

test("the keys that are kept leave room for the longest paths and excludes", () => {
  const sizes = new Map(Array.from({ length: 511 }, (_, at) => [id(at), at]));
  let length = 2048;
  while (sessionsToKeep(sizes, keysOf(length), length).size < 511) length -= 1;
  const row = { session: id(1), address: "ab".repeat(32) as Address, salt: new Uint8Array(16) };
  const snapshot: Snapshot = {
    repository: id(1) as never,
    chain: id(2) as never,
    root: Array.from({ length: 20 }, (_, at) => {
      return {
        row,
        offset: 2 ** 21 + at,
        length: 2 ** 19,
        name: new Uint8Array(255).fill(65 + at),
      };
    }),
    treeId: new Uint8Array(32),
    sessionKeys: new Map(Array.from({ length: 512 }, (_, at) => [id(at), new Uint8Array(length)])),
    host: "h".repeat(255),
    user: "u".repeat(255),
    paths: [new Uint8Array(2 ** 16 - 5)],
    excludes: ["€".repeat(Math.floor((2 ** 16 - 5) / 3))],
    start: 2 ** 42,
    end: 2 ** 42,
    totals: {
      files: 2 ** 50,
      directories: 2 ** 50,
      bytes: 2 ** 50,
      newBytes: 2 ** 50,
      storedBytes: 2 ** 50,
      errors: 2 ** 50,
    },
  };
  expect(decodeSnapshot(encodeSnapshot(snapshot)).sessionKeys.size).toBe(512);
});

test("packs less than a twentieth in use are sparse, as long as they are a small share", () => {
  const MIB = 2 ** 20;
  const fill = (used: Map<number, number>) => packFills(undefined, used, [...used.keys()]);
  const full = new Map(Array.from({ length: 100 }, (_, pack) => [pack + 1, 4 * MIB]));
  expect(sparsePacks(full, fill(full))).toEqual([]);
  // Which many files had.
  full.set(9, 400 * MIB);
  const later = new Map([...full, [9, MIB / 4], [3, 209_715], [5, 209_716], [7, 1], [200, 5]]);
  const fills = packFills(fill(full), later, [...later.keys()]);
  // A twentieth is 209,715.2 bytes; what is new is as full as it ever was.
  expect(sparsePacks(later, fills)).toEqual([7, 3]);
  // At most a 64th is stored again, but 1 MiB of a small store and 64 MiB of a large one.
  for (const [packs, sparse, most] of [
    [8, 100, MIB],
    [400, 1000, (400 * 4 * MIB + 1000 * 200_000) / 64],
    [2048, 1000, 64 * MIB],
  ] as const) {
    const before = new Map(Array.from({ length: packs + sparse }, (_, pack) => [pack, 4 * MIB]));
    const after = new Map([...before].map(([pack, all]) => [pack, pack < sparse ? 200_000 : all]));
    const taken = sparsePacks(after, packFills(fill(before), after, [...after.keys()]));
    expect(taken.length).toBe(Math.floor(most / 200_000));
  }
});

test("the state of a writer comes back", () => {
  const state = {
    marker: { chain: id(1) as never, generation: 2 ** 53 - 1, address: "ab".repeat(32) as Address },
    sentAt: 1,
    deadline: 2,
    nextLinks: 3,
    reaches: [
      {
        address: "cd".repeat(32) as Address,
        added: new Uint8Array(64),
        dropped: new Uint8Array(0),
      },
    ],
    sessions: new Map([[id(5), 2 ** 40]]),
    fills: new Uint8Array(8).fill(3),
    sparse: [2 ** 31],
    treeId: new Uint8Array(32).fill(9),
    files: 4,
    directories: 5,
    bytes: 6,
  };
  expect(decodeState(encodeState(state))).toEqual(state);
});

test("a reach longer than one blob is stored without reading", async () => {
  const at = await given();
  const { backend } = writeOnly(at.backend);
  const addresses = Array.from(
    { length: 40_000 },
    () => randomBytes(32).toString("hex") as Address,
  );
  const added = addressList(addresses);
  const reach = extendReach([], added);
  const repository = await at.open(undefined, backend);
  const { recipients } = at;
  const address = await putReach(
    { repository, recipients, signal: new AbortController().signal },
    reach,
  );
  const store = createStore({ backend: at.backend, identities: [at.identity] });
  const stored = await store.get(address);
  expect(stored.metadata["type"]).toBe("application/vnd.idk.reach");
  expect(Buffer.from(decodeReach(await stored.bytes()).added)).toEqual(Buffer.from(added));
  at.end();
});
