import { expect, test } from "bun:test";
import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { StorageError, wrapBackend } from "@idk/storage";
import { allowWriter, changeSettings, revokeWriter } from "../../src/repository/settings.ts";
import { check } from "../../src/maintenance/check/check.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { revoke } from "../../src/rules/granting.ts";
import { storeHead } from "../support/repository-writer.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const GRACE = 7 * 24 * 60 * 60 * 1000;
const web = writerKeyFromSeed(new Uint8Array(32).fill(2));
const other = writerKeyFromSeed(new Uint8Array(32).fill(3));
const webRule = { writer: web.writer, pattern: "web", mayForget: false, lastGeneration: null };

async function markers({ backend }: OwnRepository): Promise<string[]> {
  return (await all(backend.listMarkers!(""))).map(({ name }) => name);
}

async function pruned(given: OwnRepository): Promise<void> {
  await prune(await given.open());
}

/** Settings without a change, which joins them if some are apart. */
async function joined(given: OwnRepository) {
  const { head, marker } = await changeSettings(await given.open(), given.recipients, (now) => now);
  return { ...head, address: marker.address };
}

/** An owner who writes settings a millisecond apart, whatever others there are. */
async function settingsWriter(given: OwnRepository) {
  const { head, marker } = await (await given.open()).settings();
  given.clock.now = Math.max(given.clock.now, head.generation);
  const store = async (written: typeof head) => {
    const { address } = await storeHead(given, given.owner, written);
    return { ...written, address };
  };
  const base = { ...head, address: marker.address };
  return {
    base,
    put: async (settings: typeof head.settings, { address }: typeof base) => {
      given.clock.now += 1;
      return store({ ...head, generation: given.clock.now, previous: [address], settings });
    },
    /** Stores the same head under another address, as everyone can who reads it. */
    copy: store,
  };
}

test("settings that are apart stay until they are joined", async () => {
  const given = await testRepository([webRule]);
  const { base, put } = await settingsWriter(given);
  await put(revoke(base.settings, web.writer, 5), base);
  await put({ ...base.settings, graceSeconds: GRACE / 1000 + 1 }, base);
  given.clock.now += 3 * GRACE;
  await pruned(given);
  expect((await markers(given)).length).toBe(3);
  const { settings } = await joined(given);
  expect(settings.graceSeconds).toBe(GRACE / 1000 + 1);
  expect(settings.rules[0]!.lastGeneration).toBe(5);
  given.clock.now += 2 * GRACE;
  await pruned(given);
  expect((await markers(given)).length).toBe(1);
});

test("settings that are apart stay, whatever is stored again of those before them", async () => {
  const given = await testRepository([webRule]);
  const { base, put, copy } = await settingsWriter(given);
  const middle = await put(base.settings, base);
  await put(revoke(base.settings, web.writer, 5), base);
  await put({ ...base.settings, graceSeconds: GRACE / 1000 + 1 }, middle);
  // Listed before the other one.
  while ((await copy(middle)).address > middle.address);
  given.clock.now += 3 * GRACE;
  const before = await markers(given);
  await pruned(given);
  expect(await markers(given)).toEqual(before);
});

test("settings that are stored again after a prune are not new", async () => {
  const given = await testRepository([webRule]);
  const { base, put, copy } = await settingsWriter(given);
  const ended = await put(revoke(base.settings, web.writer, 5), base);
  const newest = await put(base.settings, ended);
  given.clock.now += GRACE;
  await pruned(given);
  expect((await markers(given)).length).toBe(1);
  await copy(base);
  await copy(ended);
  expect((await check(await given.open())).problems.fork).toBe(0);
  const { settings, previous } = await joined(given);
  expect(settings).toEqual(base.settings);
  expect(previous).toEqual([newest.address]);
});

/** A prune that is killed after so many deletions; false if it has ended before. */
async function killed(given: OwnRepository, deletions: number): Promise<boolean> {
  let left = deletions;
  const count = () => {
    left -= 1;
    if (left < 0) throw new StorageError("unavailable", "the machine is off");
  };
  const backend = wrapBackend(given.backend, {
    delete: (erase) => async (name, options) => {
      count();
      await erase(name, options);
    },
    deleteMarker: (erase) => async (name, options) => {
      count();
      await erase(name, options);
    },
  });
  const repository = await given.open(volatileHeadMemory(), backend);
  return prune(repository, { concurrency: 1 }).then(
    () => false,
    () => true,
  );
}

