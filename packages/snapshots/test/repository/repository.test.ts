import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type HeadMemory, volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { NOW, all, testRepository } from "../support/repositories.ts";
import type { Address, Backend } from "@idk/storage";
import { allow, close, revoke } from "../../src/rules/granting.ts";
import {
  allowWriter,
  changeSettings,
  createRepository,
  revokeWriter,
} from "../../src/repository/settings.ts";
import type { Repository } from "../../src/repository/repository.ts";
import { StorageError, generateIdentity, wrapBackend } from "@idk/storage";
import type { FoundHead, RefusedHead } from "../../src/repository/find-heads.ts";
import type { Settings } from "../../src/format/records/settings.ts";
import { discoverRepository } from "../../src/repository/discover.ts";
import { forksOf } from "../../src/rules/forks.ts";
import { filesystem } from "@idk/storage/filesystem";
import { chainOf } from "../../src/format/names/chain.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { headMemoryFile } from "../../src/repository/head-memory-file.ts";
import { join } from "node:path";
import { memory } from "@idk/storage/memory";
import { storeHead } from "../support/repository-writer.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { tmpdir } from "node:os";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const HOUR = 3_600_000;
const HEAD_HOLDER = join(import.meta.dir, "head-holder.ts");
const web = writerKeyFromSeed(new Uint8Array(32).fill(2));
const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
const reach = "ab".repeat(32) as Address;
const webRule = { writer: web.writer, pattern: "web-*", mayForget: false, lastGeneration: null };
const part = (name: string, generation: number, previous: readonly Address[] = []) =>
  ({ kind: "part", name, generation, reach, previous }) as const;
const folder = mkdtempSync(join(tmpdir(), "idk-heads-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "ok",
    (error: StorageError) => error.code,
  );
}

describe("the newest head of a chain", () => {
  test("takes two requests, two for the settings, and one when it was just read", async () => {
    const given = await testRepository();
    for (let i = 3; i > 0; i--) await storeHead(given, given.owner, part("home", NOW - i));
    given.take();
    const repository = await given.open();
    expect((await repository.newest("home"))?.marker.generation).toBe(NOW - 1);
    expect(given.take()).toEqual({ get: 2, list: 2, keys: 2, put: 0 });
    await repository.newest("home");
    expect(given.take()).toEqual({ get: 0, list: 1, keys: 1, put: 0 });
    expect(await repository.newest("office")).toBeUndefined();
  });

  test("is not one that someone made up, and those are reported", async () => {
    const given = await testRepository([webRule]);
    const good = await storeHead(given, web, part("web-1", NOW - 100));
    const other = await storeHead(given, web, part("web-2", NOW));
    await storeHead(given, thief, part("web-1", NOW - 50));
    await storeHead(given, web, part("web-1", NOW - 40), { marker: { address: other.address } });
    await storeHead(given, web, part("web-1", NOW - 30), { marker: { generation: NOW - 29 } });
    await storeHead(given, web, part("web-1", NOW - 20), { marker: { address: reach } });
    await storeHead(given, web, {
      ...part("web-1", NOW - 10),
      repository: "0".repeat(32) as never,
    });
    const ahead = NOW + 25 * HOUR;
    await storeHead(given, web, part("web-1", ahead));
    const repository = await given.open();
    const refused: RefusedHead[] = [];
    const onRefused = (one: RefusedHead) => refused.push(one);
    const newest = await repository.newest("web-1", { onRefused });
    expect(newest?.marker).toEqual(good);
    expect(refused.map(({ error }) => error.code)).toEqual([
      "head",
      "not-found",
      "head",
      "head",
      "head",
    ]);
    refused.length = 0;
    const heads = await all(repository.heads({ onRefused }));
    expect(new Set(heads.map(({ marker }) => marker.address))).toContain(good.address);
    expect(heads.filter(({ head }) => head.name === "web-1").length).toBe(1);
    expect(refused.some(({ error }) => error.message.includes("over a day ahead"))).toBe(true);
    // It was ahead when it was put, so it never counts.
    given.clock.now += 48 * HOUR;
    expect((await (await given.open()).newest("web-1"))?.marker).toEqual(good);
  });

  test("a signal ends it", async () => {
    const given = await testRepository();
    const repository = await given.open();
    expect(await codeOf(repository.newest("home", { signal: AbortSignal.abort() }))).toBe(
      "aborted",
    );
  });
});

/** The same store without some markers. */
function hiding(given: Awaited<ReturnType<typeof testRepository>>, hidden: readonly string[]) {
  return wrapBackend(given.backend, {
    listMarkers: (list) =>
      async function* listed(prefix, options) {
        const { limit: _, ...rest } = options ?? {};
        for await (const marker of list(prefix, rest)) {
          if (!hidden.includes(marker.name)) yield marker;
        }
      },
  });
}

