import { type Address, type Backend, wrapBackend } from "@idk/storage";
import type { CheckOptions, CheckProblem } from "../../src/maintenance/check/problems.ts";
import { type OwnRepository, all, testRepository } from "../support/repositories.ts";
import {
  type Folder,
  bytes,
  storeFolder,
  storeHead,
  storeRecord,
  storeSnapshot,
  testSession,
} from "../support/repository-writer.ts";
import { describe, expect, test } from "bun:test";
import { addressList } from "../../src/format/records/address-list.ts";
import { check } from "../../src/maintenance/check/check.ts";
import { decodeRow } from "../../src/format/packs/row.ts";
import { packTable } from "../../src/maintenance/check/pack-table.ts";
import { ROW_LENGTH } from "../../src/format/limits.ts";
import { encodeReach } from "../../src/format/records/reach.ts";
import { forget } from "../../src/maintenance/forget/forget.ts";
import { formatMarker } from "../../src/format/names/marker.ts";
import { storeBackup } from "../support/abstract-backup.ts";
import { unreadable } from "../support/unreadable.ts";
import type { SessionId } from "../../src/format/names/identifiers.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";
import { writerKeyFromSeed } from "../../src/format/keys/writer.ts";

const HOUR = 60 * 60 * 1000;

/** Stores a folder as a snapshot with its list of packs. Returns the packs in the order they were stored. */
async function backUp(
  given: OwnRepository,
  name: string,
  folder: Folder,
  change: {
    readonly reach?: (packs: readonly Address[]) => readonly Address[];
    readonly totals?: object;
    readonly head?: object;
  } = {},
) {
  const { reach: reachOf = (packs: readonly Address[]) => packs } = change;
  given.clock.now += HOUR;
  const packs: Address[] = [];
  const recording = wrapBackend(given.backend, {
    put: (put) => async (address, blob, options) => {
      packs.push(address as Address);
      await put(address, blob, options);
    },
  });
  const session = testSession(recording, given.recipients);
  const tree = await storeFolder(session, folder, { packEach: true });
  const content = { earlier: [], added: addressList(reachOf(packs)), dropped: new Uint8Array(0) };
  const reach = await storeRecord(given, "reach", encodeReach(content));
  const store = async (generation: number, sessionKeys?: ReadonlyMap<SessionId, Uint8Array>) =>
    storeSnapshot(given, given.owner, name, session, tree, {
      generation,
      head: { reach, ...change.head },
      change: { totals: { ...tree.totals, ...change.totals } },
      ...(sessionKeys && { sessionKeys }),
    });
  const marker = await store(given.clock.now);
  return { marker, packs, reach, session, store };
}

const FOLDER: Folder = {
  "a.txt": bytes("one"),
  docs: { "b.txt": bytes("two"), "c.txt": [bytes("three"), bytes("four")] },
  empty: {},
  link: "a.txt",
};
/** Data packs are stored before the metadata that refers to them, folders before what they are in. */
const PACKS = { a: 0, b: 1, c1: 2, c2: 3, docs: 4, root: 5 } as const;

async function checked(given: OwnRepository, options: CheckOptions = {}, over?: Backend) {
  const problems: CheckProblem[] = [];
  const onProblem = (problem: CheckProblem) => problems.push(problem);
  const repository = await given.open(volatileHeadMemory(), over);
  const report = await check(repository, { ...options, onProblem });
  return { report, problems };
}

/** One line for each problem. */
function lines(problems: readonly CheckProblem[]): string[] {
  return problems.map((problem) => {
    switch (problem.kind) {
      case "file":
        return `file ${Buffer.from(problem.path).toString()} of ${problem.found.head.name}`;
      case "tree":
        return `tree /${Buffer.from(problem.path).toString()} ${problem.error.code}`;
      case "pack":
        return `pack ${problem.error.code}${problem.isDeleted ? " deleted" : ""}`;
      case "reach":
        return `reach lacking ${problem.lacking} surplus ${problem.surplus}`;
      case "part":
        return `part ${problem.missing}`;
      case "fork":
        return `fork of ${problem.heads.length} ${problem.isJoined ? "joined" : "open"}`;
      case "head":
      case "record":
      case "key":
        return `${problem.kind} ${problem.error.code}`;
      default:
        return problem satisfies never;
    }
  });
}

