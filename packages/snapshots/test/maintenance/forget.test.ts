import { describe, expect, test } from "bun:test";
import { NOW, all, testRepository } from "../support/repositories.ts";
import type { FoundSnapshot, Repository } from "../../src/repository/repository.ts";
import { allow, close } from "../../src/rules/granting.ts";
import { changeSettings } from "../../src/repository/settings.ts";
import { storeBackup, storePack } from "../support/abstract-backup.ts";
import type { RefusedHead } from "../../src/repository/find-heads.ts";
import { type Address, type StorageError, wrapBackend } from "@idk/storage";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { forgottenOf } from "../../src/maintenance/repository-state.ts";
import { openRepository } from "../../src/repository/open.ts";
import { storeHead } from "../support/repository-writer.ts";
import { unforget } from "../../src/maintenance/forget/unforget.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const DAY = 24 * 60 * 60 * 1000;
const web = writerKeyFromSeed(new Uint8Array(32).fill(2));

type Given = Awaited<ReturnType<typeof testRepository>>;

async function failure(promise: Promise<unknown>): Promise<StorageError> {
  const outcome = await promise.then(
    () => undefined,
    (error: StorageError) => error,
  );
  if (outcome === undefined) throw new Error("it succeeded");
  return outcome;
}

/** One snapshot a day, the last one today. */
async function daily(given: Given, name: string, days: number, key = given.owner) {
  const packs = [await storePack(given)];
  for (let day = days - 1; day >= 0; day--) {
    given.clock.now = NOW - day * DAY;
    const generation = given.clock.now;
    await storeBackup(given, key, name, { generation, packs });
  }
  given.clock.now = NOW + 1000;
}

async function snapshotsOf(repository: Repository, name: string): Promise<FoundSnapshot[]> {
  return all(repository.snapshots(name));
}

async function left(repository: Repository): Promise<string[]> {
  const heads = await all(repository.heads());
  const settings = await repository.settings();
  const isForgotten = forgottenOf(repository, heads, settings.head.settings);
  return heads
    .filter((found) => found.head.kind === "snap" && !isForgotten(found))
    .map(({ head }) => `${head.name} ${Math.round((NOW - head.generation) / DAY)}`);
}

