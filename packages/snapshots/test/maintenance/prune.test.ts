import { type Backend, StorageError, wrapBackend } from "@idk/storage";
import { describe, expect, test } from "bun:test";
import { type AbstractBackup, storeBackup, storePack } from "../support/abstract-backup.ts";
import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { close, revoke } from "../../src/rules/granting.ts";
import { changeSettings } from "../../src/repository/settings.ts";
import { type Address } from "@idk/storage";
import { type Marker, formatMarker } from "../../src/format/names/marker.ts";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { storeHead } from "../support/repository-writer.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const GRACE = 7 * DAY;
const web = writerKeyFromSeed(new Uint8Array(32).fill(2));
const webRule = { writer: web.writer, pattern: "web", mayForget: false, lastGeneration: null };

async function failure(promise: Promise<unknown>): Promise<StorageError> {
  const outcome = await promise.then(
    () => undefined,
    (error: StorageError) => error,
  );
  if (outcome === undefined) throw new Error("it succeeded");
  return outcome;
}

async function blobs({ backend }: OwnRepository): Promise<Set<string>> {
  return new Set((await all(backend.list(""))).map(({ name }) => name));
}

async function markers({ backend }: OwnRepository): Promise<string[]> {
  return (await all(backend.listMarkers!(""))).map(({ name }) => name);
}

interface Day {
  readonly backup: AbstractBackup;
  /** The pack that only this one has. */
  readonly own: Address;
}

/** A snapshot a day, each with a pack that all have, one of its own, and one that the next one has. */
async function days(given: OwnRepository, count: number, name = "home", key = given.owner) {
  const shared = await storePack(given);
  const made: Day[] = [];
  let before = await storePack(given);
  for (let day = 0; day < count; day++) {
    given.clock.now += DAY;
    const [own, next] = [await storePack(given), await storePack(given)];
    const generation = given.clock.now;
    const base = made.at(-1)?.backup;
    const packs = [shared, before, own, next];
    made.push({ backup: await storeBackup(given, key, name, { generation, packs, base }), own });
    before = next;
  }
  given.clock.now += 1000;
  return { shared, made };
}

async function keepLast(given: OwnRepository, last: number): Promise<void> {
  const repository = await given.open();
  await forget(repository, { policy: { last }, recipients: given.recipients });
}

async function pruned(given: OwnRepository, options = {}) {
  return prune(await given.open(), options);
}

/** What every snapshot that is marked needs, and not yet dead, is there. */
async function expectWhole(given: OwnRepository, kept: readonly Day[]): Promise<void> {
  const there = await blobs(given);
  for (const { backup } of kept) {
    const packs = Buffer.from(backup.packs).toString("hex").match(/.{64}/gu) ?? [];
    const needed = [backup.marker.address, backup.snapshot, ...packs];
    for (const { address } of backup.reaches) needed.push(address);
    expect(needed.filter((name) => !there.has(name))).toEqual([]);
  }
}

