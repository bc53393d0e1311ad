import { NOW, all, testRepository } from "../support/repositories.ts";
import { bytes, storeFolder, storeSnapshot, testSession } from "../support/repository-writer.ts";
import { describe, expect, test } from "bun:test";
import { type Recipient, generateIdentity } from "@idk/storage";
import { changeSettings } from "../../src/repository/settings.ts";
import { openRepository } from "../../src/repository/open.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { shareKeys } from "../../src/repository/share-keys.ts";
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
