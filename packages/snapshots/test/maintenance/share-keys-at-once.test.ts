/*
 * An owner who gives keys to a late reader while another one, who does not know of that reader, joins or changes
 * the settings: whatever the order, the reader can read once the first has ended.
 *
 * `IDK_TEST_SLOW=1` tries every order of joins.
 */
import {
  type Act,
  type Choice,
  inEveryOrder,
  runOwners,
  textOf,
} from "../support/owners-at-once.ts";
import { NOW, all, testRepository } from "../support/repositories.ts";
import {
  bytes,
  storeFolder,
  storeHead,
  storeSnapshot,
  testSession,
} from "../support/repository-writer.ts";
import { isSettingsHead, settingsApart } from "../../src/rules/joining.ts";
import { expect, test } from "bun:test";
import { allowWriter } from "../../src/repository/settings.ts";
import { type Recipient, generateIdentity } from "@idk/storage";
import { openRepository } from "../../src/repository/open.ts";
import { openSnapshot } from "../../src/read/open-snapshot.ts";
import { randomFrom } from "./model/random.ts";
import { shareKeys } from "../../src/maintenance/share-keys.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const SEEDS = 60;
const TIMEOUT = 60 * 60 * 1000;
const { writer } = writerKeyFromSeed(new Uint8Array(32).fill(2));
const RULE = { writer, pattern: "web", mayForget: false };

/** A repository with a snapshot, and settings that are apart if another owner is to join them. */
async function repositoryToShare(isApart: boolean) {
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
  const { head, marker } = await (await given.open()).settings();
  for (const more of isApart ? [1, 2] : []) {
    const { graceSeconds, rules } = head.settings;
    await storeHead(given, given.owner, {
      ...head,
      generation: head.generation + more,
      previous: [marker.address],
      settings: { graceSeconds: graceSeconds + more, rules },
    });
  }
  return { given, store };
}

/** @returns whether the other owner was not later than the one who shared keys */
async function shareInOrder(choose: Choice, isApart: boolean): Promise<boolean> {
  const { given, store } = await repositoryToShare(isApart);
  const late = await generateIdentity();
  const both = [...given.recipients, late.recipient];
  const acts: Act[] = [
    async (repository) => shareKeys(repository, both),
    async (repository) => allowWriter(repository, given.recipients, [RULE]),
  ];
  const ending = await runOwners(given, acts, choose);
  if (ending === undefined) return false;
  const order = textOf(ending.steps);
  const failed = ending.results.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  const heads = (await all((await given.open()).heads())).filter((found) => isSettingsHead(found));
  const newest = heads[0]!;
  const { rules, graceSeconds } = newest.head.settings;
  const state = { failed, rules, apart: settingsApart(heads).length };
  expect([order, state]).toEqual([
    order,
    { failed: [], rules: [{ ...RULE, lastGeneration: null }], apart: 0 },
  ]);
  expect(graceSeconds).toBe(given.pinned.graceSeconds + (isApart ? 2 : 0));
  // What the other owner writes after that is a change that comes later.
  const shared = ending.steps.findLastIndex(({ owner }) => owner === 0);
  if (ending.steps.findLastIndex(({ owner, kind }) => owner === 1 && kind === "put") > shared)
    return false;
  const reader = await openRepository({
    backend: given.backend,
    pinned: given.pinned,
    identities: [late],
    memory: volatileHeadMemory(),
  });
  const { marker } = await reader.settings();
  expect([order, marker.address]).toEqual([order, newest.marker.address]);
  await store(both, given.clock.now);
  const found = await reader.newest("home");
  if (found?.head.kind !== "snap") throw new Error("the late reader finds no snapshot");
  const snapshot = await openSnapshot(reader, { ...found, head: found.head });
  expect(Buffer.concat(await all(snapshot.content("a"))).toString()).toBe("hello");
  return true;
}

test("a late reader can read although another owner changes the settings meanwhile, in every order", async () => {
  let orders = 0;
  await inEveryOrder(async (choose) => {
    if (await shareInOrder(choose, false)) orders += 1;
  });
  expect(orders).toBeGreaterThan(10);
});

test(
  `a late reader can read although another owner joins settings meanwhile, in ${SLOW ? "every order" : `${SEEDS} orders`}`,
  async () => {
    let orders = 0;
    const runOne = async (choose: Choice) => {
      if (await shareInOrder(choose, true)) orders += 1;
    };
    if (SLOW) await inEveryOrder(runOne);
    for (let seed = 1; !SLOW && seed <= SEEDS; seed++) {
      const random = randomFrom(seed);
      await runOne(({ length }) => random.upTo(length - 1));
    }
    expect(orders).toBeGreaterThan(SEEDS / 6);
  },
  TIMEOUT,
);