describe("rollback", () => {
  const cases: Record<string, () => HeadMemory> = {
    volatile: volatileHeadMemory,
    file: () => headMemoryFile(join(folder, crypto.randomUUID(), "heads.json")),
  };
  test.each(Object.entries(cases))("is noticed, and can be accepted (%s)", async (_, make) => {
    const given = await testRepository();
    await storeHead(given, given.owner, part("home", NOW - 9));
    const newest = await storeHead(given, given.owner, part("home", NOW - 1));
    const heads = make();
    await (await given.open(heads)).newest("home");
    const old = await given.open(heads, hiding(given, [formatMarker(newest)]));
    expect(await codeOf(old.newest("home"))).toBe("rollback");
    expect(await codeOf(all(old.heads()))).toBe("rollback");
    const accepted = await old.newest("home", { acceptRollback: true });
    expect(accepted?.marker.generation).toBe(NOW - 9);
    expect(await codeOf(old.newest("home"))).toBe("ok");
    expect((await (await given.open(heads)).newest("home"))?.marker).toEqual(newest);
  });

  test("of a chain that is hidden as a whole, and of the settings", async () => {
    const given = await testRepository();
    const only = await storeHead(given, given.owner, part("home", NOW - 1));
    const heads = volatileHeadMemory();
    const repository = await given.open(heads);
    await all(repository.heads());
    const hidden = await given.open(heads, hiding(given, [formatMarker(only)]));
    expect(await codeOf(hidden.newest("home"))).toBe("rollback");
    expect(await codeOf(all(hidden.heads()))).toBe("rollback");
    const newer = await changeSettings(repository, given.recipients, (settings) =>
      allow(settings, webRule),
    );
    const older = await given.open(heads, hiding(given, [formatMarker(newer.marker)]));
    expect(await codeOf(older.settings())).toBe("rollback");
    expect(await codeOf(older.settings({ acceptRollback: true }))).toBe("ok");
  });

  test("is not what the owner's settings explain", async () => {
    const given = await testRepository([webRule]);
    await storeHead(given, web, part("web-1", NOW - 9));
    await storeHead(given, web, part("web-1", NOW - 1));
    const heads = volatileHeadMemory();
    const repository = await given.open(heads);
    await repository.newest("web-1");
    await changeSettings(repository, given.recipients, (settings) =>
      revoke(settings, web.writer, NOW - 5),
    );
    expect((await repository.newest("web-1"))?.marker.generation).toBe(NOW - 9);
  });

  test("of what is forgotten is not explained by a rule that closes all names", async () => {
    const given = await testRepository();
    const heads = volatileHeadMemory();
    const repository = await given.open(heads);
    await changeSettings(repository, given.recipients, (settings) => close(settings, "*", NOW));
    const forgetting = { kind: "forget", name: ".", generation: NOW, markers: [] } as never;
    const head = await storeHead(given, given.owner, forgetting);
    expect((await repository.newest("."))?.marker).toEqual(head);
    await given.backend.deleteMarker!(formatMarker(head));
    expect(await codeOf(repository.newest("."))).toBe("rollback");
  });

  test("is not that a closed chain was pruned, nor the same head under another address", async () => {
    const given = await testRepository();
    const heads = volatileHeadMemory();
    const repository = await given.open(heads);
    const one = await storeHead(given, given.owner, part("home", NOW - 1));
    const two = await storeHead(given, given.owner, part("home", NOW - 1));
    const [first, last] = one.address < two.address ? [one, two] : [two, one];
    expect((await repository.newest("home"))?.marker).toEqual(first);
    await given.backend.deleteMarker!(formatMarker(first));
    expect((await repository.newest("home"))?.marker).toEqual(last);
    await given.backend.deleteMarker!(formatMarker(last));
    expect(await codeOf(repository.newest("home"))).toBe("rollback");
    await changeSettings(repository, given.recipients, (settings) => close(settings, "home", NOW));
    expect(await repository.newest("home")).toBeUndefined();
  });

  test("of another chain is noticed by latest, too", async () => {
    const given = await testRepository();
    const snapshot = { kind: "snap", snapshot: reach, reach } as const;
    await storeHead(given, given.owner, { ...snapshot, name: "home", generation: NOW - 9 });
    const work = await storeHead(given, given.owner, {
      ...snapshot,
      name: "work",
      generation: NOW,
    });
    const heads = volatileHeadMemory();
    expect((await resolveSnapshot(await given.open(heads), "latest")).marker).toEqual(work);
    const hidden = await given.open(heads, hiding(given, [formatMarker(work)]));
    expect(await codeOf(resolveSnapshot(hidden, "latest"))).toBe("rollback");
  });

  test.each(Object.entries(cases))("a memory keeps the newer head (%s)", async (_, make) => {
    const { repository } = await testRepository();
    const chain = chainOf(repository, "home");
    const headAt = (generation: number) => ({
      marker: { chain, generation, address: reach },
      name: "home",
      payloadHash: "cd".repeat(32),
    });
    const heads = make();
    for (const generation of [NOW, NOW - 1]) {
      await heads.remember(new Map([[chain, headAt(generation)]]));
      expect((await heads.recall()).get(chain)).toEqual(headAt(NOW));
    }
    await heads.rollBack(chain, headAt(NOW), headAt(NOW - 1));
    expect((await heads.recall()).get(chain)).toEqual(headAt(NOW - 1));
    // Another process has done that, and may have remembered this one on purpose.
    await heads.rollBack(chain, headAt(NOW), headAt(NOW - 2));
    await heads.rollBack(chain, headAt(NOW), undefined);
    expect((await heads.recall()).get(chain)).toEqual(headAt(NOW - 1));
    await heads.rollBack(chain, headAt(NOW - 1), undefined);
    expect((await heads.recall()).size).toBe(0);
    await heads.rollBack(chain, headAt(NOW - 1), headAt(NOW - 2));
    expect((await heads.recall()).size).toBe(0);
  });

  test("processes that remember heads at the same time lose none", async () => {
    const { repository } = await testRepository();
    const path = join(folder, "shared", "heads.json");
    const chains = Array.from({ length: 16 }, (_, i) => chainOf(repository, `host-${i}`));
    const remembering = chains.map((chain, i) => {
      const marker = { chain, generation: NOW, address: reach };
      const head = { marker, name: `host-${i}`, payloadHash: "cd".repeat(32) };
      return headMemoryFile(path).remember(new Map([[chain, head]]));
    });
    await Promise.all(remembering);
    const remembered = await headMemoryFile(path).recall();
    expect([...remembered.keys()].toSorted()).toEqual(chains.toSorted());
    expect(readdirSync(join(folder, "shared")).toSorted()).toEqual([
      "heads.json",
      "heads.json.lock",
    ]);
  });

  test("a process keeps others from the memory as long as it lives, and no longer", async () => {
    const { repository } = await testRepository();
    const path = join(folder, "held", "heads.json");
    const chain = chainOf(repository, "home");
    const head = {
      marker: { chain, generation: NOW, address: reach },
      name: "home",
      payloadHash: "cd".repeat(32),
    };
    mkdirSync(join(folder, "held"));
    const holder = Bun.spawn([process.execPath, HEAD_HOLDER, path], {
      stdout: "pipe",
      stderr: "inherit",
    });
    using _ = { [Symbol.dispose]: () => holder.kill("SIGKILL") };
    await holder.stdout.getReader().read();
    // However long it stands still: what it goes on with must not undo what others did.
    holder.kill("SIGSTOP");
    const failed = headMemoryFile(path, { waitMs: 100 }).remember(new Map([[chain, head]]));
    expect(await failed.catch(({ code, message }) => ({ code, message }))).toEqual({
      code: "unavailable",
      message: expect.stringContaining(`another process has kept ${path} locked`),
    });
    expect(await headMemoryFile(path).recall()).toEqual(new Map());
    const stop = new AbortController();
    let told = 0;
    const onWait = () => {
      told += 1;
      setTimeout(() => stop.abort(new Error("enough")), 100);
    };
    const ended = headMemoryFile(path, { onWait, signal: stop.signal });
    expect(await codeOf(ended.remember(new Map([[chain, head]])))).toBe("aborted");
    expect(told).toBe(1);
    const waiting = headMemoryFile(path).remember(new Map([[chain, head]]));
    holder.kill("SIGKILL");
    await waiting;
    expect((await headMemoryFile(path).recall()).get(chain)).toEqual(head);
    await holder.exited;
  });

  test("a head that another process remembers while a rollback is accepted stays", async () => {
    const given = await testRepository();
    await storeHead(given, given.owner, part("home", NOW - 9));
    const hidden = await storeHead(given, given.owner, part("home", NOW - 1));
    const heads = volatileHeadMemory();
    await (await given.open(heads)).newest("home");
    const { chain } = hidden;
    const newer = {
      marker: { chain, generation: NOW, address: reach },
      name: "home",
      payloadHash: "cd".repeat(32),
    };
    const racing: HeadMemory = {
      ...heads,
      async rollBack(...rollBack) {
        await heads.remember(new Map([[chain, newer]]));
        await heads.rollBack(...rollBack);
      },
    };
    const old = await given.open(racing, hiding(given, [formatMarker(hidden)]));
    await old.newest("home", { acceptRollback: true });
    expect((await heads.recall()).get(chain)).toEqual(newer);
  });

  test("names the fault of a head that is there and cannot be used", async () => {
    const given = await testRepository();
    await storeHead(given, given.owner, part("home", NOW - 9));
    const other = { ...given, recipients: [(await generateIdentity()).recipient] };
    const marker = await storeHead(other, given.owner, part("home", NOW - 1));
    const heads = volatileHeadMemory();
    // As the writer itself remembers it.
    const head = { marker, name: "home", payloadHash: "cd".repeat(32) };
    await heads.remember(new Map([[marker.chain, head]]));
    const repository = await given.open(heads);
    const text = "It has that head, which cannot be used: none of the given identities";
    for (const reading of [repository.newest("home"), all(repository.heads())]) {
      const error: unknown = await reading.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "rollback", message: expect.stringContaining(text) });
    }
  });

  test("names the fault of settings that are there and cannot be used", async () => {
    const given = await testRepository();
    const heads = volatileHeadMemory();
    const repository = await given.open(heads);
    const { head } = await repository.settings();
    const other = { ...given, recipients: [(await generateIdentity()).recipient] };
    const marker = await storeHead(other, given.owner, { ...head, generation: NOW });
    await heads.remember(
      new Map([[marker.chain, { marker, name: "", payloadHash: "cd".repeat(32) }]]),
    );
    const error: unknown = await repository
      .settings({ refresh: true })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "rollback",
      message: expect.stringContaining(
        "It has that head, which cannot be used: none of the given identities",
      ),
    });
  });

  test("is reported, and not that the memory could not be written then", async () => {
    const given = await testRepository();
    const [home, work] = [chainOf(given.repository, "home"), chainOf(given.repository, "work")];
    await storeHead(given, given.owner, part("home", NOW - 1));
    const heads = volatileHeadMemory();
    const locked: HeadMemory = {
      ...heads,
      async remember(newest) {
        if (newest.has(home)) throw new StorageError("unavailable", "it is locked");
        await heads.remember(newest);
      },
    };
    const repository = await given.open(locked);
    expect(await codeOf(all(repository.heads()))).toBe("unavailable");
    const marker = { chain: work, generation: NOW, address: reach };
    await heads.remember(new Map([[work, { marker, name: "work", payloadHash: "cd".repeat(32) }]]));
    expect(await codeOf(all(repository.heads()))).toBe("rollback");
  });

  test("is not what another process stores and remembers while heads are read", async () => {
    const given = await testRepository();
    await storeHead(given, given.owner, part("home", NOW - 9));
    for (const name of ["home", "work"]) {
      for (const read of ["heads", "newest"] as const) {
        const heads = volatileHeadMemory();
        await all((await given.open(heads)).heads());
        let other: Promise<void> | undefined;
        // As a backup that ends between the listing and the comparison.
        const store = async () => {
          given.clock.now += 1000;
          const marker = await storeHead(given, given.owner, part(name, given.clock.now));
          const head = { marker, name, payloadHash: "cd".repeat(32) };
          await heads.remember(new Map([[marker.chain, head]]));
        };
        const racing = wrapBackend(given.backend, {
          listMarkers: (list) =>
            async function* listed(prefix, options) {
              const found = await all(list(prefix, options));
              const isOfSettings = prefix.startsWith(chainOf(given.repository, ""));
              if (!isOfSettings) await (other ??= store());
              yield* found;
            },
        });
        const repository = await given.open(heads, racing);
        const reading = read === "heads" ? all(repository.heads()) : repository.newest(name);
        expect([name, read, await codeOf(reading)]).toEqual([name, read, "ok"]);
        expect(other).toBeDefined();
        expect((await heads.recall()).get(chainOf(given.repository, name))?.payloadHash).toBe(
          "cd".repeat(32),
        );
      }
    }
  });

  test("a memory is a file that is whole, private and checked", async () => {
    const path = join(folder, "one.json");
    const given = await testRepository();
    await (await given.open(headMemoryFile(path))).settings();
    expect(JSON.parse(readFileSync(path, "utf8")).heads.length).toBe(1);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    for (const text of [
      "",
      "{}",
      '{"version":2,"heads":[]}',
      '{"version":1,"heads":[{}]}',
      '{"version":1,"heads":[null]}',
    ]) {
      writeFileSync(path, text);
      expect(await codeOf((await given.open(headMemoryFile(path))).settings())).toBe("rollback");
    }
  });
});

