import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { describe, expect, test } from "bun:test";
import { type AbstractBackup, storeBackup, storePack } from "../support/abstract-backup.ts";
import type { StorageError } from "@idk/storage";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { recover } from "../../src/maintenance/recover.ts";
import { storeHead } from "../support/repository-writer.ts";
import { wrapBackend } from "@idk/storage";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const DAY = 24 * 60 * 60 * 1000;

async function markers({ backend }: OwnRepository): Promise<string[]> {
  return (await all(backend.listMarkers!(""))).map(({ name }) => name);
}

/** Four snapshots, of which the oldest is forgotten. */
async function prepared() {
  const given = await testRepository();
  const backups: AbstractBackup[] = [];
  for (let day = 0; day < 4; day++) {
    given.clock.now += DAY;
    const generation = given.clock.now;
    const packs = [await storePack(given), await storePack(given)];
    const base = backups.at(-1);
    backups.push(await storeBackup(given, given.owner, "home", { generation, packs, base }));
  }
  const repository = await given.open();
  await forget(repository, { policy: { last: 3 }, recipients: given.recipients });
  return { given, backups };
}

async function loseMarkers({ backend }: OwnRepository): Promise<string[]> {
  const lost = (await all(backend.listMarkers!(""))).map(({ name }) => name);
  for (const name of lost) await backend.deleteMarker!(name);
  return lost;
}

describe("recover", () => {
  test("writes all markers again, those that forget before what they forget", async () => {
    const { given } = await prepared();
    const before = await loseMarkers(given);
    const repository = await given.open();
    const dry = await recover(repository, { dryRun: true });
    expect(dry.recovered.length).toBe(6);
    expect(await markers(given)).toEqual([]);
    const order: string[] = [];
    const backend = wrapBackend(given.backend, {
      putMarker: (put) => async (name, options) => {
        order.push(name);
        await put(name, options);
      },
    });
    const stages = new Set<string>();
    const watched = await given.open(undefined, backend);
    const report = await recover(watched, { onProgress: ({ stage }) => stages.add(stage) });
    expect(report.lost).toEqual([]);
    expect(report.refused).toEqual([]);
    expect(await markers(given)).toEqual(before);
    expect([...stages]).toEqual(["blobs", "heads", "checking"]);
    const kinds = order.map(
      (name) => report.recovered.find(({ marker }) => formatMarker(marker) === name)?.head.kind,
    );
    expect(kinds).toEqual(["repo", "forget", "snap", "snap", "snap", "snap"]);
    const after = await given.open();
    expect((await all(after.snapshots("home"))).length).toBe(4);
    // Nothing more to do.
    expect((await recover(after)).recovered).toEqual([]);
  });

  test("a prune that ended goes on after it", async () => {
    const { given, backups } = await prepared();
    const { marker } = backups[3]!;
    await given.backend.deleteMarker!(formatMarker(marker));
    given.clock.now += 8 * DAY;
    const error = await prune(await given.open()).then(
      () => undefined,
      (thrown: StorageError) => thrown,
    );
    expect(error?.message).toContain("run recover");
    const { recovered } = await recover(await given.open());
    expect(recovered.map((found) => found.marker)).toEqual([marker]);
    await prune(await given.open());
    expect((await all((await given.open()).snapshots("home"))).length).toBe(3);
  });

  test("leaves heads that lack something, and says what", async () => {
    const { given, backups } = await prepared();
    await loseMarkers(given);
    const pack = Buffer.from(backups[3]!.packs.subarray(0, 32)).toString("hex");
    const reach = backups[2]!.reaches.at(-1)!.address;
    const { snapshot } = backups[1]!;
    for (const blob of [pack, reach, snapshot]) await given.backend.delete(blob);
    const { recovered, lost } = await recover(await given.open());
    expect(recovered.map(({ head }) => head.kind).toSorted()).toEqual(["forget", "repo", "snap"]);
    const named = lost.map(({ error }) => error.message);
    expect(named.some((text) => text.includes(`needs the pack ${pack}`))).toBe(true);
    expect(named.some((text) => text.includes(reach))).toBe(true);
    expect(named.some((text) => text.includes(`needs the snapshot ${snapshot}`))).toBe(true);
    expect(lost.map(({ error }) => error.code)).toEqual(["not-found", "not-found", "not-found"]);
  });

  test("leaves what does not count, and copies of heads that are there", async () => {
    const { given, backups } = await prepared();
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const generation = given.clock.now;
    const withMarker = false;
    const packs = [await storePack(given)];
    await storeBackup(given, thief, "home", { generation, packs, withMarker });
    const ahead = generation + 2 * DAY;
    await storeBackup(given, given.owner, "home", { generation: ahead, packs, withMarker });
    const repository = await given.open();
    const [newest] = await all(repository.snapshots("home"));
    expect(newest!.marker).toEqual(backups[3]!.marker);
    // The copy's original is lost.
    await given.backend.deleteMarker!(formatMarker(newest!.marker));
    await storeHead(given, given.owner, newest!.head);
    const { recovered, refused } = await recover(await given.open());
    const why = refused.map(({ error }) => error.message).toSorted();
    expect(why.length).toBe(2);
    expect(why.some((text) => text.includes("may not write"))).toBe(true);
    expect(why.some((text) => text.includes("over a day ahead"))).toBe(true);
    // Of other chains the heads that have markers are not read, so a copy may come back: it is the same.
    expect(recovered.every(({ payloadHash }) => payloadHash === newest!.payloadHash)).toBe(true);
  });

  test("fails if there are no settings at all", async () => {
    const given = await testRepository();
    const { marker } = await (await given.open()).settings();
    await given.backend.deleteMarker!(formatMarker(marker));
    await given.backend.delete(marker.address);
    const error = await recover(await given.open()).then(
      () => undefined,
      (thrown: StorageError) => thrown,
    );
    expect(error?.code).toBe("head");
  });
});
