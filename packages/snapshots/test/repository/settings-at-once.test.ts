/*
 * Owners who change the settings at the same time: in every order of their listings and of the markers that
 * they put, and in random orders of all their requests, in which some are killed. Whatever it is, every change
 * is in force at the end, and no revocation is undone.
 *
 * An order of the second kind follows from its seed. `IDK_TEST_SLOW=1` tries more.
 */
import {
  type Act,
  type Choice,
  inEveryOrder,
  runOwners,
  textOf,
} from "../support/owners-at-once.ts";
import { StorageError, generateIdentity } from "@idk/storage";
import { Killed, turns } from "../maintenance/model/turns.ts";
import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import { type SettingsHead, isSettingsHead, settingsApart } from "../../src/rules/joining.ts";
import { allowWriter, changeSettings, revokeWriter } from "../../src/repository/settings.ts";
import { close, grantsSame } from "../../src/rules/granting.ts";
import { expect, test } from "bun:test";
import type { Repository } from "../../src/repository/repository.ts";
import type { Settings } from "../../src/format/records/settings.ts";
import { openRepository } from "../../src/repository/open.ts";
import { randomFrom } from "../maintenance/model/random.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const SEEDS = SLOW ? 3000 : 60;
const TIMEOUT = 60 * 60 * 1000;

const [web, db, ci] = [2, 3, 4].map((byte) => {
  return writerKeyFromSeed(new Uint8Array(32).fill(byte)).writer;
}) as [Writer, Writer, Writer];
type Writer = ReturnType<typeof writerKeyFromSeed>["writer"];
const ruleOf = (writer: Writer, pattern: string) => ({ writer, pattern, mayForget: false });
const DAY = 24 * 60 * 60;

/** What there is before: a right that is revoked, one that is not, and one that has ended. */
const RULES = [
  { ...ruleOf(web, "web-*"), lastGeneration: null },
  { ...ruleOf(db, "db"), lastGeneration: null },
  { ...ruleOf(db, "old"), lastGeneration: 5 },
];

/** What an owner does, and what has to hold of the settings at the end. */
interface Deed {
  readonly act: (repository: Repository, recipients: readonly string[]) => Promise<unknown>;
  readonly holds: (settings: Settings) => boolean;
}

const isOpen = ({ rules }: Settings, rule: ReturnType<typeof ruleOf>) =>
  rules.some((other) => grantsSame(other, rule) && other.lastGeneration === null);
const mayWrite = ({ rules }: Settings, key: Writer) =>
  rules.some(({ writer, lastGeneration }) => writer === key && lastGeneration === null);

const allowing = (writer: Writer, pattern: string): Deed => ({
  act: (repository, to) => allowWriter(repository, to, [ruleOf(writer, pattern)]),
  holds: (settings) => isOpen(settings, ruleOf(writer, pattern)),
});
const longer = (days: number): Deed => ({
  act: (repository, to) =>
    changeSettings(repository, to, (now) => {
      return { ...now, graceSeconds: Math.max(now.graceSeconds, days * DAY) };
    }),
  holds: ({ graceSeconds }) => graceSeconds >= days * DAY,
});

const DEEDS = {
  allow: allowing(ci, "ci"),
  "allow ended": allowing(db, "old"),
  // Of the key that another owner revokes: whether it holds depends on what it knew.
  "allow revoked": { ...allowing(web, "new"), holds: () => true },
  revoke: {
    act: (repository, to) => revokeWriter(repository, to, web),
    holds: () => true,
  },
  "longer grace": longer(20),
  "much longer grace": longer(30),
  close: {
    act: (repository, to) => changeSettings(repository, to, (now, time) => close(now, "db", time)),
    holds: ({ rules }) => rules.some(({ writer, pattern }) => writer === null && pattern === "db"),
  },
  share: {
    act: (repository, to) => changeSettings(repository, to, (now) => now, { forReaders: true }),
    holds: () => true,
  },
} as const satisfies Record<string, Deed>;
type Name = keyof typeof DEEDS;

/** Settings in force, with the heads of all. */
async function stateOf(given: OwnRepository) {
  const heads: readonly SettingsHead[] = (await all((await given.open()).heads())).filter((found) =>
    isSettingsHead(found),
  );
  return { heads, settings: heads[0]!.head.settings };
}

/**
 * Whether the key that was revoked may write no more than what it was given by someone who knew of that.
 */
function isRevokedInForce({ heads, settings }: Awaited<ReturnType<typeof stateOf>>): boolean {
  const parent = ({ head }: SettingsHead) =>
    heads.find(({ marker }) => marker.address === head.previous[0])?.head.settings;
  const wasRevoked = heads.some((found) => {
    const before = parent(found);
    return before !== undefined && mayWrite(before, web) && !mayWrite(found.head.settings, web);
  });
  if (!wasRevoked) return true;
  if (isOpen(settings, ruleOf(web, "web-*"))) return false;
  const giver = heads.findLast(({ head }) => isOpen(head.settings, ruleOf(web, "new")));
  const known = giver && parent(giver);
  const hasKnown = known !== undefined && !mayWrite(known, web);
  return hasKnown || !mayWrite(settings, web);
}

async function expectAllInForce(
  names: readonly Name[],
  given: OwnRepository,
  order: string,
): Promise<void> {
  const state = await stateOf(given);
  const failed = names.filter((name) => !DEEDS[name].holds(state.settings));
  expect({
    order,
    failed,
    isRevoked: isRevokedInForce(state),
    apart: settingsApart(state.heads).length,
  }).toEqual({ order, failed: [], isRevoked: true, apart: 0 });
}