describe("settings", () => {
  test("allow, revoke and close change which heads count", async () => {
    const given = await testRepository();
    const repository = await given.open();
    await storeHead(given, web, part("web-1", NOW - 5));
    const count = async () => (await all(repository.heads())).length;
    const change = async (to: Parameters<typeof changeSettings>[2]) =>
      changeSettings(repository, given.recipients, to);
    const before = await count();
    await change((settings) => allow(settings, webRule));
    expect(await count()).toBe(before + 2);
    await change((settings) => revoke(settings, web.writer, NOW - 6));
    expect(await count()).toBe(before + 2);
    expect(await repository.newest("web-1")).toBeUndefined();
    await change((settings) => allow(settings, webRule));
    expect(await repository.newest("web-1")).toBeDefined();
    await change((settings) => close(settings, "web-*", NOW - 6));
    expect(await repository.newest("web-1")).toBeUndefined();
    const { head } = await repository.settings();
    expect(head.previous.length).toBe(1);
    expect(await codeOf(change((settings) => ({ ...settings, graceSeconds: 3600 })))).toBe("usage");
    expect(await codeOf(change((settings) => revoke(settings, thief.writer, NOW)))).toBe("usage");
  });

  test("two owners that change them at once lose neither change", async () => {
    const given = await testRepository([webRule]);
    const rule = { writer: thief.writer, pattern: "other", mayForget: false };
    /** What others do just before, or just after, this one's head has its marker. */
    const racing = async (when: "before" | "after", others: () => Promise<unknown>) => {
      let isFirst = true;
      const backend = wrapBackend(given.backend, {
        putMarker: (put) => async (name, options) => {
          const isNow = isFirst;
          isFirst = false;
          if (isNow && when === "before") await others();
          await put(name, options);
          if (isNow && when === "after") await others();
        },
      });
      return given.open(volatileHeadMemory(), backend);
    };
    const allowOther = async () =>
      changeSettings(await given.open(), given.recipients, (settings) => allow(settings, rule));
    for (const when of ["before", "after"] as const) {
      const repository = await racing(when, allowOther);
      const { head } = await changeSettings(repository, given.recipients, (settings) =>
        revoke(settings, web.writer, NOW),
      );
      const own = head.settings.rules.filter(({ writer }) => writer === web.writer);
      expect(own.map(({ lastGeneration }) => lastGeneration)).toEqual([NOW]);
      // Also where it was made twice.
      expect(head.settings.rules.filter(({ writer }) => writer === thief.writer).length).toBe(1);
      // Nobody has to choose between them later.
      const heads = (await all(repository.heads())).filter((found) => found.head.kind === "repo");
      expect(forksOf(heads).filter(({ joinedBy }) => joinedBy === undefined)).toEqual([]);
    }
  });

  test("of a right that is given and ended at once, the owner who loses is told", async () => {
    const ended = { ...webRule, writer: thief.writer, lastGeneration: 5 };
    const given = await testRepository([webRule, ended]);
    const during = async (others: (repository: Repository) => Promise<unknown>) => {
      const backend = wrapBackend(given.backend, {
        putMarker: (put) => async (name, options) => {
          const isNow = others;
          others = async () => undefined;
          await isNow(await given.open());
          await put(name, options);
        },
      });
      return given.open(volatileHeadMemory(), backend);
    };
    const { recipients } = given;
    const repository = await during((other) => revokeWriter(other, recipients, web.writer));
    const rule = { ...webRule, pattern: "new" };
    const allowed = allowWriter(repository, recipients, [rule]);
    expect(await allowed.catch(({ message }) => message)).toContain("it stays revoked");
    // Nothing of it is left to end, so that this one says nothing against the other.
    const second = await during((other) => allowWriter(other, recipients, [ended]));
    const revoked = revokeWriter(second, recipients, thief.writer);
    expect(await revoked.catch(({ message }) => message)).toContain("to write again");
  });

  test("a join that comes late puts no change out of force that knew of the same heads", async () => {
    const given = await testRepository([webRule]);
    const { head, marker } = await (await given.open()).settings();
    for (const [generation, graceSeconds] of [
      [NOW - 20, 1e6],
      [NOW - 10, 2e6],
    ] as const) {
      const settings = { ...head.settings, graceSeconds };
      const place = { generation, previous: [marker.address] };
      await storeHead(given, given.owner, { ...head, ...place, settings });
    }
    const backend = wrapBackend(given.backend, {
      // Another server of the store, whose clock is ahead.
      currentTime: (currentTime) => async (options) => (await currentTime(options)) + HOUR,
      putMarker: (put) => async (name, options) => {
        await revokeWriter(await given.open(), given.recipients, web.writer);
        await put(name, options);
        throw new Error("killed");
      },
    });
    const late = await given.open(volatileHeadMemory(), backend);
    const change = changeSettings(late, given.recipients, (now) => now);
    expect(await change.catch(({ message }) => message)).toBe("killed");
    const { head: now } = await (await given.open()).settings();
    expect(now.settings.rules[0]!.lastGeneration).toBe(NOW);
    expect(now.settings.graceSeconds).toBe(2e6);
  });

  test("others that do not stop changing them end a change, which is not lost", async () => {
    const given = await testRepository([webRule]);
    const { head, marker } = await (await given.open()).settings();
    const others: string[] = [];
    const backend = wrapBackend(given.backend, {
      putMarker: (put) => async (name, options) => {
        const pattern = `web-${others.length}`;
        others.push(pattern);
        const place = { generation: NOW - 100 + others.length, previous: [marker.address] };
        const settings = allow(head.settings, { ...webRule, pattern });
        await storeHead(given, given.owner, { ...head, ...place, settings });
        await put(name, options);
      },
    });
    const never = await given.open(volatileHeadMemory(), backend);
    const change = changeSettings(never, given.recipients, (now) => ({
      ...now,
      graceSeconds: 1e6,
    }));
    expect(await change.catch(({ code, message }) => ({ code, message }))).toEqual({
      code: "unavailable",
      message: expect.stringContaining("the change is stored"),
    });
    expect(others.length).toBe(8);
    const found = await changeSettings(await given.open(), given.recipients, (now) => now);
    expect(found.head.settings.graceSeconds).toBe(1e6);
    const patterns = found.head.settings.rules.map(({ pattern }) => pattern);
    expect(patterns.toSorted()).toEqual(["web-*", ...others].toSorted());
  });

  test("a change joins all that are apart first, more than a head can name", async () => {
    const given = await testRepository([webRule]);
    const { head, marker } = await (await given.open()).settings();
    const put = async (settings: typeof head.settings, generation: number) => {
      const previous = [marker.address];
      await storeHead(given, given.owner, { ...head, settings, generation, previous });
    };
    for (let i = 0; i < 66; i++) {
      await put(allow(head.settings, { ...webRule, pattern: `web-${i}` }), NOW - 100 + i);
    }
    await put({ ...head.settings, graceSeconds: 1e6 }, NOW - 200);
    const repository = await given.open();
    const rule = { ...webRule, writer: thief.writer };
    const found = await changeSettings(repository, given.recipients, (now) => allow(now, rule));
    // It was made to what the others give together.
    expect(found.head.previous.length).toBe(1);
    expect(found.head.settings.rules.length).toBe(68);
    expect(found.head.settings.graceSeconds).toBe(1e6);
    const heads = (await all(repository.heads())).filter((one) => one.head.kind === "repo");
    expect(heads.map((one) => one.head.previous.length).slice(0, 3)).toEqual([1, 4, 64]);
  });

  test("a change is joined even with settings of which it is not known what came before", async () => {
    const given = await testRepository([webRule]);
    const { head } = await (await given.open()).settings();
    const settings = { ...head.settings, graceSeconds: 1e6 };
    const backend = wrapBackend(given.backend, {
      putMarker: (put) => async (name, options) => {
        // What is gone is newer than this change, so that others would take it for known.
        const place = { generation: NOW + 10, previous: [reach] };
        await storeHead(given, given.owner, { ...head, ...place, settings });
        await put(name, options);
      },
    });
    const repository = await given.open(volatileHeadMemory(), backend);
    const found = await revokeWriter(repository, given.recipients, web.writer);
    expect(found.head.settings.graceSeconds).toBe(1e6);
    expect(found.head.settings.rules[0]!.lastGeneration).toBe(NOW);
  });

  test("a change that the store hid until what came before it was pruned is joined", async () => {
    const given = await testRepository([webRule]);
    const { recipients, clock } = given;
    const { marker } = await revokeWriter(await given.open(), recipients, web.writer);
    clock.now += HOUR;
    const hidden = wrapBackend(hiding(given, [formatMarker(marker)]), {
      list: (list) =>
        async function* listed(prefix, options) {
          for await (const blob of list(prefix, options)) {
            if (blob.name !== marker.address) yield blob;
          }
        },
    });
    const other = await given.open(volatileHeadMemory(), hidden);
    const longer = (settings: Settings) => ({ ...settings, graceSeconds: 1e6 });
    await changeSettings(other, recipients, longer);
    clock.now += 2e9;
    await prune(other);
    const repository = await given.open();
    const isOfSettings = ({ head }: FoundHead) => head.kind === "repo";
    const heads = (await all(repository.heads())).filter(isOfSettings);
    expect(forksOf(heads).map(({ heads: apart }) => apart.length)).toEqual([2]);
    const { head } = await changeSettings(repository, recipients, (settings) => settings);
    expect(head.settings.graceSeconds).toBe(1e6);
    expect(head.settings.rules[0]!.lastGeneration).toBe(NOW);
  });

  test("a change that the store does not list is reported", async () => {
    const given = await testRepository();
    const heads = volatileHeadMemory();
    const puts: string[] = [];
    const hidden = wrapBackend(hiding(given, puts), {
      putMarker: (put) => async (name, options) => {
        puts.push(name);
        await put(name, options);
      },
    });
    const change = changeSettings(await given.open(heads, hidden), given.recipients, (now) => now);
    expect(await codeOf(change)).toBe("rollback");
  });

  test("what others change after this one has read the settings is not lost", async () => {
    const given = await testRepository();
    const rule = { writer: thief.writer, pattern: "other", mayForget: false };
    let isRead = false;
    const backend = wrapBackend(given.backend, {
      listMarkers: (list) =>
        async function* listed(prefix, options) {
          if (isRead) {
            isRead = false;
            await changeSettings(await given.open(), given.recipients, (now) => allow(now, rule));
          }
          yield* list(prefix, options);
        },
    });
    let times = 0;
    const repository = await given.open(volatileHeadMemory(), backend);
    const { head } = await changeSettings(repository, given.recipients, (settings) => {
      times += 1;
      isRead = times === 1;
      return allow(settings, webRule);
    });
    const writers = new Set(head.settings.rules.map(({ writer }) => writer));
    expect(writers).toEqual(new Set([web.writer, thief.writer]));
  });

  test("a change that later settings know of through others is not made again", async () => {
    const given = await testRepository();
    let isFirst = true;
    const backend = wrapBackend(given.backend, {
      putMarker: (put) => async (name, options) => {
        await put(name, options);
        if (!isFirst) return;
        isFirst = false;
        for (const pattern of ["one", "two"]) {
          await changeSettings(await given.open(), given.recipients, (settings) =>
            allow(settings, { ...webRule, pattern }),
          );
        }
      },
    });
    let times = 0;
    const repository = await given.open(volatileHeadMemory(), backend);
    const { head } = await changeSettings(repository, given.recipients, (settings) => {
      times += 1;
      return allow(settings, webRule);
    });
    expect(times).toBe(1);
    expect(head.settings.rules.map(({ pattern }) => pattern)).toEqual(["web-*", "one", "two"]);
  });

  test("a rule that is there already is not there twice", () => {
    const { writer, pattern } = webRule;
    const none = { graceSeconds: 3600, rules: [] };
    const once = allow(none, webRule);
    expect(allow(once, webRule)).toEqual(once);
    // The right to forget is another, and what has ended begins again.
    const both = allow(revoke(once, writer, NOW), { ...webRule, mayForget: true });
    expect(both.rules.map(({ lastGeneration }) => lastGeneration)).toEqual([NOW, null]);
    const again = allow(both, webRule).rules;
    expect(again.map(({ mayForget }) => mayForget)).toEqual([false, true]);
    expect(again.map(({ lastGeneration }) => lastGeneration)).toEqual([null, null]);
    const closed = close(close(once, pattern, NOW + 1), pattern, NOW);
    expect(closed.rules.map(({ lastGeneration }) => lastGeneration)).toEqual([null, NOW]);
    expect(close(closed, pattern, NOW + 2)).toEqual(closed);
  });

  test("a writer that is revoked keeps the heads that others have pushed ahead", async () => {
    const given = await testRepository([webRule]);
    const repository = await given.open();
    const ahead = await storeHead(given, web, part("web-1", NOW + 20 * HOUR));
    await storeHead(given, thief, part("web-1", NOW + 21 * HOUR));
    await storeHead(given, web, part("web-1", NOW + 25 * HOUR));
    const { head } = await revokeWriter(repository, given.recipients, web.writer);
    expect(head.settings.rules[0]!.lastGeneration).toBe(NOW + 20 * HOUR);
    expect((await repository.newest("web-1"))?.marker).toEqual(ahead);
    await storeHead(given, web, part("web-1", NOW + 20 * HOUR + 1));
    expect((await repository.newest("web-1"))?.marker).toEqual(ahead);
    // Without such heads they end now.
    const other = await testRepository([webRule]);
    other.clock.now += 5;
    const found = await revokeWriter(await other.open(), other.recipients, web.writer);
    expect(found.head.settings.rules[0]!.lastGeneration).toBe(NOW + 5);
  });

  test("a repository without settings is none", async () => {
    const given = await testRepository();
    const repository = await given.open();
    const settings = await repository.settings();
    const empty = await given.open(
      volatileHeadMemory(),
      hiding(given, [formatMarker(settings.marker)]),
    );
    expect(await codeOf(empty.newest("home"))).toBe("head");
  });

  test("no two repositories are made at one place", async () => {
    const { backend, owner, recipients } = await testRepository();
    expect(await codeOf(createRepository({ backend, owner, recipients }))).toBe("usage");
  });

  test("of two that are made at once, the later one is taken back", async () => {
    const { owner, recipients } = await testRepository();
    const make = async (backend: Backend) => createRepository({ backend, owner, recipients });
    // At the same moment by the store's time neither knows which was first.
    for (const [step, made] of [[1, 1] as const, [0, 0] as const]) {
      const clock = { now: NOW };
      const inner = memory({ now: () => clock.now });
      const [looked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      // Has looked for markers before the other's was there, and undoes what it did after the other's end.
      let looks = 0;
      const blind = wrapBackend(inner, {
        listMarkers: (list) =>
          async function* listed(prefix, options) {
            looks += 1;
            if (looks > 1) yield* list(prefix, options);
          },
        deleteMarker: (remove) => async (name, options) => {
          looked.resolve();
          await ended.promise;
          await remove(name, options);
        },
      });
      let later: Promise<string> | undefined;
      const backend = wrapBackend(inner, {
        putMarker: (put) => async (name, options) => {
          await put(name, options);
          clock.now += step;
          later = codeOf(make(blind));
          await Promise.race([later, looked.promise]);
        },
      });
      expect(await codeOf(make(backend))).toBe(made === 1 ? "ok" : "usage");
      ended.resolve();
      expect(await later).toBe("usage");
      expect((await all(inner.listMarkers!(""))).length).toBe(made);
      expect((await all(inner.list(""))).length).toBe(made);
    }
  });

  test("is made in a folder that does not exist", async () => {
    const { owner, recipients } = await testRepository();
    const backend = filesystem(join(folder, "store", "repo"));
    const { repository } = await createRepository({ backend, owner, recipients });
    expect(repository).toMatch(/^[0-9a-f]{32}$/u);
  });
});

test("one identity finds its repository again, whatever lies beside it", async () => {
  const given = await testRepository([webRule]);
  const { backend, identity, pinned } = given;
  await storeHead(given, web, part("web-1", NOW));
  const settings = await (await given.open()).settings();
  // Heads of other repositories in the chain of the settings, and settings that another signed.
  const foreign = { chain: settings.marker.chain, generation: NOW + 5 };
  await storeHead(given, web, part("web-1", NOW + 5), { marker: foreign });
  const empty = { graceSeconds: 3600, rules: [] };
  await storeHead(given, thief, {
    kind: "repo",
    name: "",
    generation: NOW + 9,
    settings: empty,
  } as never);
  expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
  const other = await testRepository();
  expect(await discoverRepository({ backend, identity: other.identity })).toBeUndefined();
  // Settings of another repository of the same owner, copied in.
  const second = { ...given, repository: "77".repeat(16) as never };
  await storeHead(second, given.owner, {
    kind: "repo",
    name: "",
    generation: NOW,
    settings: empty,
  } as never);
  expect(await codeOf(discoverRepository({ backend, identity }))).toBe("head");
});

test("a repository is found with one read for each chain, two requests at a time, and behind made-up markers with more", async () => {
  const given = await testRepository();
  const { identity, pinned } = given;
  const { marker } = await (await given.open()).settings();
  for (let i = 0; i < 20; i++) await storeHead(given, given.owner, part("home", NOW + i));
  let [inFlight, most, reads] = [0, 0, 0];
  const backend = wrapBackend(given.backend, {
    get: (get) => async (name, options) => {
      reads += 1;
      inFlight += 1;
      most = Math.max(most, inFlight);
      await Bun.sleep(1);
      return get(name, options).finally(() => {
        inFlight -= 1;
      });
    },
  });
  expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
  expect([reads, most]).toEqual([2, 2]);
  for (let i = 0; i < 40; i++) {
    const address = i.toString(16).padStart(64, "0") as Address;
    const generation = marker.generation + 1 + i;
    await backend.putMarker!(formatMarker({ ...marker, generation, address }));
  }
  reads = 0;
  expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
  expect(reads).toBe(42);
  // Eight of this chain and, if it comes first, the newest of the other.
  expect(most).toBeWithin(8, 10);
  expect(inFlight).toBe(0);
});

test("markers that someone made up do not hide a repository from its owner", async () => {
  const given = await testRepository();
  const { backend, identity, pinned } = given;
  const { marker } = await (await given.open()).settings();
  const madeUp = async (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const address = i.toString(16).padStart(64, "0") as Address;
      const generation = marker.generation + 1 + i;
      await backend.putMarker!(formatMarker({ ...marker, generation, address }));
    }
  };
  await madeUp(0, 16);
  await storeHead(given, given.owner, part("home", NOW));
  given.take();
  expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
  await madeUp(16, 100);
  given.take();
  expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
  // The head of the other chain, and all of this one.
  expect(given.take().get).toBeLessThanOrEqual(1 + 101);
  // For someone else it is not as if nothing were there.
  const other = await testRepository();
  const error = await discoverRepository({ backend, identity: other.identity }).catch(
    (thrown: StorageError) => thrown,
  );
  expect(error).toMatchObject({ code: "head" });
  expect((error as StorageError).message).toContain("has markers of a repository");
  // Not even if an attacker has copied settings of another repository of the owner, too.
  const second = { ...given, repository: "77".repeat(16) as never };
  const settings = { graceSeconds: 3600, rules: [] };
  const head = { kind: "repo", name: "", generation: NOW, settings };
  await storeHead(second, given.owner, head as never);
  const both = await discoverRepository({ backend, identity }).catch((thrown: Error) => thrown);
  expect((both as Error).message).toContain("has settings of 2 repositories of this owner");
});