describe("prune", () => {
  test("deletes what only forgotten snapshots need, a grace period later", async () => {
    const given = await testRepository();
    const { made, shared } = await days(given, 6);
    given.clock.now += 2 * GRACE;
    await keepLast(given, 2);
    const before = await blobs(given);
    given.clock.now += GRACE - 1;
    const early = await pruned(given);
    expect(early.deleted).toEqual({ markers: 0, blobs: 0, bytes: 0 });
    expect(early.missing).toBe(0);
    expect(await blobs(given)).toEqual(before);
    expect(early.later.length).toBe(1);

    given.clock.now += 1;
    const dry = await pruned(given, { dryRun: true });
    expect(await blobs(given)).toEqual(before);
    const { deleted, missing } = await pruned(given);
    expect(deleted).toEqual(dry.deleted);
    expect(missing).toBe(0);
    const { markers: gone, ...freed } = deleted;
    expect(early.later).toEqual([{ at: expect.any(Number), ...freed }]);
    const there = await blobs(given);
    for (const { own, backup } of made.slice(0, 4)) {
      expect(there.has(own)).toBe(false);
      expect(there.has(backup.marker.address)).toBe(false);
      expect(there.has(backup.snapshot)).toBe(false);
    }
    expect(there.has(shared)).toBe(true);
    await expectWhole(given, made.slice(4));
    // What forgot them stays until something newer does, for machines remember the newest of each chain.
    expect(gone).toBe(4);
    expect((await markers(given)).length).toBe(4);
    expect((await pruned(given)).deleted).toEqual({ markers: 0, blobs: 0, bytes: 0 });
  });

  test("takes one request for each head and list of packs, and reads no pack", async () => {
    const given = await testRepository();
    const { made } = await days(given, 30);
    given.clock.now += GRACE;
    await keepLast(given, 15);
    given.clock.now += GRACE;
    const read: string[] = [];
    const counting = wrapBackend(given.backend, {
      get: (get) => async (name, buffer, options) => {
        read.push(name);
        return get(name, buffer, options);
      },
      getRange: (get) => async (name, offset, buffer, options) => {
        read.push(name);
        return get(name, offset, buffer, options);
      },
    });
    const repository = await given.open(volatileHeadMemory(), counting);
    await prune(repository);
    const packs = new Set(
      made.flatMap(
        ({ backup }) => Buffer.from(backup.packs).toString("hex").match(/.{64}/gu) ?? [],
      ),
    );
    expect(read.filter((name) => packs.has(name))).toEqual([]);
    // 30 snapshots, the settings twice, the forgetting; a list for each.
    expect(read.length).toBeLessThanOrEqual(30 + 2 + 1 + 30);
    await expectWhole(given, made.slice(15));
  });

  test("keeps what a newer snapshot has replaced for as long, too", async () => {
    const given = await testRepository();
    const { made } = await days(given, 1);
    const { marker } = made[0]!.backup;
    // By a program that does not keep the newest.
    await storeHead(given, given.owner, {
      kind: "forget",
      name: ".",
      generation: given.clock.now,
      markers: [marker],
    });
    given.clock.now += 2 * GRACE;
    await pruned(given);
    await expectWhole(given, made);
    await days(given, 1);
    given.clock.now += GRACE - 2000;
    await pruned(given);
    await expectWhole(given, made);
    given.clock.now += 2000;
    await pruned(given);
    expect((await blobs(given)).has(made[0]!.own)).toBe(false);
  });

  test("keeps what is young, whatever needs it", async () => {
    const given = await testRepository();
    await days(given, 1);
    given.clock.now += GRACE;
    const stray = await storePack(given);
    given.clock.now += GRACE - 1;
    const { deleted, later } = await pruned(given);
    expect(deleted.blobs).toBe(0);
    expect(later.reduce((sum, { blobs }) => sum + blobs, 0)).toBe(1);
    given.clock.now += 1;
    await pruned(given);
    expect((await blobs(given)).has(stray)).toBe(false);
  });

  test("keeps packs of a part until it has a newer head", async () => {
    const given = await testRepository();
    const packs = [await storePack(given)];
    const generation = given.clock.now;
    await storeBackup(given, given.owner, "home", { generation, packs, kind: "part" });
    given.clock.now += 3 * GRACE;
    await pruned(given);
    expect((await blobs(given)).has(packs[0]!)).toBe(true);
    await days(given, 1);
    given.clock.now += GRACE - 2000;
    await pruned(given);
    expect((await blobs(given)).has(packs[0]!)).toBe(true);
    given.clock.now += 2000;
    await pruned(given);
    expect((await blobs(given)).has(packs[0]!)).toBe(false);
  });

  test("of a closed chain everything can go", async () => {
    const given = await testRepository();
    const { made } = await days(given, 2);
    const part = await storePack(given);
    given.clock.now += HOUR;
    const generation = given.clock.now;
    await storeBackup(given, given.owner, "other", { generation, packs: [part], kind: "part" });
    given.clock.now += HOUR;
    const repository = await given.open();
    await changeSettings(repository, given.recipients, (settings, now) =>
      close(close(settings, "home", now), "other", now),
    );
    const snapshots = await all(repository.snapshots("home"));
    await forget(repository, { snapshots, recipients: given.recipients });
    given.clock.now += GRACE - 1;
    await pruned(given);
    await expectWhole(given, made);
    expect((await blobs(given)).has(part)).toBe(true);
    given.clock.now += 1;
    await pruned(given);
    const there = await blobs(given);
    expect(made.some(({ own }) => there.has(own))).toBe(false);
    expect(there.has(part)).toBe(false);
    expect((await markers(given)).length).toBe(2);
    expect((await pruned(given)).deleted.blobs).toBe(0);
  });

  test("of a closed chain the rest goes after an interruption", async () => {
    const given = await testRepository();
    const { made } = await days(given, 2);
    const repository = await given.open();
    await changeSettings(repository, given.recipients, (settings, now) =>
      close(settings, "home", now),
    );
    const snapshots = await all(repository.snapshots("home"));
    await forget(repository, { snapshots, recipients: given.recipients });
    given.clock.now += GRACE;
    const off = wrapBackend(given.backend, {
      delete: () => async () => {
        throw new StorageError("unavailable", "the machine is off");
      },
    });
    const error = await failure(prune(await given.open(volatileHeadMemory(), off)));
    expect(error.code).toBe("unavailable");
    expect((await markers(given)).length).toBe(2);
    await pruned(given);
    const there = await blobs(given);
    expect(made.some(({ own }) => there.has(own))).toBe(false);
  });

  test("deletes markers first, and those that forget after what they forget", async () => {
    const given = await testRepository();
    const { made } = await days(given, 4);
    await keepLast(given, 3);
    given.clock.now += HOUR;
    await keepLast(given, 2);
    given.clock.now += GRACE;
    const order: string[] = [];
    const forgets = (await all((await given.open()).heads())).filter(
      ({ head }) => head.kind === "forget",
    );
    const backend = wrapBackend(given.backend, {
      delete: (erase) => async (name, options) => {
        order.push("blob");
        await erase(name, options);
      },
      deleteMarker: (erase) => async (name, options) => {
        const isForget = forgets.some(({ marker }) => formatMarker(marker) === name);
        order.push(isForget ? "forget" : "snap");
        await erase(name, options);
      },
    });
    await prune(await given.open(volatileHeadMemory(), backend), { concurrency: 1 });
    expect(order.slice(0, 4)).toEqual(["snap", "snap", "forget", "blob"]);
    expect(order.lastIndexOf("forget")).toBe(2);
    await expectWhole(given, made.slice(2));
  });

  test("deletes many at once from a distant store", async () => {
    const given = await testRepository();
    const { made } = await days(given, 2);
    for (let i = 0; i < 200; i++) await storePack(given);
    given.clock.now += 2 * GRACE;
    let [now, most] = [0, 0];
    const far = wrapBackend(given.backend, {
      delete:
        (erase) =>
        async (...rest) => {
          now += 1;
          most = Math.max(most, now);
          await Bun.sleep(30);
          now -= 1;
          await erase(...rest);
        },
    });
    const repository = await given.open(volatileHeadMemory(), far);
    const { deleted } = await prune(repository);
    expect(deleted.blobs).toBe(200);
    expect([most > 16, now]).toEqual([true, 0]);
    await expectWhole(given, made);
  });

  test("refuses more requests in flight than there may be, before anything else", async () => {
    const given = await testRepository();
    for (const concurrency of [0, 65]) {
      expect((await failure(pruned(given, { concurrency }))).code).toBe("usage");
    }
  });

  test("a young copy of a head keeps it", async () => {
    const given = await testRepository();
    const { made } = await days(given, 2);
    const repository = await given.open();
    const [, oldest] = await all(repository.snapshots("home"));
    await keepLast(given, 1);
    given.clock.now += GRACE;
    // One that comes after it in the order of names.
    let copy: Marker;
    do {
      copy = await storeHead(given, given.owner, oldest!.head, { withMarker: false });
    } while (copy.address < oldest!.marker.address);
    await given.backend.putMarker!(formatMarker(copy));
    await pruned(given);
    await expectWhole(given, made);
    given.clock.now += GRACE;
    await pruned(given);
    expect((await blobs(given)).has(made[0]!.own)).toBe(false);
  });

  test("old settings go, a grace period after newer ones", async () => {
    const given = await testRepository();
    await days(given, 1);
    const repository = await given.open();
    await changeSettings(repository, given.recipients, (settings) => ({
      ...settings,
      graceSeconds: settings.graceSeconds * 2,
    }));
    given.clock.now += 2 * GRACE - 1;
    expect((await pruned(given)).graceSeconds).toBe((2 * GRACE) / 1000);
    expect((await markers(given)).length).toBe(3);
    given.clock.now += 1;
    await pruned(given);
    expect((await markers(given)).length).toBe(2);
  });

  test("keys stay until the owner forgets them", async () => {
    const given = await testRepository();
    await days(given, 1);
    const keys = await storePack(given);
    const generation = given.clock.now;
    const marker = await storeHead(given, given.owner, {
      kind: "keys",
      name: ".",
      generation,
      keys,
    });
    given.clock.now += 2 * GRACE;
    await pruned(given);
    expect((await blobs(given)).has(keys)).toBe(true);
    const repository = await given.open();
    await forget(repository, { markers: [marker], recipients: given.recipients });
    given.clock.now += GRACE;
    await pruned(given);
    expect((await blobs(given)).has(keys)).toBe(false);
  });

  test("one head under two addresses is one: its copy is no newer snapshot", async () => {
    const given = await testRepository();
    const { made } = await days(given, 2);
    const { marker } = made[1]!.backup;
    const repository = await given.open();
    const [newest] = await all(repository.snapshots("home"));
    given.clock.now += HOUR;
    // Sealed anew by someone: the same head, elsewhere.
    for (let copies = 0; copies < 4; copies++) {
      const copy = await storeHead(given, given.owner, { ...newest!.head });
      expect(copy.address).not.toBe(marker.address);
    }
    const named = { ...newest!, head: { ...newest!.head } };
    await storeHead(given, given.owner, {
      kind: "forget",
      name: ".",
      generation: given.clock.now,
      markers: [named.marker],
    });
    given.clock.now += 2 * GRACE;
    await pruned(given);
    await expectWhole(given, made.slice(1));
  });
});