async function damage({ backend }: OwnRepository, address: Address): Promise<void> {
  const size = (await backend.head(address))!.size;
  await backend.put(address, new Uint8Array(size));
}

describe("parts of a check", () => {
  const SHARDS = [0, 4, 8, 12].map((start) => {
    const prefixes = [0, 1, 2, 3].map((digit) => (start + digit).toString(16));
    return { prefixes, count: 4, has: (address: string) => prefixes.includes(address[0]!) };
  });

  test("report each problem once, and list only what is in them", async () => {
    const given = await testRepository();
    const first = await backUp(given, "home", FOLDER);
    const second = await backUp(given, "other", { ...FOLDER, more: bytes("five") });
    await given.backend.delete(first.packs[PACKS.a]!);
    await damage(given, first.packs[PACKS.c1]!);
    await damage(given, second.packs[PACKS.docs]!);
    const whole = await checked(given, { readData: 1 });
    expect(whole.problems.length).toBeGreaterThan(5);
    const found: string[] = [];
    const sum = { packs: 0, metadataPacks: 0, opened: 0, openedBytes: 0 };
    for (const shard of SHARDS) {
      const prefixes: string[] = [];
      const over = wrapBackend(given.backend, {
        list: (list) => (prefix, options) => {
          prefixes.push(prefix);
          return list(prefix, options);
        },
      });
      const { report, problems } = await checked(given, { readData: 1, shard }, over);
      found.push(...lines(problems));
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += report[name];
      // A pack that is not there is looked for once more.
      expect(prefixes.filter((prefix) => prefix.length < 64)).toEqual(shard.prefixes);
      expect(report.snapshots).toBe(2);
    }
    expect(found.toSorted()).toEqual(lines(whole.problems).toSorted());
    const { packs, metadataPacks, opened, openedBytes } = whole.report;
    expect(sum).toEqual({ packs, metadataPacks, opened, openedBytes });
  });

  test("report heads, forks and records once, and parts of a backup where its packs are missing", async () => {
    const given = await testRepository();
    await backUp(given, "home", FOLDER);
    await backUp(given, "home", FOLDER);
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const generation = given.clock.now;
    await storeBackup(given, thief, "home", { generation, packs: [] });
    const packs = ["1a", "cd", "ce"].map((digits) => digits.repeat(32) as Address);
    await storeBackup(given, given.owner, "laptop", { generation, packs, kind: "part" });
    const found: string[] = [];
    for (const shard of SHARDS) {
      const { problems } = await checked(given, { shard });
      const parts = problems.flatMap((one) => (one.kind === "part" ? [one.missing] : []));
      expect(parts).toEqual(shard.has("1") ? [1] : shard.has("c") ? [2] : []);
      found.push(...lines(problems.filter(({ kind }) => kind !== "part")));
    }
    expect(found.toSorted()).toEqual(["fork of 2 open", "head head"]);
  });

  test("leave out packs that are known to be sound", async () => {
    const given = await testRepository();
    await backUp(given, "home", FOLDER);
    const sound = new Map<Address, number | undefined>();
    const onSound = (pack: Address, opened: number | undefined) => sound.set(pack, opened);
    const [shard] = SHARDS;
    const all = await checked(given, { readData: 1, onSound });
    expect(sound.size).toBe(all.report.opened);
    expect(sound.size).toBeGreaterThan(3);
    const isKnownSound = (pack: Address) => sound.has(pack);
    expect((await checked(given, { readData: 1, isKnownSound })).report.opened).toBe(0);
    expect(checked(given, { readData: 1, deleteDamaged: true, shard })).rejects.toMatchObject({
      code: "usage",
    });
  });
});