describe("a marker with a generation that no head can have", () => {
  async function* noNames() {}
  const nameIn = (chain: string, address = 0) =>
    `${chain}/${"0".repeat(16)}-${address.toString(16).padStart(64, "0")}`;

  test("hides no repository, in a chain of its own, or in that of the settings, with a marker ahead", async () => {
    const given = await testRepository();
    const { backend, identity, pinned } = given;
    const { marker } = await (await given.open()).settings();
    await backend.putMarker!(nameIn("0".repeat(32)));
    expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
    await backend.putMarker!(nameIn(marker.chain));
    expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
    await backend.deleteMarker!(nameIn(marker.chain));
    const ahead = { ...marker, generation: NOW + 2 * 24 * 60 * 60 * 1000 };
    await backend.putMarker!(formatMarker(ahead));
    expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
    await backend.putMarker!(nameIn(marker.chain));
    expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
  });

  test("lets no second repository begin, also if it is put while one begins", async () => {
    const { owner, recipients } = await testRepository();
    const backend = memory();
    const late = wrapBackend(backend, {
      putMarker: (put) => async (name, options) => {
        for (let i = 0; i < 64; i++) await put(nameIn("0".repeat(32), i));
        await put(name, options);
      },
    });
    const messageOf = async (on: typeof backend) =>
      createRepository({ backend: on, owner, recipients }).catch((error: Error) => error.message);
    const refused =
      /^cannot make a repository in .*: heads\/0{32}\/0{16}-0{64} is not a valid marker; delete it, or choose another location$/u;
    expect(await messageOf(late)).toMatch(refused);
    // Nothing of its own is left.
    expect(await all(backend.listMarkers!(""))).toHaveLength(64);
    expect(await messageOf(backend)).toMatch(refused);
    const stuck = wrapBackend(late, {
      listMarkers: (list) => (prefix, options) =>
        options?.limit === 1 ? noNames() : list(prefix, options),
      deleteMarker: () => async () => {
        throw new StorageError("permission", "may not delete");
      },
    });
    expect(await messageOf(stuck)).toMatch(/; first delete heads\/.*, which this could not$/u);
  });
});

