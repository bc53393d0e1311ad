import { NOW, all, testRepository } from "../support/repositories.ts";
import {
  bytes,
  naCl,
  storeFolder,
  storeHead,
  storeRecord,
  storeSnapshot,
  testSession,
  twoRows,
} from "../support/repository-writer.ts";
import { describe, expect, test } from "bun:test";
import { type Address, type Recipient, generateIdentity, wrapBackend } from "@idk/storage";
import { changeSettings } from "../../src/repository/settings.ts";
import { openRoot } from "@idk/storage/blobs";
import { openRepository } from "../../src/repository/open.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { shareKeys } from "../../src/maintenance/share-keys.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

/** A repository with a snapshot, and someone who joins now. */
async function joined() {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  const tree = await storeFolder(session, { a: bytes("hello") });
  const sessionKeys = new Map([[session.id, session.sessionKey()]]);
  const store = async (recipients: readonly Recipient[], generation: number) =>
    storeSnapshot({ ...given, recipients }, given.owner, "home", session, tree, {
      generation,
      sessionKeys,
    });
  await store(given.recipients, NOW);
  const late = await generateIdentity();
  const both = [...given.recipients, late.recipient];
  const read = async () => {
    const repository = await openRepository({
      backend: given.backend,
      identities: [late],
      pinned: given.pinned,
      memory: volatileHeadMemory(),
    });
    for await (const found of repository.snapshots("home")) {
      const snapshot = await openSnapshot(repository, found);
      return Buffer.concat(await all(snapshot.content("a"))).toString();
    }
    return "no snapshot";
  };
  return { given, late, both, store, read };
}

describe("a reader that joins later", () => {
  test("reads new snapshots with packs of earlier sessions, once keys are shared", async () => {
    const { given, both, store, read } = await joined();
    expect(read()).rejects.toMatchObject({ code: "head" });
    const shared = await shareKeys(await given.open(), both);
    expect(shared).toMatchObject({ chains: 1, sessions: 1, unopened: 0 });
    expect(shared.heads.length).toBe(1);
    // Heads of before stay closed.
    expect(await read()).toBe("no snapshot");
    // A new snapshot copies the session key blob of the earlier session, which is not for the new reader.
    await store(both, NOW + 1);
    expect(await read()).toBe("hello");
  });

  test("has to wait for the keys", async () => {
    const { given, both, store, read } = await joined();
    await changeSettings(await given.open(), both, (settings) => settings);
    await store(both, NOW + 1);
    expect(read()).rejects.toMatchObject({ code: "no-match" });
    await shareKeys(await given.open(), both);
    expect(await read()).toBe("hello");
  });

  test("is not given sessions of which the repository has no pack", async () => {
    const { given, both } = await joined();
    const [own, other, unread] = Array.from({ length: 3 }, () =>
      testSession(given.backend, given.recipients),
    );
    // That of another repository, to which the same owner's identity is a recipient.
    const sessionKeys = new Map([own!, other!, unread!].map((one) => [one.id, one.sessionKey()]));
    // A pack that is said to be of it, and does not open.
    const row = { ...(await own!.dataPack(bytes("own"))), session: other!.id };
    const tree = await storeFolder({ ...own!, dataPack: async () => row }, { a: bytes("own") });
    await storeSnapshot(given, given.owner, "evil", own!, tree, {
      generation: NOW,
      sessionKeys,
    });
    const shared = await shareKeys(await given.open(), both);
    expect(shared).toMatchObject({ chains: 2, sessions: 2, unopened: 0, unused: 2 });
  });

  test("is not given a session by whose row a pack of another one was asked for", async () => {
    const { given, both } = await joined();
    const [own, other] = [0, 1].map(() => testSession(given.backend, given.recipients));
    const sessionKeys = new Map([own!, other!].map((one) => [one.id, one.sessionKey()]));
    const tree = await twoRows(own!, other!.id);
    await storeSnapshot(given, given.owner, "evil", own!, tree, { generation: NOW, sessionKeys });
    const { skipped, ...shared } = await shareKeys(await given.open(), both);
    expect(shared).toMatchObject({ sessions: 2, unopened: 0, unused: 1 });
    expect(skipped.map(({ error }) => error.code)).toEqual(["commit"]);
  });

  test("is told of a snapshot that was not gone through whole", async () => {
    const { given, both } = await joined();
    const session = testSession(given.backend, given.recipients);
    const folder = { a: { b: "c" } };
    const tree = await storeFolder(session, folder, { packEach: true });
    const packs: Address[] = [];
    const backend = wrapBackend(given.backend, {
      put: (put) => async (address, blob, options) => {
        packs.push(address as Address);
        await put(address, blob, options);
      },
    });
    const damaged = testSession(backend, given.recipients);
    const broken = await storeFolder(damaged, folder, { packEach: true });
    await given.backend.delete(packs[0]!);
    await storeSnapshot(given, given.owner, "web", session, tree, { generation: NOW });
    await storeSnapshot(given, given.owner, "web", damaged, broken, { generation: NOW + 1 });
    const { skipped, ...shared } = await shareKeys(await given.open(), both);
    // What was found is given, and what the older one needs.
    expect(shared).toMatchObject({ chains: 2, sessions: 3, unused: 0 });
    expect(skipped.map(({ error }) => error.code)).toEqual(["not-found"]);
    expect(skipped[0]!.found.marker.generation).toBe(NOW + 1);
  });

  test("is given those of an older snapshot where the newest cannot be read", async () => {
    const { given, both } = await joined();
    const missing = "ab".repeat(32) as Address;
    const evil = { kind: "snap", name: "home", reach: missing } as const;
    await storeHead(given, given.owner, { ...evil, generation: NOW + 2, snapshot: missing });
    // The snapshot of another repository.
    const elsewhere = await joined();
    const [other] = await all((await elsewhere.given.open()).snapshots("home"));
    const copied = new Uint8Array(2 ** 20);
    const length = await elsewhere.given.backend.get(other!.head.snapshot, copied);
    const { content } = openRoot(naCl, copied.subarray(0, length), [elsewhere.given.identity]);
    const snapshot = await storeRecord(given, "snapshot", content!);
    await storeHead(given, given.owner, { ...evil, generation: NOW + 1, snapshot });
    const { skipped, ...shared } = await shareKeys(await given.open(), both);
    expect(skipped.map(({ error }) => error.code)).toEqual(["not-found", "tree"]);
    expect(shared).toMatchObject({ chains: 1, sessions: 1, unopened: 0, unused: 0 });
  });

  test("is let in by the owner only", async () => {
    const { given, both } = await joined();
    const repository = await openRepository({
      backend: given.backend,
      identities: [given.identity],
      writer: writerKeyFromSeed(new Uint8Array(32).fill(7)),
      pinned: given.pinned,
      memory: volatileHeadMemory(),
    });
    expect(shareKeys(repository, both)).rejects.toMatchObject({ code: "usage" });
  });
});