describe("check", () => {
  test("opens the session keys of each snapshot, also of those whose directories others have", async () => {
    const given = await testRepository();
    const { session, marker, store } = await backUp(given, "home", FOLDER);
    const key = session.sessionKey();
    const damaged = key.with(key.length - 1, key.at(-1)! ^ 1);
    const other = testSession(given.backend, given.recipients);
    // The newest is checked first.
    const stored = [];
    for (const [age, blob] of [key, damaged, other.sessionKey(), damaged].entries()) {
      // What nothing needs may be worth nothing.
      const keys = new Map([
        [session.id, blob],
        [other.id, damaged],
      ]);
      stored.push(await store(marker.generation - 1 - age, keys));
    }
    const { problems } = await checked(given);
    const faults = problems.flatMap((problem) => (problem.kind === "key" ? [problem] : []));
    expect(lines(problems.filter(({ kind }) => kind !== "fork"))).toEqual([
      "key auth",
      "key tree",
      "key auth",
    ]);
    expect(faults.map(({ found }) => found.marker.address)).toEqual(
      stored.slice(1).map(({ address }) => address),
    );
    expect(new Set(faults.map((fault) => fault.session))).toEqual(new Set([session.id]));
    expect(faults[1]!.error.message).toContain(
      `another than that of the snapshot of the head ${marker.address}`,
    );
    expect(JSON.stringify(faults)).not.toContain(Buffer.from(session.secret).toString("hex"));
  });

  test.each([1, -1])(
    "a wrong key of a session is a problem of the snapshot that has it (%d s later)",
    async (seconds) => {
      const given = await testRepository();
      const session = testSession(given.backend, given.recipients);
      const row = await session.dataPack(bytes("one"));
      const store = async (generation: number, key: Uint8Array) => {
        const from = testSession(given.backend, given.recipients);
        const tree = await storeFolder({ ...from, dataPack: async () => row }, { x: bytes("one") });
        const sessionKeys = new Map([
          [from.id, from.sessionKey()],
          [session.id, key],
        ]);
        return storeSnapshot(given, given.owner, "home", from, tree, { generation, sessionKeys });
      };
      const { now } = given.clock;
      const wrong = testSession(given.backend, given.recipients).sessionKey();
      const { address } = await store(now + 1000 * seconds, wrong);
      await store(now, session.sessionKey());
      const { problems } = await checked(given);
      const faults = problems.flatMap((one) => (one.kind === "key" ? [one] : []));
      expect(faults.map(({ found }) => found.marker.address)).toEqual([address]);
      expect(faults[0]!.session).toBe(session.id);
    },
  );

  test("two keys of a session are right if each opens the packs of its snapshot", async () => {
    const given = await testRepository();
    const { id } = testSession(given.backend, given.recipients);
    for (const [i, name] of ["one", "two"].entries()) {
      const session = testSession(given.backend, given.recipients, id);
      const tree = await storeFolder(session, { x: bytes(name) });
      const generation = given.clock.now + i;
      await storeSnapshot(given, given.owner, "home", session, tree, { generation });
    }
    const { problems } = await checked(given);
    expect(lines(problems).filter((line) => line.startsWith("key"))).toEqual([]);
  });

  test("finds nothing wrong with what is whole", async () => {
    const given = await testRepository();
    const first = await backUp(given, "home", FOLDER);
    await backUp(
      given,
      "home",
      { ...FOLDER, "d.txt": bytes("five") },
      { head: { previous: [first.marker.address] } },
    );
    await backUp(given, "office", {});
    const stages = new Set<string>();
    const onProgress = ({ stage }: { stage: string }) => stages.add(stage);
    const { report, problems } = await checked(given, { readData: 1, onProgress });
    expect(lines(problems)).toEqual([]);
    expect(report).toMatchObject({ chains: 3, snapshots: 3, forgotten: 0, isSound: true });
    // docs, empty and the root twice, the empty root being one with the empty folder.
    expect(report.packs).toBe(13);
    expect(report.metadataPacks).toBe(4);
    expect(report.opened).toBe(9);
    expect(report.openedBytes).toBe(9 * 4096);
    expect([...stages].toSorted()).toEqual(["blobs", "heads", "packs", "trees"]);
  });

  test("without readData no data pack is read, with a share some are", async () => {
    const given = await testRepository();
    const folder = Object.fromEntries(
      Array.from({ length: 100 }, (_, i) => [`f${i}`, bytes(`content ${i}`)]),
    );
    const { packs } = await backUp(given, "home", folder);
    const read = new Set<string>();
    const backend = wrapBackend(given.backend, {
      get: (get) => async (name, buffer, options) => {
        read.add(name);
        return get(name, buffer, options);
      },
    });
    const data = packs.slice(0, 100);
    expect((await checked(given, {}, backend)).report.opened).toBe(0);
    expect(data.filter((pack) => read.has(pack))).toEqual([]);
    const { opened } = (await checked(given, { readData: 0.3 }, backend)).report;
    expect(opened).toBeGreaterThan(5);
    expect(opened).toBeLessThan(70);
    expect(data.filter((pack) => read.has(pack)).length).toBe(opened);
    const wrong = checked(given, { readData: 2 }).catch(({ code }: { code: string }) => code);
    expect(await wrong).toBe("usage");
  });

  test("names the files of a pack that is missing, once", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    await given.backend.delete(packs[PACKS.c2]!);
    const { report, problems } = await checked(given);
    expect(lines(problems)).toEqual(["file docs/c.txt of home", "pack not-found"]);
    expect(report.isSound).toBe(false);
  });

  test("names the files of a damaged pack, and deletes it when told", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    await damage(given, packs[PACKS.a]!);
    expect((await checked(given)).report.isSound).toBe(true);
    const found = await checked(given, { readData: 1 });
    expect(lines(found.problems)).toEqual(["pack address", "file a.txt of home"]);
    expect(await given.backend.head(packs[PACKS.a]!)).toBeDefined();
    const told = await checked(given, { readData: 1, deleteDamaged: true });
    expect(lines(told.problems)).toEqual(["pack address deleted", "file a.txt of home"]);
    expect(await given.backend.head(packs[PACKS.a]!)).toBeUndefined();
  });

  test("asks the store for checksums, where it has them", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    let asked = 0;
    const attesting = wrapBackend(
      {
        ...given.backend,
        capabilities: async () => ({
          verifiesChecksums: true,
          conditionalPut: false,
          versions: false,
        }),
      },
      {
        head: (head) => async (name, options) => {
          asked += 1;
          const info = await head(name, options);
          return info && { ...info, sha256: name === packs[PACKS.b] ? packs[0] : name };
        },
      },
    );
    const { report, problems } = await checked(given, {}, attesting);
    expect(lines(problems)).toEqual(["pack address", "file docs/b.txt of home"]);
    expect(report.attested).toBe(4);
    expect(asked).toBe(4);
    await checked(given, { checksums: false }, attesting);
    expect(asked).toBe(4);
  });

  test("of a damaged metadata pack it names the directory, and goes on", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    await backUp(given, "office", FOLDER);
    await damage(given, packs[PACKS.docs]!);
    const { problems } = await checked(given, { deleteDamaged: true });
    expect(lines(problems)).toEqual(["tree /docs address", "pack address deleted"]);
    expect(await given.backend.head(packs[PACKS.docs]!)).toBeUndefined();
  });

  test("does not delete a pack whose bytes are right, whatever checksum the store has", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    const [a, b] = [packs[PACKS.a]!, packs[PACKS.b]!];
    const lying = wrapBackend(
      {
        ...given.backend,
        capabilities: async () => ({
          verifiesChecksums: true,
          conditionalPut: false,
          versions: false,
        }),
      },
      {
        head: (head) => async (name, options) => {
          const info = await head(name, options);
          return info && { ...info, sha256: name === a ? b : name };
        },
      },
    );
    const { problems } = await checked(given, { deleteDamaged: true }, lying);
    expect(lines(problems).filter((line) => line.startsWith("pack"))).toEqual(["pack address"]);
    expect(problems.flatMap((one) => (one.kind === "pack" ? [one.error.message] : []))).toEqual([
      expect.stringContaining("its bytes are right, so it is not deleted"),
    ]);
    for (const pack of packs) expect(await given.backend.head(pack)).toBeDefined();
  });

  test("does not delete a pack because the server reports that it cannot read it", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    const a = packs[PACKS.a]!;
    for (const transient of [true, false]) {
      const failing = unreadable(given.backend, new Set([a]), { transient });
      const { problems } = await checked(given, { readData: 1, deleteDamaged: true }, failing);
      expect(lines(problems)).toEqual(["pack address", "file a.txt of home"]);
      expect(await given.backend.head(a)).toBeDefined();
    }
  });

  test("deletes none of many damaged packs, and says so", async () => {
    const given = await testRepository();
    const names = Array.from({ length: 20 }, (_, i) => `f${i}`);
    const folder = Object.fromEntries(names.map((name) => [name, bytes(name)]));
    const { packs } = await backUp(given, "home", folder);
    const repair = new Map<Address, Uint8Array>();
    for (const pack of packs.slice(0, 17)) {
      const whole = new Uint8Array((await given.backend.head(pack))!.size);
      await given.backend.get(pack, whole);
      repair.set(pack, whole);
      await damage(given, pack);
    }
    const { problems } = await checked(given, { readData: 1, deleteDamaged: true });
    const found = problems.filter(({ kind }) => kind === "pack");
    expect(lines(found)).toEqual(Array(17).fill("pack address"));
    const text = "17 of 21 packs seem damaged, which is so many that none is deleted";
    for (const one of found) expect("error" in one && one.error.message).toContain(text);
    expect(problems.filter(({ kind }) => kind === "file").length).toBe(17);
    // One fewer is not too many.
    await given.backend.put(packs[0]!, repair.get(packs[0]!)!);
    const fewer = await checked(given, { readData: 1, deleteDamaged: true });
    expect(lines(fewer.problems.filter(({ kind }) => kind === "pack"))).toEqual(
      Array(16).fill("pack address deleted"),
    );
  });

  test("deletes nothing from a store with versions, of which older ones may be intact", async () => {
    const given = await testRepository();
    const { packs } = await backUp(given, "home", FOLDER);
    await damage(given, packs[PACKS.a]!);
    const capable = { verifiesChecksums: false, conditionalPut: false, versions: true };
    const versioned = { ...given.backend, capabilities: async () => capable };
    const all = { readData: 1, deleteDamaged: true };
    const refusal = await checked(given, all, versioned).catch((error: Error) => error);
    expect(refusal).toMatchObject({
      code: "usage",
      message: expect.stringContaining("delete the newest version"),
    });
    const unknown = {
      ...versioned,
      capabilities: async () => ({ ...capable, versions: undefined }),
    };
    expect(await checked(given, all, unknown).catch((error: Error) => error)).toMatchObject({
      code: "usage",
      message: expect.stringContaining("may keep versions"),
    });
    expect(await given.backend.head(packs[PACKS.a]!)).toBeDefined();
    const told = await checked(given, { readData: 1 }, versioned);
    expect(lines(told.problems)).toEqual(["pack address", "file a.txt of home"]);
    const unversioned = {
      ...versioned,
      capabilities: async () => ({ ...capable, versions: false }),
    };
    const gone = await checked(given, all, unversioned);
    expect(lines(gone.problems)).toEqual(["pack address deleted", "file a.txt of home"]);
  });

  test("a hostile snapshot cannot have other packs deleted", async () => {
    const given = await testRepository();
    const other = testSession(given.backend, given.recipients);
    const { address } = await other.dataPack(bytes("one"));
    // Refers to the pack of another session as if it were of its own.
    const session = testSession(given.backend, given.recipients);
    const claimed = async () => ({ session: session.id, address, salt: new Uint8Array(16) });
    const tree = await storeFolder({ ...session, dataPack: claimed }, { x: bytes("one") });
    const generation = given.clock.now;
    await storeSnapshot(given, given.owner, "evil", session, tree, { generation });
    const { problems } = await checked(given, { readData: 1, deleteDamaged: true });
    expect(lines(problems).filter((line) => line.startsWith("pack"))).toEqual(["pack commit"]);
    expect(await given.backend.head(address)).toBeDefined();
  });

  test("compares the list of packs with what the tree needs", async () => {
    const given = await testRepository();
    await backUp(given, "short", FOLDER, { reach: (packs) => packs.slice(1) });
    const stray = "ab".repeat(32) as Address;
    await backUp(given, "long", FOLDER, { reach: (packs) => [...packs, stray] });
    const { report, problems } = await checked(given);
    const expected = ["reach lacking 1 surplus 0", "reach lacking 0 surplus 1"];
    expect(lines(problems).toSorted()).toEqual(expected.toSorted());
    expect(report.isSound).toBe(false);
    const other = await testRepository();
    await backUp(other, "long", FOLDER, { reach: (packs) => [...packs, stray] });
    expect((await checked(other)).report.isSound).toBe(true);
  });

  test("reports records that are gone, and totals that are wrong", async () => {
    const given = await testRepository();
    const { reach } = await backUp(given, "home", FOLDER);
    await given.backend.delete(reach);
    expect(lines((await checked(given)).problems)).toEqual(["record not-found"]);
    await backUp(given, "office", FOLDER, { totals: { files: 77 } });
    const { problems } = await checked(given);
    expect(lines(problems).toSorted()).toEqual(["record not-found", "tree / tree"]);
  });

  test("reports heads that do not count, forks, and parts that lack packs", async () => {
    const given = await testRepository();
    await backUp(given, "home", FOLDER);
    await backUp(given, "home", FOLDER);
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const generation = given.clock.now;
    await storeBackup(given, thief, "home", { generation, packs: [] });
    const packs = ["cd".repeat(32) as Address];
    await storeBackup(given, given.owner, "laptop", { generation, packs, kind: "part" });
    const keys = "ef".repeat(32) as Address;
    await storeHead(given, given.owner, { kind: "keys", name: ".", generation, keys });
    const { report, problems } = await checked(given);
    const expected = ["head head", "fork of 2 open", "part 1", "record not-found"];
    expect(lines(problems).toSorted()).toEqual(expected.toSorted());
    expect(report.problems).toMatchObject({ head: 1, fork: 1, part: 1, record: 1, file: 0 });
  });

  test("a head that does not count is no problem once the owner has forgotten it", async () => {
    const given = await testRepository();
    await backUp(given, "home", FOLDER);
    const thief = writerKeyFromSeed(new Uint8Array(32).fill(3));
    const generation = given.clock.now;
    await storeBackup(given, thief, "home", { generation, packs: [] });
    expect((await checked(given)).report).toMatchObject({ isSound: false, problems: { head: 1 } });
    const repository = await given.open();
    await forget(repository, { refused: true, recipients: given.recipients });
    expect((await checked(given)).report).toMatchObject({ isSound: true, problems: { head: 0 } });
  });

  test("settings that do not know of each other are a problem until later ones know them", async () => {
    const given = await testRepository();
    const repository = await given.open();
    const { head } = await repository.settings();
    const store = (generation: number, settings: object, previous: readonly Address[]) =>
      storeHead(given, given.owner, { ...head, generation, previous, settings } as never);
    const [one, other] = [
      await store(given.clock.now, { graceSeconds: 700_000, rules: [] }, head.previous),
      await store(given.clock.now + 1, { graceSeconds: 700_001, rules: [] }, head.previous),
    ];
    const found = await checked(given);
    expect(lines(found.problems)).toEqual(["fork of 3 open"]);
    expect(found.report.isSound).toBe(false);
    const first = (await repository.settings()).marker.address;
    const both = [
      { graceSeconds: 700_001, rules: [] },
      [first, one.address, other.address],
    ] as const;
    await store(given.clock.now + 2, ...both);
    const joined = await checked(given);
    expect(lines(joined.problems)).toEqual(["fork of 3 joined"]);
    expect(joined.report.isSound).toBe(true);
    // Two owners have joined the same ones at the same time.
    await store(given.clock.now + 3, ...both);
    expect(lines((await checked(given)).problems)).toEqual([
      "fork of 3 joined",
      "fork of 3 joined",
    ]);
  });

  test("counts what is forgotten, and directories that snapshots share once", async () => {
    const given = await testRepository();
    const first = await backUp(given, "home", FOLDER);
    const repository = await given.open();
    const [found] = await all(repository.snapshots("home"));
    given.clock.now += HOUR;
    // The same tree once more.
    await storeHead(given, given.owner, {
      ...found!.head,
      generation: given.clock.now,
      previous: [first.marker.address],
    });
    await forget(repository, { policy: { last: 1 }, recipients: given.recipients });
    const { report } = await checked(given);
    expect(report).toMatchObject({ snapshots: 2, forgotten: 1, directories: 3, isSound: true });
  });

  test("what a prune deletes meanwhile is no problem", async () => {
    const given = await testRepository();
    const { marker, packs, reach } = await backUp(given, "home", FOLDER);
    let isFirst = true;
    const pruning = wrapBackend(given.backend, {
      list: (list) =>
        async function* listed(prefix, options) {
          if (isFirst) {
            await given.backend.deleteMarker!(formatMarker(marker));
            for (const blob of [...packs, reach]) await given.backend.delete(blob);
          }
          isFirst = false;
          yield* list(prefix, options);
        },
    });
    const { problems } = await checked(given, { readData: 1 }, pruning);
    expect(lines(problems)).toEqual([]);
  });
});