describe("forget", () => {
  test("keeps what the policy keeps of each chain, and says why", async () => {
    const given = await testRepository();
    await daily(given, "home", 10);
    await daily(given, "office", 3);
    const repository = await given.open();
    const options = { policy: { daily: 3 }, recipients: given.recipients };

    const dry = await forget(repository, { ...options, dryRun: true });
    expect(dry.heads).toEqual([]);
    expect(dry.forgotten.length).toBe(7);
    expect((await left(repository)).length).toBe(13);

    const { chains, forgotten, heads } = await forget(repository, options);
    expect(forgotten.length).toBe(7);
    expect(heads.length).toBe(1);
    expect(chains.map(({ name }) => name)).toEqual(["home", "office"]);
    const reasons = chains[0]!.decisions.map((one) => one.reasons.join(" "));
    expect(reasons).toEqual(["newest daily", "daily", "daily", "", "", "", "", "", "", ""]);
    const kept = ["home 0", "home 1", "home 2", "office 0", "office 1", "office 2"];
    expect((await left(repository)).toSorted()).toEqual(kept);
    // What is forgotten does not count any more.
    const again = await forget(repository, { ...options, policy: { last: 2 } });
    expect(again.forgotten.length).toBe(2);
  });

  test("goes by the store's times, and keeps snapshots whose own differ unless told", async () => {
    const given = await testRepository();
    await daily(given, "home", 4);
    const repository = await given.open();
    const packs = [await storePack(given)];
    // A copied store: all of it is of now.
    for (let day = 40; day > 30; day--) {
      await storeBackup(given, given.owner, "copied", { generation: NOW - day * DAY, packs });
    }
    const options = { policy: { last: 1 }, recipients: given.recipients, names: ["cop*"] };
    const dry = { ...options, dryRun: true };
    const { chains, forgotten } = await forget(repository, dry);
    expect(forgotten).toEqual([]);
    expect(chains.length).toBe(1);
    expect(chains[0]!.decisions.every(({ reasons }) => reasons.includes("time differs"))).toBe(
      true,
    );
    const byHeads = await forget(repository, { ...dry, times: "head" });
    expect(byHeads.forgotten.length).toBe(9);
  });

  test("keeps a snapshot for its tag, however many it has", async () => {
    const given = await testRepository();
    const record = "ab".repeat(32) as Address;
    const tags = [...Array.from({ length: 5000 }, (_, i) => `tag-${i}`), "keep"];
    for (const [age, own] of [[], tags, ["tag-1"]].entries()) {
      const head = { kind: "snap", name: "home", snapshot: record, reach: record } as const;
      await storeHead(given, given.owner, { ...head, generation: NOW - age * DAY, tags: own });
    }
    const { chains } = await forget(await given.open(), {
      policy: { last: 1, tags: [["tag-1", "keep"]] },
      times: "head",
      recipients: given.recipients,
      dryRun: true,
    });
    expect(chains[0]!.decisions.map(({ reasons }) => reasons.join(" "))).toEqual([
      "newest last",
      "tag",
      "",
    ]);
  });

  test("never forgets the newest of a chain, unless it is closed", async () => {
    const given = await testRepository();
    await daily(given, "home", 3);
    const repository = await given.open();
    const { recipients } = given;
    const [newest, second] = await snapshotsOf(repository, "home");
    const refused = await failure(forget(repository, { snapshots: [newest!], recipients }));
    expect(refused.code).toBe("usage");
    expect(refused.message).toContain(", the newest snapshot of");
    await forget(repository, { snapshots: [second!], recipients });
    expect(await left(repository)).toEqual(["home 0", "home 2"]);
    await changeSettings(repository, recipients, (settings, now) => close(settings, "home", now));
    await forget(repository, { snapshots: [newest!], recipients });
    expect(await left(repository)).toEqual(["home 2"]);
    const { chains } = await forget(repository, { policy: { yearly: 1 }, recipients });
    expect(chains[0]!.isClosed).toBe(true);
  });

  test("a chain is closed at once, also for a machine whose time is a little behind", async () => {
    const given = await testRepository();
    await daily(given, "home", 1);
    const repository = await given.open();
    const { recipients } = given;
    await changeSettings(repository, recipients, (settings, now) => close(settings, "home", now));
    given.clock.now -= 1500;
    const [newest] = await snapshotsOf(repository, "home");
    await forget(repository, { snapshots: [newest!], recipients });
    expect(await left(repository)).toEqual([]);
  });

  test("a chain that closes later is not closed", async () => {
    const given = await testRepository();
    await daily(given, "home", 1);
    const repository = await given.open();
    const { recipients } = given;
    await changeSettings(repository, recipients, (settings, now) =>
      close(settings, "home", now + DAY),
    );
    const [newest] = await snapshotsOf(repository, "home");
    const refused = await failure(forget(repository, { snapshots: [newest!], recipients }));
    expect(refused.message).toContain(", the newest snapshot of");
  });

  test("forgets all heads that do not count, each once", async () => {
    const given = await testRepository();
    await daily(given, "home", 2);
    const thief = [await storeBackup(given, web, "home", { generation: NOW, packs: [] })];
    thief.push(await storeBackup(given, web, "home", { generation: NOW + 1, packs: [] }));
    const repository = await given.open();
    const options = { refused: true, recipients: given.recipients } as const;
    const addresses = thief.map(({ marker }) => marker.address);
    const first = await forget(repository, { ...options, dryRun: true });
    expect(first.forgotten.map(({ address }) => address).toSorted()).toEqual(addresses.toSorted());
    await forget(repository, { markers: [thief[0]!.marker], recipients: given.recipients });
    const { forgotten } = await forget(repository, options);
    expect(forgotten).toEqual([thief[1]!.marker]);
    expect((await forget(repository, options)).heads).toEqual([]);
    expect(await left(repository)).toEqual(["home 0", "home 1"]);
  });

  test("writes several heads for more than 8,192 markers", async () => {
    const given = await testRepository();
    const repository = await given.open();
    const chain = (await repository.settings()).marker.chain;
    const markers = Array.from({ length: 8193 }, (_, i) => ({
      chain,
      generation: i,
      address: i.toString(16).padStart(64, "0") as FoundSnapshot["marker"]["address"],
    }));
    const { heads } = await forget(repository, { markers, recipients: given.recipients });
    expect(heads.length).toBe(2);
    const found = await all(repository.heads());
    const forgets = found.flatMap(({ head }) => (head.kind === "forget" ? [head] : []));
    expect(forgets.map((head) => head.markers.length)).toEqual([1, 8192]);
    // The second one comes after the first.
    expect(forgets[0]!.previous).toEqual([heads[0]!.address]);
  });

  test("a writer forgets only where the owner lets it", async () => {
    const rule = { writer: web.writer, pattern: "web-*", mayForget: true, lastGeneration: null };
    const given = await testRepository([rule]);
    await daily(given, "home", 3);
    await daily(given, "web-1", 3, web);
    const { recipients, identity, pinned, backend } = given;
    const open = (writer = web) =>
      openRepository({
        backend,
        pinned,
        writer,
        identities: [identity],
        memory: volatileHeadMemory(),
      });
    const repository = await open();
    const { chains } = await forget(repository, { policy: { last: 1 }, recipients });
    expect(chains.map(({ name }) => name)).toEqual(["web-1"]);
    expect((await left(repository)).length).toBe(4);
    const [, second] = await snapshotsOf(repository, "home");
    const refused = await failure(forget(repository, { snapshots: [second!], recipients }));
    expect(refused.message).toContain('may not forget snapshots of "home"');
    const named = { policy: { last: 1 }, names: ["home"], recipients };
    expect((await failure(forget(repository, named))).code).toBe("usage");
    const stranger = await open(writerKeyFromSeed(new Uint8Array(32).fill(7)));
    const error = await failure(forget(stranger, { policy: { last: 1 }, recipients }));
    expect(error.message).toContain("may not forget anything");
    // One that forgets all the same does not count for what it may not name.
    const owners = await given.open();
    await changeSettings(owners, recipients, (settings) =>
      allow(settings, { writer: web.writer, pattern: "h*", mayForget: false }),
    );
    await storeHead(given, web, {
      kind: "forget",
      name: ".",
      generation: NOW + 9000,
      markers: [second!.marker],
    });
    expect((await left(owners)).length).toBe(4);
  });

  test("needs something to go by, and a key", async () => {
    const given = await testRepository();
    const repository = await given.open();
    const { recipients, identity, pinned, backend } = given;
    expect((await failure(forget(repository, { recipients }))).code).toBe("usage");
    const empty = await failure(forget(repository, { policy: {}, recipients }));
    expect(empty.message).toContain("keeps nothing");
    const memory = volatileHeadMemory();
    const reading = await openRepository({ backend, pinned, identities: [identity], memory });
    const error = await failure(forget(reading, { policy: { last: 1 }, recipients }));
    expect(error.message).toContain("without a key to sign with");
  });

  test("does not take the head that it just wrote as rolled back", async () => {
    const given = await testRepository();
    await daily(given, "home", 3);
    const memory = volatileHeadMemory();
    const repository = await given.open(memory);
    const { recipients } = given;
    const { heads } = await forget(repository, { policy: { last: 1 }, recipients });
    await given.backend.deleteMarker!(
      `${heads[0]!.chain}/${(2n ** 64n - 1n - BigInt(heads[0]!.generation)).toString(16).padStart(16, "0")}-${heads[0]!.address}`,
    );
    const error = await failure(forget(repository, { policy: { last: 1 }, recipients }));
    expect(error.code).toBe("rollback");
  });
});