test("a search that fails ends with what failed, and leaves no request behind", async () => {
  const given = await testRepository();
  await storeHead(given, given.owner, part("home", NOW));
  let pending = 0;
  const waiting = async <T>(call: () => Promise<T>): Promise<T> => {
    pending += 1;
    await Bun.sleep(2);
    return call().finally(() => {
      pending -= 1;
    });
  };
  let fail = "";
  const backend = wrapBackend(given.backend, {
    currentTime: (time) => async (options) =>
      waiting(async () => {
        if (fail === "time") throw new StorageError("unavailable", "no time");
        return time(options);
      }),
    get:
      (get) =>
      async (...args) =>
        waiting(async () => {
          if (fail === "get") throw new StorageError("unavailable", "no head");
          return get(...args);
        }),
    listMarkers: (list) =>
      async function* failing(prefix, options) {
        await waiting(async () => {});
        if (fail === (options?.after === "" ? "first list" : "later list")) {
          throw new StorageError("unavailable", "no list");
        }
        yield* list(prefix, options);
      },
  });
  const { identity, pinned } = given;
  for (fail of ["time", "get", "first list", "later list"]) {
    expect([fail, await codeOf(discoverRepository({ backend, identity }))]).toEqual([
      fail,
      "unavailable",
    ]);
    expect(pending).toBe(0);
  }
  fail = "";
  expect(await discoverRepository({ backend, identity })).toMatchObject(pinned);
});