test("a snapshot whose keys are wrong hides no damage from those of others", async () => {
  const given = await testRepository();
  const { packs, session, store } = await backUp(given, "home", FOLDER);
  const sound = await checked(given);
  expect(lines(sound.problems)).toEqual([]);
  await given.backend.delete(packs[PACKS.a]!);
  await given.backend.delete(packs[PACKS.c1]!);
  const alone = lines((await checked(given)).problems);
  expect(alone).toEqual([
    "file a.txt of home",
    "file docs/c.txt of home",
    ...Array<string>(2).fill("pack not-found"),
  ]);
  // Newer, so that it is checked before.
  given.clock.now += HOUR;
  await store(given.clock.now, new Map([[session.id, new Uint8Array(32).fill(1)]]));
  const { problems, report } = await checked(given);
  expect(lines(problems)).toEqual(expect.arrayContaining(alone));
  expect(report.directories).toBe(sound.report.directories);
});

test("a damaged pack is found, and deleted, also if a newer snapshot has no key for it", async () => {
  const given = await testRepository();
  const { packs, session: theirs } = await backUp(given, "home", { x: bytes("one") });
  await damage(given, packs[0]!);
  const session = testSession(given.backend, given.recipients);
  const claimed = async () => ({
    session: theirs.id,
    address: packs[0]!,
    salt: new Uint8Array(16),
  });
  const tree = await storeFolder({ ...session, dataPack: claimed }, { y: bytes("one") });
  given.clock.now += HOUR;
  await storeSnapshot(given, given.owner, "home", session, tree, { generation: given.clock.now });
  const { problems } = await checked(given, { readData: 1, deleteDamaged: true });
  expect(lines(problems)).toEqual(
    expect.arrayContaining(["pack address deleted", "file x of home"]),
  );
  expect(await given.backend.head(packs[0]!)).toBeUndefined();
});

test("a pack is one of data, too, where another snapshot has it as one of metadata", () => {
  const packs = packTable();
  const row = decodeRow(new Uint8Array(ROW_LENGTH).fill(7));
  const numbers = (["meta", "data", "meta"] as const).map((sort) => packs.numberOf(row, sort));
  expect(numbers).toEqual([0, 1, 0]);
  expect([0, 1].map((number) => packs.sortOf(number))).toEqual(["meta", "data"]);
  expect(packs.row(1)).toEqual(packs.row(0));
  expect(packs.metadataPacks).toBe(1);
  expect(packs.hasTwins).toBe(true);
});