/** The errors of deeds, which may only be that one lost to another of the same key. */
function expectConflictsOnly(
  names: readonly Name[],
  results: readonly PromiseSettledResult<unknown>[],
) {
  for (const [owner, result] of results.entries()) {
    if (result.status === "fulfilled") continue;
    expect(result.reason).toBeInstanceOf(StorageError);
    const message: string = result.reason.message;
    const isConflict =
      (names[owner] === "allow revoked" && message.includes("and it stays revoked")) ||
      (names[owner] === "revoke" && message.includes("to write again at the same time"));
    if (!isConflict) throw result.reason;
  }
}

/**
 * Runs owners in an order.
 *
 * @param more whom each owner seals settings to, besides itself
 * @returns undefined if the order is another one that was run, too
 */
async function run(
  names: readonly Name[],
  choose: Choice,
  more: readonly (readonly string[])[] = [],
) {
  const given = await testRepository(RULES);
  const acts = names.map((name, owner): Act => {
    const to = [...given.recipients, ...(more[owner] ?? [])];
    return async (repository) => DEEDS[name].act(repository, to);
  });
  const ending = await runOwners(given, acts, choose);
  return ending && { given, ...ending };
}

const TWO: readonly (readonly [Name, Name])[] = [
  ["allow", "revoke"],
  ["allow revoked", "revoke"],
  ["revoke", "revoke"],
  ["longer grace", "much longer grace"],
  ["close", "allow ended"],
  ["close", "close"],
];

test.each(TWO)("two owners at once, in every order: %s and %s", async (first, second) => {
  const names = [first, second];
  let orders = 0;
  await inEveryOrder(async (choose) => {
    const ending = await run(names, choose);
    if (ending === undefined) return;
    orders += 1;
    expectConflictsOnly(names, ending.results);
    await expectAllInForce(names, ending.given, textOf(ending.steps));
  });
  expect(orders).toBeGreaterThan(5);
});

test("who is a reader now stays one if another owner does not know of it, in every order", async () => {
  const late = await generateIdentity();
  let orders = 0;
  await inEveryOrder(async (choose) => {
    const ending = await run(["share", "allow"], choose, [[late.recipient]]);
    if (ending === undefined) return;
    const { given, steps } = ending;
    expectConflictsOnly(["share", "allow"], ending.results);
    await expectAllInForce(["share", "allow"], given, textOf(steps));
    const listed = steps.findLastIndex(({ owner, kind }) => owner === 0 && kind === "list");
    const put = steps.findLastIndex(({ owner, kind }) => owner === 1 && kind === "put");
    // What the other owner writes after that is a change that comes later.
    if (put > listed) return;
    orders += 1;
    const { backend, pinned } = given;
    const reader = await openRepository({
      backend,
      pinned,
      identities: [late],
      memory: volatileHeadMemory(),
    });
    const { address } = (await stateOf(given)).heads[0]!.marker;
    expect([textOf(steps), (await reader.settings()).marker.address]).toEqual([
      textOf(steps),
      address,
    ]);
  });
  expect(orders).toBeGreaterThan(5);
});

const THREE: readonly (readonly [Name, Name, Name])[] = [
  ["allow", "longer grace", "revoke"],
  ["allow revoked", "revoke", "close"],
  ["revoke", "close", "allow ended"],
];

test.each(THREE)(
  `three owners who have read the same, in ${SLOW ? "every order" : `${SEEDS} orders`}: %s, %s and %s`,
  async (first, second, third) => {
    const names = [first, second, third];
    const seen = new Set<string>();
    const runOne = async (choose: Choice) => {
      let reads = 0;
      const ending = await run(names, (waiting) => {
        reads += 1;
        return reads > 3 ? choose(waiting) : waiting.findIndex(({ kind }) => kind === "list");
      });
      if (ending === undefined) return;
      const order = textOf(ending.steps);
      seen.add(order);
      expectConflictsOnly(names, ending.results);
      await expectAllInForce(names, ending.given, order);
    };
    if (SLOW) await inEveryOrder(runOne);
    for (let seed = 1; !SLOW && seed <= SEEDS; seed++) {
      const random = randomFrom(seed);
      await runOne(({ length }) => random.upTo(length - 1));
    }
    expect(seen.size).toBeGreaterThan(SLOW ? 10_000 : SEEDS / 4);
  },
  TIMEOUT,
);

test(
  `three owners at once, of whom one may be killed, in ${SEEDS} orders of all requests`,
  async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = randomFrom(seed);
      const names = THREE[seed % THREE.length]!;
      const given = await testRepository(RULES);
      const schedule = turns(random, (error) => {
        throw error;
      });
      const results: PromiseSettledResult<unknown>[] = [];
      const owners = names.map((name, i) =>
        schedule.start(name, given.backend, async (backend) => {
          const repository = await given.open(volatileHeadMemory(), backend);
          const done = DEEDS[name].act(repository, given.recipients);
          [results[i]] = await Promise.allSettled([done]);
        }),
      );
      let doomed = random.oneIn(2) ? random.upTo(60) : Infinity;
      while (await schedule.step()) {
        given.clock.now += random.upTo(3);
        doomed -= 1;
        if (doomed === 0) random.pick(owners.filter((owner) => owner.isRunning()))?.kill();
      }
      const isKilled = (result: PromiseSettledResult<unknown>) =>
        result.status === "rejected" && result.reason instanceof Killed;
      const alive = names.filter((_, i) => !isKilled(results[i]!));
      expectConflictsOnly(
        alive,
        results.filter((result) => !isKilled(result)),
      );
      // What one that was killed has left is joined by the next change.
      if (alive.length < names.length) {
        await changeSettings(await given.open(), given.recipients, (settings) => settings);
      }
      await expectAllInForce(alive, given, `seed ${seed}`);
    }
  },
  TIMEOUT,
);