describe("forks", () => {
  async function forked(links: Record<string, string>, hidden = "") {
    const given = await testRepository();
    const stored = new Map<string, Address>();
    for (const [i, [name, previous]] of Object.entries(links).entries()) {
      const before = previous.split("").map((each) => stored.get(each) ?? reach);
      stored.set(
        name,
        (await storeHead(given, given.owner, part("home", NOW + i, before))).address,
      );
    }
    const names = new Map([...stored].map(([name, address]) => [address, name]));
    const heads = (await all((await given.open()).heads())).filter(
      ({ head, marker }) => head.name === "home" && names.get(marker.address) !== hidden,
    );
    return forksOf(heads).map(({ heads: apart, joinedBy }) => [
      apart.map(({ marker }) => names.get(marker.address)).join(""),
      joinedBy && names.get(joinedBy.marker.address),
    ]);
  }
  test("two heads that do not know of each other are one, until and after they are joined", async () => {
    expect(await forked({ a: "", b: "a", c: "b" })).toEqual([]);
    expect(await forked({ a: "", b: "a", c: "a" })).toEqual([["cb", undefined]]);
    expect(await forked({ a: "", b: "a", c: "a", d: "bc" })).toEqual([["cb", "d"]]);
    expect(await forked({ a: "", b: "" })).toEqual([["ba", undefined]]);
    // One of those before it comes after the other.
    expect(await forked({ a: "", b: "a", c: "b", d: "ac" })).toEqual([]);
  });
  test("what a head that is gone may have known of is none", async () => {
    expect(await forked({ a: "", b: "a", c: "b" }, "b")).toEqual([]);
    expect(await forked({ a: "", b: "a", c: "b", d: "b" }, "b")).toEqual([["dc", undefined]]);
    // It is older than both that name it, so that it is not what knows of one of them.
    const far = { a: "", b: "a", c: "b", x: "c", y: "x", d: "b" };
    expect(await forked(far, "b")).toEqual([["dy", undefined]]);
    // It may be the other one under another address.
    expect(await forked({ a: "", b: "a", c: "a", d: "b" }, "b")).toEqual([]);
  });
});