describe("prune ends, and deletes nothing,", () => {
  async function endsWith(given: OwnRepository, code: string, part: string) {
    const before = [await blobs(given), await markers(given)];
    const error = await failure(pruned(given));
    expect(error.code).toBe(code as StorageError["code"]);
    expect(error.message).toContain(part);
    expect([await blobs(given), await markers(given)]).toEqual(before);
  }

  /** With something to delete. */
  async function prepared() {
    const given = await testRepository([webRule]);
    const { made } = await days(given, 3);
    await storePack(given);
    given.clock.now += HOUR;
    return { given, made };
  }

  test("without settings", async () => {
    const { given } = await prepared();
    const { marker } = await (await given.open()).settings();
    await given.backend.deleteMarker!(formatMarker(marker));
    given.clock.now += GRACE;
    await endsWith(given, "head", "has no settings");
  });

  test("where the newest of a chain is older than remembered", async () => {
    const { given, made } = await prepared();
    const memory = volatileHeadMemory();
    await all((await given.open(memory)).heads());
    await given.backend.deleteMarker!(formatMarker(made[2]!.backup.marker));
    given.clock.now += GRACE;
    const before = await blobs(given);
    expect((await failure(prune(await given.open(memory)))).code).toBe("rollback");
    expect(await blobs(given)).toEqual(before);
  });

  test("at a head that does not count, unless the owner forgets it", async () => {
    const { given } = await prepared();
    const packs = [await storePack(given)];
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const generation = given.clock.now;
    const { marker } = await storeBackup(given, thief, "web", { generation, packs });
    given.clock.now += GRACE;
    await endsWith(given, "head", "does not count");
    const repository = await given.open();
    await forget(repository, { markers: [marker], recipients: given.recipients });
    given.clock.now += GRACE - 1;
    await pruned(given);
    // It might still count again.
    expect((await blobs(given)).has(packs[0]!)).toBe(true);
    expect(await markers(given)).toContain(formatMarker(marker));
    given.clock.now += 1;
    await pruned(given);
    expect((await blobs(given)).has(packs[0]!)).toBe(false);
    expect(await markers(given)).not.toContain(formatMarker(marker));
  });

  test("where a writer forgets a head that does not count", async () => {
    const given = await testRepository([{ ...webRule, pattern: "*", mayForget: true }]);
    await days(given, 1, "web", web);
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const generation = given.clock.now;
    const { marker } = await storeBackup(given, thief, "web", { generation, packs: [] });
    await storeHead(given, web, {
      kind: "forget",
      name: ".",
      generation: given.clock.now,
      markers: [marker],
    });
    given.clock.now += 2 * GRACE;
    await endsWith(given, "head", "does not count");
  });

  test("at what a key wrote that may no longer write", async () => {
    const given = await testRepository([webRule]);
    const { made } = await days(given, 2, "web", web);
    const repository = await given.open();
    const last = made[0]!.backup.marker.generation;
    await changeSettings(repository, given.recipients, (settings) =>
      revoke(settings, web.writer, last),
    );
    given.clock.now += 2 * GRACE;
    await endsWith(given, "head", "may no longer write");
  });

  test("at a list of packs that it cannot read", async () => {
    const { given, made } = await prepared();
    const { address } = made[1]!.backup.reaches.at(-1)!;
    await given.backend.delete(address);
    given.clock.now += GRACE;
    await endsWith(given, "not-found", "cannot be read, so nothing is deleted");
    await given.backend.put(address, new Uint8Array(500));
    await endsWith(given, "address", "cannot be read, so nothing is deleted");
  });

  test("where markers are lost", async () => {
    const { given, made } = await prepared();
    await given.backend.deleteMarker!(formatMarker(made[2]!.backup.marker));
    given.clock.now += GRACE - 2 * HOUR;
    // Young, so that it may be a backup that runs.
    await pruned(given);
    given.clock.now += 4 * HOUR;
    await endsWith(given, "head", 'lost the marker, such as a snapshot of "home"');
    const then =
      "After that, to delete the others too, prune with acceptLostHeads (idk prune --accept-lost)";
    await endsWith(given, "head", then);
    await pruned(given, { acceptLostHeads: true });
    expect((await blobs(given)).has(made[2]!.own)).toBe(false);
    await expectWhole(given, made.slice(0, 2));
  });

  test("where markers are lost, also of heads that are longer than listed", async () => {
    const { given, made } = await prepared();
    await given.backend.deleteMarker!(formatMarker(made[2]!.backup.marker));
    given.clock.now += GRACE + 2 * HOUR;
    const listsTooShort = wrapBackend(given.backend, {
      list: (list) =>
        async function* listed(...rest) {
          for await (const blob of list(...rest)) yield { ...blob, size: Math.min(blob.size, 100) };
        },
    });
    const before = await blobs(given);
    const pruning = prune(await given.open(volatileHeadMemory(), listsTooShort));
    expect((await failure(pruning)).message).toContain("lost the marker");
    expect(await blobs(given)).toEqual(before);
  });

  test("where the marker of settings is lost", async () => {
    const { given } = await prepared();
    const repository = await given.open();
    const { marker } = await changeSettings(repository, given.recipients, (settings) => settings);
    await given.backend.deleteMarker!(formatMarker(marker));
    given.clock.now += GRACE;
    await endsWith(given, "head", "lost the marker, such as settings");
  });

  test("not where what has no marker is older, forged, not allowed or far ahead", async () => {
    const { given, made } = await prepared();
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const packs = [await storePack(given)];
    const withMarker = false;
    const generation = given.clock.now + HOUR;
    await storeBackup(given, thief, "home", { generation, packs, withMarker });
    const { owner } = given;
    await storeBackup(given, owner, "home", { generation: 5, packs, withMarker });
    // Such as a stolen key signs. No marker makes it count.
    const ahead = 2 ** 53 - 1;
    await storeBackup(given, owner, "home", { generation: ahead, packs, withMarker });
    await storeBackup(given, web, "web", { generation: ahead, packs, withMarker });
    given.clock.now += GRACE;
    await pruned(given);
    expect((await blobs(given)).has(packs[0]!)).toBe(false);
    await expectWhole(given, made);
  });

  test("if it is aborted before it deletes", async () => {
    const { given } = await prepared();
    given.clock.now += GRACE;
    const before = await blobs(given);
    const error = await failure(pruned(given, { signal: AbortSignal.abort() }));
    expect(error.code).toBe("aborted");
    expect(await blobs(given)).toEqual(before);
  });
});

