import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { describe, expect, test } from "bun:test";
import { storeBackup, storePack } from "../support/abstract-backup.ts";
import type { StorageError } from "@idk/storage";
import { changeSettings } from "../../src/repository/settings.ts";
import { check } from "../../src/maintenance/check/check.ts";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { unreadable } from "../support/unreadable.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const DAY = 24 * 60 * 60 * 1000;
const GRACE = 7 * DAY;
const NOT_NOW = { code: "address", transient: true };

const failure = async (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** The repository over a store that cannot return these blobs now. */
const without = async (given: OwnRepository, addresses: readonly string[], options = {}) =>
  given.open(volatileHeadMemory(), unreadable(given.backend, new Set(addresses), options));

async function names({ backend }: OwnRepository): Promise<string[]> {
  const blobs = (await all(backend.list(""))).map(({ name }) => name);
  return [...blobs, ...(await all(backend.listMarkers!(""))).map(({ name }) => name)];
}

/** Snapshots, a day apart. */
async function backups(given: OwnRepository, count: number) {
  const made = [];
  for (let i = 0; i < count; i++) {
    given.clock.now += DAY;
    const packs = [await storePack(given)];
    made.push(
      await storeBackup(given, given.owner, "home", { generation: given.clock.now, packs }),
    );
  }
  given.clock.now += 1000;
  return made;
}

describe("of what the store cannot return now", () => {
  for (const transient of [true, false]) {
    // A head with a long message is probed before it is fetched.
    for (const message of [null, "long ".repeat(20_000)]) {
      const which = `${message === null ? "short" : "long"}${transient ? "" : ", not marked as transient"}`;
      test(`prune deletes nothing if it may be a head without a marker: ${which}`, async () => {
        const given = await testRepository();
        const made = await backups(given, 2);
        const packs = [await storePack(given)];
        const generation = given.clock.now;
        const lost = await storeBackup(given, given.owner, "home", {
          generation,
          packs,
          head: { message },
          withMarker: false,
        });
        given.clock.now += 2 * GRACE;
        const before = await names(given);
        const repository = await without(given, [lost.marker.address], { transient });
        expect(await failure(prune(repository))).toMatchObject({ code: "address" });
        expect(await names(given)).toEqual(before);
        // Readable again.
        expect(await failure(prune(await given.open()))).toMatchObject({ code: "head" });
        expect(made.length).toBe(2);
      });
    }
  }

  test("forget forgets no head, and names it", async () => {
    const given = await testRepository();
    const made = await backups(given, 3);
    const address = made[1]!.marker.address;
    const { recipients } = given;
    const before = await names(given);
    for (const options of [{ refused: true }, { policy: { last: 1 } }]) {
      const refused: unknown[] = [];
      const repository = await without(given, [address]);
      const reporting = { reportUnreadable: true, onRefused: (one: unknown) => refused.push(one) };
      const error = await failure(forget(repository, { ...options, ...reporting, recipients }));
      expect(error).toMatchObject({ ...NOT_NOW, message: expect.stringContaining(address) });
      expect(refused).toEqual([]);
    }
    expect(await names(given)).toEqual(before);
  });

  test("prune keeps what a forgotten head or list of packs protects for a grace period", async () => {
    const given = await testRepository();
    const [first] = await backups(given, 2);
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const packs = [await storePack(given)];
    const generation = given.clock.now;
    // It does not count, so that only its owner can forget it, and it may count again.
    const refused = await storeBackup(given, thief, "web", { generation, packs });
    given.clock.now += 2 * GRACE;
    const { recipients } = given;
    await forget(await given.open(), {
      markers: [refused.marker],
      policy: { last: 1 },
      recipients,
    });
    given.clock.now += GRACE / 2;
    const { address } = refused.reaches.at(-1)!;
    const dying = first!.reaches.at(-1)!.address;
    for (const blob of [refused.marker.address, address, dying]) {
      const repository = await without(given, [blob]);
      const before = await names(given);
      expect(await failure(prune(repository, { acceptLostHeads: true }))).toMatchObject(NOT_NOW);
      expect(await names(given)).toEqual(before);
    }
    given.clock.now += GRACE;
    // Dead, so that it protects nothing.
    await prune(await without(given, [address, dying]), { acceptLostHeads: true });
    for (const { marker } of [refused, first!]) {
      expect(await names(given)).not.toContain(formatMarker(marker));
    }
  });

  test("no older settings take the place of the newest", async () => {
    const given = await testRepository();
    given.clock.now += 1000;
    const { marker } = await changeSettings(await given.open(), given.recipients, (same) => same);
    for (const reportUnreadable of [true, false]) {
      const repository = await without(given, [marker.address]);
      expect(await failure(repository.settings({ reportUnreadable }))).toMatchObject(NOT_NOW);
    }
    const changing = changeSettings(
      await without(given, [marker.address]),
      given.recipients,
      (same) => same,
    );
    expect(await failure(changing)).toMatchObject(NOT_NOW);
  });

  test("check and those who read report a head, and go on", async () => {
    const given = await testRepository();
    const made = await backups(given, 2);
    const { address } = made[1]!.marker;
    const repository = await without(given, [address]);
    const problems: string[] = [];
    await check(repository, { onProblem: ({ kind }) => void problems.push(kind) });
    expect(problems).toContain("head");
    const refused: StorageError[] = [];
    const options = {
      reportUnreadable: true,
      onRefused: ({ error }: { error: StorageError }) => void refused.push(error),
    };
    const reading = await without(given, [address]);
    expect((await reading.newest("home", options))?.marker).toEqual(made[0]!.marker);
    expect(refused).toEqual([expect.objectContaining(NOT_NOW)]);
    // A backup continues the newest head, and does not write beside it.
    expect(await failure(reading.newest("home"))).toMatchObject(NOT_NOW);
  });
});