test.each(["apart", "joined"])(
  "a prune leaves settings that are %s as they were, wherever it is killed",
  async (state) => {
    const isApart = state === "apart";
    for (let deletions = 0, isKilled = true; isKilled; deletions++) {
      const given = await testRepository([webRule]);
      const { base, put } = await settingsWriter(given);
      // Two owners end with the same: one has revoked and allowed, the other has only stored them again.
      const ended = await put(revoke(base.settings, web.writer, 5), base);
      await put(base.settings, ended);
      await put(base.settings, base);
      const newest = isApart ? undefined : await joined(given);
      given.clock.now += 2 * GRACE;
      isKilled = await killed(given, deletions);
      const { settings, previous } = await joined(given);
      expect([deletions, settings]).toEqual([deletions, base.settings]);
      if (newest !== undefined) expect(previous).toEqual([newest.address]);
      // What was apart stays until it is joined.
      expect(isKilled).toBe(!isApart && deletions < 2 * 5);
    }
  },
);

test("a join that comes late takes nothing away: what was apart stays until nobody can join it again", async () => {
  const given = await testRepository([webRule]);
  const { base, put } = await settingsWriter(given);
  await put({ ...base.settings, graceSeconds: GRACE / 1000 + 1 }, base);
  await put({ ...base.settings, graceSeconds: GRACE / 1000 + 2 }, base);
  given.clock.now += 3 * GRACE;
  const rule = { writer: other.writer, pattern: "db", mayForget: false };
  // It has read both, and is killed behind the put of its join.
  const late = wrapBackend(given.backend, {
    putMarker: (putMarker) => async (name, options) => {
      given.clock.now += 1;
      await joined(given);
      await pruned(given);
      await allowWriter(await given.open(), given.recipients, [rule]);
      await putMarker(name, options);
      throw new StorageError("unavailable", "the machine is off");
    },
  });
  const repository = await given.open(volatileHeadMemory(), late);
  const change = changeSettings(repository, given.recipients, (now) => now);
  expect(await change.catch((error: unknown) => String(error))).toContain("the machine is off");
  const { settings } = await joined(given);
  expect(settings.rules).toContainEqual({ ...rule, lastGeneration: null });
});

test("a change that was put off for too long does not undo what others did meanwhile", async () => {
  const given = await testRepository([webRule]);
  const { recipients } = given;
  const rule = { writer: other.writer, pattern: "db", mayForget: false };
  let isAsleep = true;
  const asleep = wrapBackend(given.backend, {
    put: (put) => async (address, blob, options) => {
      if (isAsleep) {
        isAsleep = false;
        given.clock.now += 1;
        await revokeWriter(await given.open(), recipients, web.writer);
        given.clock.now += 1;
        await changeSettings(await given.open(), recipients, (now) => now);
        given.clock.now += 3 * GRACE;
        await pruned(given);
      }
      await put(address, blob, options);
    },
  });
  const repository = await given.open(volatileHeadMemory(), asleep);
  const change = allowWriter(repository, recipients, [rule]);
  expect(await change.catch((error: unknown) => String(error))).toContain("half the grace period");
  // Nothing is left of it that counts.
  expect((await markers(given)).length).toBe(1);
  const { settings } = await joined(given);
  expect(settings.rules.map(({ lastGeneration }) => lastGeneration)).toEqual([expect.any(Number)]);
});

test.each([
  ["just in time", GRACE / 2, undefined],
  ["too late", GRACE / 2 + 1, "half the grace period"],
])("an owner is told of a change whose marker is stored %s", async (_, ms, told) => {
  const given = await testRepository([webRule]);
  const slow = wrapBackend(given.backend, {
    putMarker: (putMarker) => async (name, options) => {
      given.clock.now += ms;
      await putMarker(name, options);
    },
  });
  const repository = await given.open(volatileHeadMemory(), slow);
  const change = revokeWriter(repository, given.recipients, web.writer);
  const said = await change.then(() => "", String);
  expect(said).toContain(told ?? "");
  expect(said === "").toBe(told === undefined);
});
