import { type Backend, StorageError, wrapBackend } from "@idk/storage";
import { type Given, contents, expected, given, writeOnly } from "./support.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openRoot } from "@idk/storage/blobs";
import { readFileSync, readdirSync } from "node:fs";
import type { BackupEvent, BackupOptions } from "../../src/write/options.ts";
import { backup, backupStatus } from "../../src/write/backup.ts";
import { all } from "../support/repositories.ts";
import { chainOf } from "../../src/format/names/chain.ts";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { join } from "node:path";
import { openCache } from "../../src/cache/cache.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { randomBytes } from "node:crypto";
import { reachReader } from "../../src/maintenance/reach-reader.ts";
import { type HeadMemory, volatileHeadMemory } from "../../src/repository/head-memory.ts";

const MIB = 2 ** 20;
const HOUR = 3_600_000;
/** Of a repository of the default, in hours. */
const GRACE = 7 * 24;
let at: Given;
beforeEach(async () => {
  at = await given();
});
afterEach(() => at.end());

async function check(name?: string): Promise<void> {
  expect(await contents(await at.read(name), at.source)).toEqual(expected(at.source));
}

async function failure(promise: Promise<unknown>): Promise<StorageError> {
  const error: unknown = await promise.then(
    () => new Error("it succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StorageError)) throw error;
  return error;
}

/** The reason that the start event gives, and the packs that are resumed. */
async function started(run: Given["run"]): Promise<{ notReused?: string; resumedPacks: number }> {
  let start: Extract<BackupEvent, { kind: "start" }> | undefined;
  await run({
    onEvent(event) {
      if (event.kind === "start") start = event;
    },
  });
  const { notReused, resumedPacks } = start!;
  return notReused === undefined ? { resumedPacks } : { notReused, resumedPacks };
}

/** Puts a marker that someone made up, so many hours from now. */
async function putMarkerAt(hours: number): Promise<string> {
  const chain = chainOf(at.repository, "home");
  const generation = Math.trunc(at.clock.now + hours * HOUR);
  const name = formatMarker({ chain, generation, address: "ab".repeat(32) as never });
  await at.backend.putMarker!(name);
  return name;
}

const markers = async (): Promise<string[]> =>
  (await all(at.backend.listMarkers!(`${chainOf(at.repository, "home")}/`))).map(
    ({ name }) => name,
  );

describe("what is built on", () => {
  beforeEach(async () => {
    at.write("a", randomBytes(1000));
    await at.run();
  });

  test("is the last head, however old it is, as long as it is the newest", async () => {
    at.later(100 * GRACE);
    expect(await started(at.run)).toEqual({ resumedPacks: 0 });
    expect((await at.run()).newBytes).toBe(0);
  });

  test("is the last head after another was written, as long as it is young", async () => {
    await putMarkerAt(0.001);
    at.later(GRACE / 3);
    expect((await at.run()).newBytes).toBe(0);
    await check();
  });

  test("is nothing if another head was written and the last is old", async () => {
    await putMarkerAt(0.001);
    at.later(GRACE / 2);
    expect((await started(at.run)).notReused).toContain("too old");
    at.later();
    expect((await at.run()).newBytes).toBe(0);
    await check();
  });

  test("is nothing if its marker is not there any more", async () => {
    const [first] = await markers();
    await putMarkerAt(0.001);
    await at.backend.deleteMarker!(first!);
    at.later();
    expect((await started(at.run)).notReused).toContain("not in the store");
    await check();
  });

  test("names markers ahead of it as heads before, up to 23 hours ahead", async () => {
    const [first] = await markers();
    const soon = await putMarkerAt(22);
    await putMarkerAt(23.5);
    at.later(0.1);
    const { marker } = await at.run();
    const head = (await at.open()).newest("home");
    // Its own is behind the one that is too far ahead, which nobody can read.
    expect((await head)?.marker).toEqual(marker);
    expect(marker!.generation).toBeGreaterThan(at.clock.now + 21 * HOUR);
    expect(new Set((await head)!.head.previous)).toEqual(
      new Set([first!.slice(-64), soon.slice(-64)]) as never,
    );
  });

  test("is refused by a rollback, unless that is accepted", async () => {
    for (const name of await markers()) await at.backend.deleteMarker!(name);
    at.later();
    const error = await failure(at.run());
    expect(error.code).toBe("rollback");
    expect(error.message).toContain("accept the rollback");
    expect((await at.run({ acceptRollback: true })).newBytes).toBe(1000);
    await check();
  });
});

describe("a backup that ends early", () => {
  /** Fails at the nth request of this process, and at all that follow. */
  function failingAt(count: number, after: boolean): { backend: Backend; seen: () => number } {
    let seen = 0;
    const gate = async <T>(call: () => Promise<T>): Promise<T> => {
      seen += 1;
      if (seen < count) return call();
      // The request may have done its work, and only the response is lost.
      if (seen === count && after) await call();
      throw new StorageError("unavailable", "the network is gone");
    };
    const backend = wrapBackend(writeOnly(at.backend).backend, {
      put:
        (put) =>
        (...given) =>
          gate(async () => put(...given)),
      putMarker:
        (put) =>
        (...given) =>
          gate(async () => put(...given)),
      listMarkers: (list) =>
        async function* listed(...given) {
          const found = await gate(async () => all(list(...given)));
          yield* found;
        },
    });
    return { backend, seen: () => seen };
  }

  test.each([false, true])(
    "at any request, its response %p, is made up for by the next",
    async (after) => {
      for (let i = 0; i < 3; i += 1) at.write(`first-${i}`, randomBytes(3 * MIB));
      await at.run({ compression: "none" });
      let done = false;
      for (let count = 1; !done; count += 1) {
        at.later();
        at.write("changing", randomBytes(2000 + count));
        at.write("large", randomBytes(6 * MIB));
        const failing = failingAt(count, after);
        const error = await at.run({ compression: "none" }, failing.backend).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        done = error === undefined;
        if (!done) expect((error as StorageError).message).toBe("the network is gone");
        // Whatever head there is, is whole.
        await contents(await at.read(), at.source);
        at.later(0.1);
        await at.run({ compression: "none" });
        await check();
        // At least what this takes, so that the loop ends when all were tried.
        if (done) expect(count).toBeGreaterThan(9);
      }
    },
    60_000,
  );

  test("has its packs used again, as long as they are young", async () => {
    at.write("large", randomBytes(20 * MIB));
    const options = { compression: "none" } as const;
    // After the third pack.
    await failure(at.run(options, failingAt(5, false).backend));
    at.later(GRACE / 4);
    at.sent();
    const { resumedPacks } = await started((change) => at.run({ ...change, ...options }));
    expect(resumedPacks).toBeGreaterThan(2);
    expect(at.sent().bytes).toBeLessThan((20 - 4 * resumedPacks + 1) * MIB);
    await check();
  });

  describe("has nothing used again", () => {
    const options = { compression: "none" } as const;
    const resume = async (change: Partial<BackupOptions> = {}) =>
      started((given) => at.run({ ...given, ...options, ...change }));
    /** Sets the store back to what it had before. */
    async function interrupted(): Promise<() => Promise<void>> {
      const names = async () => (await all(at.backend.list(""))).map(({ name }) => name);
      const before = new Set(await names());
      at.write("large", randomBytes(20 * MIB));
      await failure(at.run(options, failingAt(6, false).backend));
      at.later();
      return async () => {
        for (const name of await names()) if (!before.has(name)) await at.backend.delete(name);
      };
    }

    test("that the store has lost", async () => {
      const lose = await interrupted();
      await lose();
      expect(await resume()).toEqual({ resumedPacks: 0 });
      await check();
    });

    test("of an interrupted first backup or a later one, if a rollback is accepted", async () => {
      at.write("small", randomBytes(1000));
      await at.run(options);
      at.later();
      const [marker] = await markers();
      await interrupted();
      await at.backend.deleteMarker!(marker!);
      expect((await failure(resume())).code).toBe("rollback");
      expect(await resume({ acceptRollback: true })).toMatchObject({ resumedPacks: 0 });
      await check();
    });

    test("without a listing, which only an interrupted backup takes", async () => {
      let lists = 0;
      const counting = wrapBackend(writeOnly(at.backend).backend, {
        list: (list) =>
          function listed(...given) {
            lists += 1;
            return list(...given);
          },
      });
      await interrupted();
      const { resumedPacks } = await started((given) => at.run({ ...given, ...options }, counting));
      expect(resumedPacks).toBeGreaterThan(2);
      expect(lists).toBe(1);
      at.later();
      await at.run(options, counting);
      expect(lists).toBe(1);
    });
  });

  test("has nothing used again that is too old", async () => {
    at.write("large", randomBytes(20 * MIB));
    await failure(at.run({ compression: "none" }, failingAt(5, false).backend));
    at.later(GRACE / 2);
    expect(await started(at.run)).toEqual({ resumedPacks: 0 });
    await check();
  });

  test("by a signal ends at once, and leaves nothing behind that harms the next", async () => {
    for (let i = 0; i < 40; i += 1) at.write(`file-${i}`, randomBytes(MIB));
    const controller = new AbortController();
    const onEvent = ({ kind }: BackupEvent): void => {
      if (kind === "progress") controller.abort();
    };
    const error = await failure(at.run({ signal: controller.signal, onEvent, workers: 2 }));
    expect(error.code).toBe("aborted");
    expect(await failure(at.run({ signal: AbortSignal.abort() }))).toMatchObject({
      code: "aborted",
    });
    await at.run();
    await check();
  });

  test("because it took too long is not committed", async () => {
    at.write("a", randomBytes(1000));
    const slow = wrapBackend(writeOnly(at.backend).backend, {
      putMarker: (put) => async (name, given) => {
        at.clock.now += (GRACE / 2 + 1) * HOUR;
        await put(name, given);
      },
    });
    expect((await failure(at.run({}, slow))).message).toContain("grace period");
    // Its marker is there, and nothing is built on it.
    expect((await markers()).length).toBe(1);
    expect((await at.run()).newBytes).toBe(1000);
    await check();

    const before = wrapBackend(writeOnly(at.backend).backend, {
      put:
        (put) =>
        async (...given) => {
          at.clock.now += GRACE * HOUR;
          await put(...given);
        },
    });
    expect((await failure(at.run({}, before))).message).toContain("grace period");
    expect((await markers()).length).toBe(2);
  });
});

test("a long backup ends parts on the way, and goes on from them", async () => {
  for (let i = 0; i < 6; i += 1) at.write(`large-${i}`, randomBytes(4 * MIB));
  const events: string[] = [];
  let packs = 0;
  let failing = true;
  const slow = wrapBackend(writeOnly(at.backend).backend, {
    put:
      (put) =>
      async (...given) => {
        if (given[1].length > MIB) {
          at.clock.now += (GRACE / 8 + 1) * HOUR;
          packs += 1;
          if (failing && packs === 5) throw new StorageError("unavailable", "the network is gone");
        }
        await put(...given);
      },
  });
  const onEvent = ({ kind }: BackupEvent): void => void events.push(kind);
  const options = { onEvent, compression: "none" } as const;
  await failure(at.run(options, slow));
  expect(events.filter((kind) => kind === "part").length).toBeGreaterThan(1);
  const repository = await at.open();
  expect((await repository.newest("home"))?.head.kind).toBe("part");
  // However long it takes until the next, the parts are the newest head.
  at.later(3 * GRACE);
  failing = false;
  const sent = packs;
  const summary = await at.run(options, slow);
  expect(packs - sent).toBeLessThan(6);
  expect(summary.newBytes).toBeLessThan(24 * MIB);
  await check();
  at.later();
  expect((await at.run()).newBytes).toBe(0);
  await check();
});

test("a long backup that stores nothing ends parts, too", async () => {
  for (let i = 0; i < 400; i += 1) at.write(`file-${i}`, `${i}`);
  await at.run();
  at.later();
  const events: string[] = [];
  const summary = await at.run({
    readAll: true,
    onEvent: ({ kind }) => void events.push(kind),
    now() {
      // A file takes half an hour, and a turn comes after some.
      Bun.sleepSync(1);
      return (at.clock.now += HOUR / 2);
    },
  });
  expect(summary.newBytes).toBe(0);
  expect(events.filter((kind) => kind === "part").length).toBeGreaterThan(2);
  await check();
});

test("what a part has left out is not used again after it", async () => {
  at.write("kept", randomBytes(3 * MIB));
  const options = { compression: "none" } as const;
  const before = new Set((await all(at.backend.list(""))).map(({ name }) => name));
  await at.run(options);
  for (const { name, size } of await all(at.backend.list(""))) {
    if (size > 3 * MIB && !before.has(name)) await at.backend.delete(name);
  }
  at.later();
  at.write("large", randomBytes(20 * MIB));
  let hasPart = false;
  const failing = wrapBackend(writeOnly(at.backend).backend, {
    put:
      (put) =>
      async (...given) => {
        if (hasPart) throw new StorageError("unavailable", "the network is gone");
        if (given[1].length > MIB) at.clock.now += (GRACE / 8 + 1) * HOUR;
        await put(...given);
      },
  });
  const onEvent = ({ kind }: BackupEvent): void => {
    hasPart ||= kind === "part";
  };
  // It knows of the pack that the store has lost, and dies after its part.
  await failure(at.run({ ...options, repair: true, onEvent }, failing));
  expect((await (await at.open()).newest("home"))?.head.kind).toBe("part");
  at.later();
  await at.run(options);
  await check();
});

test("a pack hardly in use leaves the store", async () => {
  const options = { compression: "none" } as const;
  const blobs = async () => new Set((await all(at.backend.list(""))).map(({ name }) => name));
  const before = await blobs();
  at.write("kept", randomBytes(1000));
  at.write("large", randomBytes(3 * MIB));
  await at.run(options);
  const pack = (await all(at.backend.list(""))).find(
    ({ name, size }) => size > 3 * MIB && !before.has(name),
  );
  at.later();
  at.write("large", randomBytes(3 * MIB + 1));
  expect((await at.run(options)).newBytes).toBe(3 * MIB + 1);
  at.later();
  // What is left of it is stored anew, once.
  expect(await at.run(options)).toMatchObject({ newBytes: 1000, newFiles: 0 });
  at.later();
  expect((await at.run(options)).newBytes).toBe(0);
  const repository = await at.open();
  await forget(repository, { policy: { last: 1 }, recipients: at.recipients });
  expect((await blobs()).has(pack!.name)).toBe(true);
  at.later(2 * GRACE);
  await prune(repository);
  expect((await blobs()).has(pack!.name)).toBe(false);
  await check();
});

test("a backup does not forget a newer head that this machine has seen meanwhile", async () => {
  const chain = chainOf(at.repository, "home");
  const memory = volatileHeadMemory();
  const address = "ab".repeat(32) as never;
  const newerBy = (hours: number) => ({
    marker: { chain, generation: at.clock.now + hours * HOUR, address },
    name: "home",
    payloadHash: "cd".repeat(32),
  });
  let newer = newerBy(1);
  const racing = wrapBackend(at.backend, {
    putMarker:
      (put) =>
      async (...given) => {
        await memory.remember(new Map([[chain, newer]]));
        await put(...given);
      },
  });
  const repository = await at.open(memory, racing);
  const options = { ...at.options, workers: 0 };
  await backup(repository, options);
  expect((await memory.recall()).get(chain)).toEqual(newer);
  at.later(0.1);
  // The store does not list it.
  expect((await failure(backup(repository, options))).code).toBe("rollback");
  const { marker } = await backup(repository, { ...options, acceptRollback: true });
  expect((await memory.recall()).get(chain)?.marker).toEqual(marker);
  at.later(0.1);
  newer = newerBy(5);
  await backup(repository, { ...options, acceptRollback: true });
  expect((await memory.recall()).get(chain)).toEqual(newer);
});

describe("a host", () => {
  test("whose clock is over an hour off does not back up", async () => {
    for (const off of [-1.1, 1.1]) {
      const error = await failure(at.run({ now: () => at.clock.now + off * HOUR }));
      expect(error.code).toBe("usage");
      expect(error.message).toContain(off < 0 ? "1.1 hours behind" : "1.1 hours ahead");
    }
    await at.run({ now: () => at.clock.now + 0.9 * HOUR });
  });

  test("without a writer key, name, path or recipient is told so", async () => {
    const wrong = [
      { name: ".x" },
      { name: "" },
      { paths: [] },
      { cache: "" },
      { message: "x".repeat(2 ** 16 + 1) },
      { tags: Array.from({ length: 10_000 }, () => "") },
      { expectedSeconds: 0.5 },
      { workers: -1 },
      { paths: [Buffer.from("/no such/../x")] },
    ];
    for (const change of wrong) {
      expect((await failure(at.run(change))).code).toBe("usage");
    }
    expect((await failure(at.run({ recipients: ["age1"] }))).code).toBe("key");
    expect((await failure(at.run({ excludes: ["[a"] }))).message).toContain("[a");
    expect(await markers()).toEqual([]);
  });

  test.each([0, 1])("that lost pack %i in the store stores it anew", async (lost) => {
    const blobs = async () => (await all(at.backend.list(""))).toSorted((a, b) => a.size - b.size);
    at.write("a", randomBytes(3 * MIB));
    at.write("dir/b", randomBytes(1000));
    const before = new Set((await blobs()).map(({ name }) => name));
    await at.run();
    const { head, marker } = (await at.read()).found;
    for (const name of [head.snapshot, head.reach, marker.address]) before.add(name);
    const packs = (await blobs()).filter(({ name }) => !before.has(name));
    expect(packs.length).toBe(2);
    await at.backend.delete(packs[lost]!.name);
    at.later();
    // Without looking, nobody knows.
    expect((await at.run()).newBytes).toBe(0);
    const isData = lost === 1;
    expect((await at.run({ repair: true })).newBytes).toBe(isData ? 3 * MIB + 1000 : 0);
    await check();
    expect((await at.run({ repair: true })).newBytes).toBe(0);
  });

  test("that repairs does not build on a list of packs that the store has lost", async () => {
    // Of so many packs that the next list does not take this one in.
    at.write("a", randomBytes(128 * MIB));
    await at.run();
    const { head } = (await at.read()).found;
    await at.backend.delete(head.reach);
    at.write("b", randomBytes(1000));
    const isReadable = async (): Promise<boolean> => {
      const { head: newest } = (await at.read()).found;
      const reaches = reachReader(await at.open(), async () => 100);
      return reaches.path(await reaches.root(newest.reach)).then(
        () => true,
        () => false,
      );
    };
    at.later();
    await at.run();
    expect(await isReadable()).toBe(false);
    at.later();
    await at.run({ repair: true });
    expect(await isReadable()).toBe(true);
    await check();
    at.later();
    await at.run();
    expect(await isReadable()).toBe(true);
  });

  test("knows what it would store, and what did not end", async () => {
    at.write("a", randomBytes(9 * MIB));
    const repository = await at.open();
    const { options } = at;
    const failing = wrapBackend(at.backend, {
      put:
        (put) =>
        async (...given) => {
          if (given[1].length < 3 * MIB) throw new StorageError("unavailable", "gone");
          await put(...given);
        },
    });
    await failure(at.run({ compression: "none" }, failing));
    const status = await backupStatus(repository, options);
    expect(status.last).toBeUndefined();
    expect(status.unfinished).toMatchObject({ packs: 2 });
    expect(status.pending).toMatchObject({ newFiles: 1, newBytes: MIB });
    const { marker } = await at.run();
    const after = await backupStatus(repository, options);
    expect(after.last).toMatchObject({ address: marker!.address, storedAt: at.clock.now });
    expect(after.unfinished).toBeUndefined();
    expect(after.pending.isUnchanged).toBe(true);
  });

  test.each([false, true])(
    "leaves the cache as it is when it looks what it would store, the last marker stored %p",
    async (isStored) => {
      at.write("a", randomBytes(1000));
      await at.run();
      at.later(0.1);
      at.write("b", randomBytes(2000));
      const dying = wrapBackend(at.backend, {
        putMarker:
          (put) =>
          async (...given) => {
            if (isStored) await put(...given);
            throw new StorageError("unavailable", "the network is gone");
          },
      });
      await failure(at.run({}, dying));
      const prepared = async () => {
        const cache = await openCache(at.cache);
        const found = cache.prepared;
        cache.close();
        return found;
      };
      const before = await prepared();
      expect(before).toBeDefined();
      at.later(0.1);
      const { pending } = await backupStatus(await at.open(), at.options);
      expect(pending.newBytes).toBe(0);
      expect(await prepared()).toEqual(before);
      expect((await at.run()).newBytes).toBe(0);
      await check();
    },
  );

  test("holds nothing that opens what it stored", async () => {
    at.write("a", "SECRET CONTENT");
    await at.run();
    const snapshot = await at.read();
    const folder = join(at.cache, "..");
    const [key] = [...snapshot.snapshot.sessionKeys.values()];
    const { content } = openRoot((await at.open()).naCl, key!.slice(), [at.identity]);
    const secrets = [Buffer.from(content!), Buffer.from("SECRET CONTENT")];
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      for (const secret of secrets) expect(bytes.includes(secret)).toBe(false);
    }
  });
});

test("a backup takes no head for lost that another process stores and remembers after the listing", async () => {
  const chain = chainOf(at.repository, "home");
  const memory = volatileHeadMemory();
  let isStored = false;
  const racing = wrapBackend(at.backend, {
    listMarkers: (list) =>
      async function* listed(prefix, options) {
        const found = await all(list(prefix, options));
        if (prefix.startsWith(chain) && !isStored) {
          isStored = true;
          const marker = { chain, generation: at.clock.now, address: "ab".repeat(32) as never };
          await at.backend.putMarker!(formatMarker(marker));
          const head = { marker, name: "home", payloadHash: "cd".repeat(32) };
          await memory.remember(new Map([[chain, head]]));
        }
        yield* found;
      },
  });
  await backup(await at.open(memory, racing), { ...at.options, workers: 0 });
  expect(isStored).toBe(true);
  await check();
});

test("a backup that is stored succeeds with a warning if the machine cannot remember its head", async () => {
  const heads = volatileHeadMemory();
  let isLocked = true;
  const locked: HeadMemory = {
    ...heads,
    async remember(newest) {
      if (isLocked) throw new StorageError("unavailable", "another process has kept it locked");
      await heads.remember(newest);
    },
  };
  at.write("a", "content");
  const run = async (events: BackupEvent[] = []) =>
    backup(await at.open(locked), {
      ...at.options,
      workers: 0,
      onEvent: (event) => events.push(event),
    });
  const events: BackupEvent[] = [];
  const { marker, warningCount, warnings } = await run(events);
  const address = marker!.address.slice(0, 12);
  const message = `this machine does not remember the head ${address}, which is stored: another process has kept it locked`;
  expect([warningCount, warnings]).toEqual([1, [{ path: undefined, message }]]);
  expect(events).toContainEqual({ kind: "warning", path: undefined, message });
  expect(await heads.recall()).toEqual(new Map());
  await check();
  // The next one builds on it all the same.
  isLocked = false;
  expect(await run()).toMatchObject({ isUnchanged: true, newBytes: 0, warningCount: 0 });
  expect((await heads.recall()).size).toBe(1);
});