describe("unforget", () => {
  test("undoes it, until half the grace period later", async () => {
    const given = await testRepository();
    await daily(given, "home", 3);
    const repository = await given.open();
    const { recipients, pinned } = given;
    const snapshots = await snapshotsOf(repository, "home");
    await forget(repository, { policy: { last: 1 }, recipients });
    const [, second, third] = snapshots;
    const { unforgotten } = await unforget(repository, [second!], { recipients, dryRun: true });
    expect(unforgotten).toEqual([second!.marker]);
    expect(await left(repository)).toEqual(["home 0"]);
    await unforget(repository, snapshots.slice(0, 2), { recipients });
    expect(await left(repository)).toEqual(["home 0", "home 1"]);

    given.clock.now += (pinned.graceSeconds * 1000) / 2 + 1000;
    // An open repository takes the store's time to go on as this machine's.
    const later = await given.open();
    const late = await failure(unforget(later, [third!], { recipients }));
    expect(late.message).toContain("more than half the grace period ago");
    await unforget(later, [third!], { recipients, noPruneRuns: true });
    expect(await left(later)).toEqual(["home 0", "home 1", "home 2"]);
    // The newest of both is in force.
    await forget(later, { snapshots: [third!], recipients });
    expect(await left(later)).toEqual(["home 0", "home 1"]);
  });

  test.each(["head", "marker"])("fails if its %s waits beyond that", async (what) => {
    const given = await testRepository();
    await daily(given, "home", 3);
    const { recipients, pinned, clock } = given;
    const [, second] = await snapshotsOf(await given.open(), "home");
    await forget(await given.open(), { policy: { last: 1 }, recipients });
    const asleep = () => {
      clock.now += (pinned.graceSeconds * 1000) / 2 + 1000;
    };
    // The machine sleeps after it has looked at the time.
    const backend = wrapBackend(given.backend, {
      put: (put) => async (name, bytes, options) => {
        await put(name, bytes, options);
        if (what === "head") asleep();
      },
      putMarker: (put) => async (name, options) => {
        if (what === "marker") asleep();
        await put(name, options);
      },
    });
    const repository = await given.open(volatileHeadMemory(), backend);
    const before = (await all(given.backend.listMarkers!(""))).length;
    const late = await failure(unforget(repository, [second!], { recipients }));
    expect(late.code).toBe("unavailable");
    expect(late.message).toContain("took so long");
    const after = (await all(given.backend.listMarkers!(""))).length;
    expect(after - before).toBe(what === "head" ? 0 : 1);
  });

  test("what is gone cannot be brought back", async () => {
    const given = await testRepository();
    await daily(given, "home", 2);
    const repository = await given.open();
    const { recipients } = given;
    const [, second] = await snapshotsOf(repository, "home");
    await forget(repository, { policy: { last: 1 }, recipients });
    const { marker } = second!;
    for await (const { name } of given.backend.listMarkers!(`${marker.chain}/`)) {
      if (name.endsWith(marker.address)) await given.backend.deleteMarker!(name);
    }
    const refused: RefusedHead[] = [];
    const error = await failure(
      unforget(repository, [second!], { recipients, onRefused: (one) => refused.push(one) }),
    );
    expect(error.code).toBe("not-found");
    expect(refused).toEqual([]);
  });
});