/** A backend on which everything fails after so many requests. */
function failingAfter(inner: Backend, requests: number): { backend: Backend; left: () => number } {
  let left = requests;
  const check = () => {
    left -= 1;
    if (left < 0) throw new StorageError("unavailable", "the machine is off");
  };
  const backend = wrapBackend(inner, {
    get: (get) => async (name, buffer, options) => {
      check();
      return get(name, buffer, options);
    },
    delete: (erase) => async (name, options) => {
      check();
      return erase(name, options);
    },
    deleteMarker: (erase) => async (name, options) => {
      check();
      return erase(name, options);
    },
  });
  return { backend, left: () => left };
}

const addressOf = ({ address }: { readonly address: Address }) => address;

describe("an interrupted prune", () => {
  test("can be run again, wherever it ended", async () => {
    for (let requests = 0; ; requests++) {
      const given = await testRepository();
      const { made } = await days(given, 4);
      given.clock.now += GRACE;
      await keepLast(given, 2);
      given.clock.now += GRACE;
      const { backend, left } = failingAfter(given.backend, requests);
      const repository = await given.open(volatileHeadMemory(), backend);
      const outcome = await prune(repository, { concurrency: 1 }).then(
        () => "done",
        (error: StorageError) => error.code,
      );
      await expectWhole(given, made.slice(2));
      // Nothing that is marked lacks anything.
      const marked = new Set((await markers(given)).map((name) => name.slice(-64)));
      await expectWhole(
        given,
        made.filter(({ backup }) => marked.has(backup.marker.address)),
      );
      const again = await pruned(given);
      expect(again.missing).toBe(0);
      const there = await blobs(given);
      expect(made.slice(0, 2).some(({ own }) => there.has(own))).toBe(false);
      expect((await markers(given)).length).toBe(4);
      if (left() >= 0) {
        expect(outcome).toBe("done");
        break;
      }
      expect(outcome).toBe("unavailable");
    }
  });

  test.each(["head", "reach"])(
    "passes over a %s that another prune deletes meanwhile",
    async (what) => {
      const given = await testRepository();
      const { made } = await days(given, 4);
      given.clock.now += GRACE;
      await keepLast(given, 2);
      // To the first one it is not dead yet.
      given.clock.now += GRACE - 1;
      const kept = new Set(made.slice(2).flatMap(({ backup }) => backup.reaches.map(addressOf)));
      const dead = made.find(({ backup }) => !kept.has(addressOf(backup.reaches.at(-1)!)));
      const { marker, reaches } = dead!.backup;
      const overtaken = what === "head" ? marker.address : reaches.at(-1)!.address;
      let others = 0;
      const backend = wrapBackend(given.backend, {
        get: (get) => async (name, buffer, options) => {
          if (name === overtaken && others === 0) {
            others += 1;
            given.clock.now += 1;
            await pruned(given);
          }
          return get(name, buffer, options);
        },
      });
      await prune(await given.open(volatileHeadMemory(), backend));
      expect(others).toBe(1);
      await expectWhole(given, made.slice(2));
    },
  );
});
