/** How often reading waits for a store at a distance, and how much it asks of it at once. */
import { type Address, type Backend, wrapBackend } from "@idk/storage";
import { afterEach, expect, setSystemTime, test } from "bun:test";
import { NOW, all, testRepository } from "../support/repositories.ts";
import { discoverRepository } from "../../src/repository/discover.ts";
import { openRepository } from "../../src/repository/open.ts";
import { recentHeads } from "../../src/repository/recent-heads.ts";
import { rememberedOf, volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { storeHead } from "../support/repository-writer.ts";
import { allowWriter, changeSettings, revokeWriter } from "../../src/repository/settings.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

afterEach(() => void setSystemTime());

const reach = "ab".repeat(32) as Address;
const part = (name: string, generation: number) =>
  ({ kind: "part", name, generation, reach, previous: [] }) as const;

/** Turns of the event loop in which nothing more is asked for: a slow machine does not take fewer. */
const IDLE_TURNS = 20;

/** A server of which the requests that are made together are answered together; `take` returns their names. */
function distant(inner: Backend) {
  const open = { listings: 0, long: 0, mostLong: 0 };
  let rounds: string[][] = [];
  let waiting: (() => void)[] = [];
  let arrived = 0;
  const answerOnceIdle = async (): Promise<void> => {
    arrived += 1;
    const last = arrived;
    for (let turn = 0; turn < IDLE_TURNS; turn++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (last !== arrived) return;
    }
    const answered = waiting;
    waiting = [];
    for (const answer of answered) answer();
  };
  const arrive = async (name: string): Promise<void> => {
    if (waiting.length === 0) rounds.push([]);
    rounds.at(-1)!.push(name);
    void answerOnceIdle();
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  };
  const backend = wrapBackend(inner, {
    get: (get) => async (name, buffer, options) => {
      const isLong = buffer.length > 64 * 1024;
      if (isLong) open.long += 1;
      open.mostLong = Math.max(open.mostLong, open.long);
      await arrive("get");
      return get(name, buffer, options).finally(() => {
        if (isLong) open.long -= 1;
      });
    },
    listMarkers: (list) =>
      async function* listed(prefix, options) {
        open.listings += 1;
        try {
          await arrive(prefix === "" ? "list" : "list one");
          yield* list(prefix, options);
        } finally {
          open.listings -= 1;
        }
      },
    currentTime: (time) => async (options) => time(options),
  });
  const take = (): readonly string[] => {
    const taken = rounds.map((names) =>
      [...new Set(names)]
        .map((one) => `${names.filter((name) => name === one).length} ${one}`)
        .toSorted()
        .join(", "),
    );
    rounds = [];
    return taken;
  };
  // Any response has the server's time.
  return { backend: { ...backend, clockAheadMs: () => Date.now() - NOW }, take, open };
}

async function atADistance() {
  const given = await testRepository();
  for (let i = 0; i < 20; i++) {
    for (let n = 0; n < 3; n++) await storeHead(given, given.owner, part(`home-${i}`, NOW + n));
  }
  const { backend, take, open: stillOpen } = distant(given.backend);
  const { identity } = given;
  const memory = volatileHeadMemory();
  const open = async (pinned: typeof given.pinned) =>
    openRepository({ backend, identities: [identity], writer: given.owner, pinned, memory });
  const discover = async () => (await discoverRepository({ backend, identity }))!;
  return { given, take, memory, open, discover, stillOpen };
}

test("a repository is found in two, and its settings need no third", async () => {
  const { given, take, open, discover } = await atADistance();
  const found = await discover();
  expect(found).toMatchObject(given.pinned);
  expect(take()).toEqual(["1 list", "21 get"]);
  const repository = await open(found);
  const { marker } = await repository.settings();
  expect(take()).toEqual([]);
  expect((await repository.settings({ refresh: true })).marker).toEqual(marker);
  // Their head was just read.
  expect(take()).toEqual(["1 list one"]);
  await all(repository.heads());
  const [listing, ...gets] = take();
  expect(listing).toBe("1 list, 1 list one");
  expect(gets.length).toBeLessThan(5);
  expect(gets.reduce((sum, names) => sum + parseInt(names), 0)).toBe(61 - 21);
});

test("settings are listed again where that is asked for, and by all that reads all heads", async () => {
  const { given, take, open, discover } = await atADistance();
  const change = async () =>
    changeSettings(await given.open(), given.recipients, (same) => ({
      ...same,
      graceSeconds: same.graceSeconds + 1,
    }));
  const found = await discover();
  const [once, all1] = [await open(found), await open(found)];
  const changed = await change();
  expect((await once.settings({ refresh: true })).marker).toEqual(changed.marker);
  take();
  await all(all1.heads());
  expect(take()[0]).toBe("1 list, 1 list one");
  expect((await all1.settings()).marker).toEqual(changed.marker);
});

test("settings that were asked for later stay known", async () => {
  const { given, discover } = await atADistance();
  const memory = volatileHeadMemory();
  const waiting = Promise.withResolvers<void>();
  let isFirst = true;
  const slow = {
    ...memory,
    async remember(heads: Parameters<typeof memory.remember>[0]) {
      const waits = isFirst;
      isFirst = false;
      if (waits) await waiting.promise;
      await memory.remember(heads);
    },
  };
  const { backend, identity } = given;
  const pinned = await discover();
  const repository = await openRepository({
    backend,
    identities: [identity],
    pinned,
    memory: slow,
  });
  const first = repository.settings();
  await Bun.sleep(1);
  const changed = await changeSettings(await given.open(), given.recipients, (same) => ({
    ...same,
    graceSeconds: same.graceSeconds + 1,
  }));
  expect((await repository.settings({ refresh: true })).marker).toEqual(changed.marker);
  waiting.resolve();
  await first;
  expect((await repository.settings()).marker).toEqual(changed.marker);
});

test("a revocation goes by settings that are newer than those that were read to find the repository", async () => {
  const { given, open, discover } = await atADistance();
  const found = await discover();
  const web = writerKeyFromSeed(new Uint8Array(32).fill(2));
  const rule = { writer: web.writer, pattern: "web", mayForget: false };
  await allowWriter(await given.open(), given.recipients, [rule]);
  await storeHead(given, web, part("web", NOW + 5000));
  const { head } = await revokeWriter(await open(found), given.recipients, web.writer);
  expect(head.settings.rules[0]!.lastGeneration).toBe(NOW + 5000);
});

test("two calls at once may need the settings first, and no listing stays open", async () => {
  const { open, discover, stillOpen } = await atADistance();
  const repository = await open(await discover());
  const [a, b] = await Promise.all([repository.settings(), repository.settings()]);
  expect(a.marker).toEqual(b.marker);
  const other = await open(await discover());
  const found = await Promise.all([other.newest("home-1"), other.newest("home-2")]);
  expect(found).not.toContain(undefined);
  for (let i = 0; i < 3; i++) await repository.newest("home-3");
  for await (const _ of repository.snapshots("home-4")) break;
  for await (const _ of repository.heads()) break;
  expect(stillOpen.listings).toBe(0);
});

test("of heads that are long, few are fetched at once, also to find a repository", async () => {
  const { given, open, discover, stillOpen } = await atADistance();
  const tags = Array.from({ length: 200 }, (_, i) => i.toString(36).padStart(500, "a"));
  for (let i = 0; i < 40; i++) {
    await storeHead(given, given.owner, { ...part(`long-${i}`, NOW + i), tags });
  }
  expect(await discover()).toMatchObject(given.pinned);
  expect(stillOpen.mostLong).toBeWithin(2, 9);
  stillOpen.mostLong = 0;
  await all((await open(given.pinned)).heads());
  expect(stillOpen.mostLong).toBeWithin(2, 9);
});

test("heads that were just read are kept for a minute, and few of them", () => {
  let now = 0;
  const recent = recentHeads(() => now);
  const head = (length: number) => new Uint8Array(length);
  // Each counts for 512 bytes more than it has.
  recent.add("a", head(2 ** 19 - 512));
  recent.add("b", head(2 ** 19 - 512));
  now = 59_999;
  expect([recent.get("a"), recent.get("b")]).not.toContain(undefined);
  recent.add("c", head(1));
  expect(["a", "b", "c"].map((address) => recent.get(address)?.length)).toEqual([
    undefined,
    2 ** 19 - 512,
    1,
  ]);
  recent.add("d", head(2 ** 20 + 1));
  expect(["b", "c", "d"].map((address) => recent.get(address))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  recent.add("e", head(1));
  now += 60_000;
  expect(recent.get("e")).toBeUndefined();
  recent.add("f", head(2));
  recent.add("f", head(3));
  expect(recent.get("f")).toHaveLength(3);
  // The clock was set back.
  now -= 1;
  expect(recent.get("f")).toBeUndefined();
});

test("chains that are not in the first listing of a server are listed one by one", async () => {
  const { given, take, discover } = await atADistance();
  for (let i = 0; i < 1000; i++) await storeHead(given, given.owner, part("home-7", NOW + i));
  expect(await discover()).toMatchObject(given.pinned);
  const requests = take().join(", ").split(", ");
  expect(requests.filter((names) => names === "1 list").length).toBeWithin(2, 22);
  const gets = requests.filter((names) => names.endsWith(" get")).map((names) => parseInt(names));
  expect(gets.reduce((sum, count) => sum + count)).toBe(21);
});

test("settings that were read to find it are read again if they are older than a minute, or than another process knows", async () => {
  const { given, take, open, memory, discover } = await atADistance();
  const later = await discover();
  setSystemTime(new Date(Date.now() + 61_000));
  given.clock.now += 61_000;
  take();
  await (await open(later)).settings();
  expect(take()).toEqual(["1 list one", "1 get"]);

  const before = await discover();
  const changed = await changeSettings(await given.open(), given.recipients, (same) => ({
    ...same,
    graceSeconds: same.graceSeconds + 1,
  }));
  await memory.remember(new Map([[changed.head.chain, rememberedOf(changed)]]));
  take();
  expect((await (await open(before)).settings()).marker).toEqual(changed.marker);
  expect(take()).toEqual(["1 list one", "1 get"]);
});

test("all heads are read while the settings are, many at once and in order", async () => {
  const { given, take, open } = await atADistance();
  const repository = await open(given.pinned);
  const heads = await all(repository.heads());
  const [listing, first, ...others] = take();
  // A gate begins with 24. The settings are one of the heads, and may be read twice.
  expect([listing, first]).toEqual(["1 list, 1 list one", "24 get"]);
  expect(others).toHaveLength(2);
  const near = await all((await given.open()).heads());
  expect(heads.map(({ marker }) => marker)).toEqual(near.map(({ marker }) => marker));
  expect(heads).toHaveLength(61);
});

test("the newest of a chain is read while the settings are", async () => {
  const { given, take, open } = await atADistance();
  const repository = await open(given.pinned);
  expect((await repository.newest("home-3"))?.head.generation).toBe(NOW + 2);
  expect(take()).toEqual(["2 list one", "2 get"]);
  expect((await repository.newest("home-4"))?.head.generation).toBe(NOW + 2);
  expect(take()).toEqual(["1 list one", "1 get"]);
});

test("of heads that are long, few are held at once", async () => {
  const { given, take, open } = await atADistance();
  const tags = Array.from({ length: 200 }, (_, i) => i.toString(36).padStart(500, "a"));
  for (let i = 0; i < 100; i++) {
    await storeHead(given, given.owner, { ...part("long", NOW + i), tags });
  }
  const repository = await open(given.pinned);
  expect(await all(repository.heads())).toHaveLength(161);
  // Until the first of them has been read, nobody knows; each takes two requests.
  const counts = take().map((names) => parseInt(names));
  expect(counts.filter((count) => count > 8).length).toBeLessThan(5);
});
