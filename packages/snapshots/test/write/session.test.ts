import { expect, test } from "bun:test";
import { given, writeOnly } from "./support.ts";
import { decodeReach, extendReach } from "../../src/format/records/reach.ts";
import { decodeState, encodeState } from "../../src/write/session/state.ts";
import type { Address } from "@idk/storage";
import type { SessionId } from "../../src/format/names/identifiers.ts";
import { addressList } from "../../src/format/records/address-list.ts";
import { createStore } from "@idk/storage";
import { putReach } from "../../src/write/session/commit.ts";
import { randomBytes } from "node:crypto";
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
  const reach = extendReach([], { added, dropped: new Uint8Array(0) });
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
