import { type Address, wrapBackend } from "@idk/storage";
import { NOW, type OwnRepository, testRepository } from "../support/repositories.ts";
import { allowWriter, revokeWriter } from "../../src/repository/settings.ts";
import { expect, test } from "bun:test";
import { chainOf } from "../../src/format/names/chain.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { storeBackup } from "../support/abstract-backup.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const MADE_UP = 40;
const web = writerKeyFromSeed(new Uint8Array(32).fill(2));
const rule = { writer: web.writer, pattern: "web", mayForget: false, lastGeneration: null };

/** Puts markers that lead nowhere, as everyone can who may put. */
async function makeUp(given: OwnRepository, name: string, generation: number): Promise<void> {
  const chain = chainOf(given.repository, name);
  for (let i = 1; i <= MADE_UP; i++) {
    const address = i.toString(16).padStart(64, "0") as Address;
    await given.backend.putMarker!(formatMarker({ chain, generation: generation + i, address }));
  }
}

/** A repository at a distance: how many heads that are not there it asks for, and how many at once. */
async function distant(given: OwnRepository) {
  const counts = { all: 0, asked: 0, atOnce: 0 };
  let pending = 0;
  const backend = wrapBackend(given.backend, {
    get: (get) => async (name, buffer, options) => {
      counts.all += 1;
      if (name.startsWith("0".repeat(60))) counts.asked += 1;
      pending += 1;
      counts.atOnce = Math.max(counts.atOnce, pending);
      await Bun.sleep(1);
      pending -= 1;
      return get(name, buffer, options);
    },
  });
  return { counts, repository: await given.open(volatileHeadMemory(), backend) };
}

test("markers that someone made up before the newest head are opened several at once", async () => {
  const given = await testRepository([rule]);
  const { marker } = await storeBackup(given, web, "web", { generation: NOW, packs: [] });
  await makeUp(given, "web", NOW);
  const { counts, repository } = await distant(given);
  await repository.settings();
  expect(counts).toMatchObject({ asked: 0, atOnce: 1 });
  expect((await repository.newest("web"))?.marker).toEqual(marker);
  expect(counts).toMatchObject({ asked: MADE_UP, atOnce: 8 });
});

test("heads behind made-up markers are read only when they are asked for", async () => {
  const given = await testRepository([rule]);
  for (let i = 0; i < 12; i++) {
    await storeBackup(given, web, "web", { generation: NOW + i, packs: [] });
  }
  await makeUp(given, "web", NOW + 12);
  const { counts, repository } = await distant(given);
  await repository.settings();
  const before = counts.all;
  const generations: number[] = [];
  for await (const { head } of repository.snapshots("web")) {
    generations.push(head.generation);
    if (generations.length === 10) break;
  }
  expect(generations).toEqual(Array.from({ length: 10 }, (_, i) => NOW + 11 - i));
  expect(counts.all - before).toBe(MADE_UP + 10);
});

test("a change of settings opens each marker that someone made up once, several at once", async () => {
  const given = await testRepository([rule]);
  given.clock.now = NOW + 1000;
  // The settings in force are newer.
  await allowWriter(await given.open(), given.recipients, [{ ...rule, pattern: "db" }]);
  await makeUp(given, "", NOW);
  const { counts, repository } = await distant(given);
  await revokeWriter(repository, given.recipients, web.writer);
  expect(counts).toMatchObject({ asked: MADE_UP, atOnce: 8 });
});

test("a revocation opens markers ahead of the time of the store several at once", async () => {
  const given = await testRepository([rule]);
  const ahead = await storeBackup(given, web, "web", { generation: NOW + 5000, packs: [] });
  await makeUp(given, "web", NOW + 5000);
  const { counts, repository } = await distant(given);
  const { head } = await revokeWriter(repository, given.recipients, web.writer);
  expect(head.settings.rules[0]!.lastGeneration).toBe(ahead.marker.generation);
  expect(counts).toMatchObject({ asked: MADE_UP, atOnce: 8 });
});
