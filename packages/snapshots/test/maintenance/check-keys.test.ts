import { type Address, type Backend, StorageError, addressOf, wrapBackend } from "@idk/storage";
import { type OwnRepository, testRepository } from "../support/repositories.ts";
import {
  type TestSession,
  bytes,
  storeFolder,
  storeSnapshot,
  testSession,
} from "../support/repository-writer.ts";
import { describe, expect, test } from "bun:test";
import type { CheckProblem } from "../../src/maintenance/check/problems.ts";
import type { BlobShard } from "../../src/maintenance/shard.ts";
import { check } from "../../src/maintenance/check/check.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

const DIGITS = Array.from({ length: 16 }, (_, digit) => digit.toString(16));

type Row = Awaited<ReturnType<TestSession["dataPack"]>>;

/** A session of which snapshots have the right key, or a wrong one. */
async function sharedSession() {
  const given = await testRepository();
  const session = testSession(given.backend, given.recipients);
  const wrong = testSession(given.backend, given.recipients).sessionKey();
  /** The newest is checked first. */
  const store = async (row: Row, isRight: boolean, seconds: number, ...more: Row[]) => {
    const own = testSession(given.backend, given.recipients);
    const rows = [row, ...more];
    const files = Object.fromEntries(rows.map((_, index) => [`${index}`, bytes("one")]));
    const tree = await storeFolder({ ...own, dataPack: async () => rows.shift()! }, files);
    const sessionKeys = new Map([
      [own.id, own.sessionKey()],
      [session.id, isRight ? session.sessionKey() : wrong],
    ]);
    const generation = given.clock.now + 1000 * seconds;
    return storeSnapshot(given, given.owner, "home", own, tree, {
      generation,
      sessionKeys,
    });
  };
  return { given, session, store };
}

/** Whose keys are wrong, and the faults of packs. */
async function faultsOf(given: OwnRepository, over?: Backend, shard?: BlobShard) {
  const problems: CheckProblem[] = [];
  const onProblem = (problem: CheckProblem) => problems.push(problem);
  await check(await given.open(volatileHeadMemory(), over), { onProblem, shard });
  return {
    keys: problems.flatMap((one) => (one.kind === "key" ? [one.found.marker.address] : [])),
    packs: problems.flatMap((one) => (one.kind === "pack" ? [one.error.code] : [])),
  };
}

/** A part that has all blobs but one. */
function allBut(address: Address): BlobShard {
  const start = address.slice(0, 8);
  const prefixes = Array.from(start, (own, at) =>
    DIGITS.filter((digit) => digit !== own).map((digit) => start.slice(0, at) + digit),
  ).flat();
  return { prefixes, count: 2, has: (name) => !name.startsWith(start) };
}

/** A store that lists a blob, and does not have it any more after so many reads. */
function losing({ backend }: OwnRepository, address: Address, reads: number): Backend {
  let left = reads;
  return wrapBackend(backend, {
    get: (get) => async (name, buffer, options) => {
      if (name === address) left -= 1;
      if (name === address && left < 0) throw new StorageError("not-found", "it is gone");
      return get(name, buffer, options);
    },
  });
}

describe.each([
  ["after", -1],
  ["before", 1],
])("a wrong key that is checked %s the right one", (_, seconds) => {
  test("is not found, and the right one not blamed, by a pack of both that is damaged", async () => {
    const { given, session, store } = await sharedSession();
    const row = await session.dataPack(bytes("one"));
    await store(row, true, 0);
    await store(row, false, seconds);
    const { size } = (await given.backend.head(row.address))!;
    await given.backend.put(row.address, new Uint8Array(size));
    expect(await faultsOf(given)).toEqual({ keys: [], packs: ["address"] });
  });

  test.each([
    ["damaged", "address"],
    ["missing", "not-found"],
  ] as const)("is found by a pack of its own if that of the other is %s", async (state, code) => {
    const { given, session, store } = await sharedSession();
    const row = await session.dataPack(bytes("one"));
    await store(row, true, 0);
    const wrong = await store(await session.dataPack(bytes("1")), false, seconds);
    let over = given.backend;
    if (state === "missing") over = losing(given, row.address, 0);
    else await given.backend.put(row.address, new Uint8Array(9));
    // The pack of the right one is not needed if the other is found to be wrong first.
    const packs = seconds > 0 ? [code] : [];
    expect(await faultsOf(given, over)).toEqual({ keys: [wrong.address], packs });
  });

  test.each([
    ["lost in another part", true],
    ["damaged", false],
  ])("is found by another pack if the first one is %s", async (_state, isLost) => {
    const { given, session, store } = await sharedSession();
    await store(await session.dataPack(bytes("one")), true, 0);
    const first = await session.dataPack(bytes("two"));
    const second = await session.dataPack(bytes("three"));
    const wrong = await store(first, false, seconds, second);
    if (isLost) await given.backend.delete(first.address);
    else await given.backend.put(first.address, new Uint8Array(9));
    const whole = await faultsOf(given);
    expect(whole.keys).toEqual([wrong.address]);
    const part = await faultsOf(given, given.backend, allBut(first.address));
    expect(part.keys).toEqual([wrong.address]);
  });

  test("is found by a pack that was sealed with damage", async () => {
    const { given, session, store } = await sharedSession();
    const row = await session.dataPack(bytes("one"));
    const blob = new Uint8Array(5000);
    const sealed = blob.subarray(0, await given.backend.get(row.address, blob));
    sealed[sealed.length - 1]! ^= 1;
    const damaged = { ...row, address: addressOf(sealed) };
    await given.backend.put(damaged.address, sealed);
    await store(damaged, true, 0);
    const wrong = await store(damaged, false, seconds);
    expect(await faultsOf(given)).toEqual({ keys: [wrong.address], packs: [] });
  });
});

test("a key is not blamed because the snapshot of the other one cannot be read again", async () => {
  const { given, session, store } = await sharedSession();
  const row = await session.dataPack(bytes("one"));
  await store(row, true, 0);
  await store(row, false, 1);
  const repository = await given.open();
  const found = (await repository.newest("home"))!;
  if (found.head.kind !== "snap") throw new Error("there is no snapshot");
  const over = losing(given, found.head.snapshot, 1);
  expect(await faultsOf(given, over)).toEqual({ keys: [], packs: [] });
});

test("a key that was found to be right is not forgotten for one of which a damaged pack proves nothing", async () => {
  const { given, session, store } = await sharedSession();
  await store(await session.dataPack(bytes("one")), true, 2);
  const damaged = await session.dataPack(bytes("two"));
  await store(damaged, false, 1);
  const wrong = await store(await session.dataPack(bytes("three")), false, 0);
  await given.backend.put(damaged.address, new Uint8Array(9));
  expect(await faultsOf(given)).toEqual({ keys: [wrong.address], packs: ["address"] });
});
