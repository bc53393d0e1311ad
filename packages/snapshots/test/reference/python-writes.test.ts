import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateIdentity, formatIdentity } from "@idk/storage";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import {
  type Reference,
  type ShownEntry,
  referencePython,
  skipped,
  startReference,
} from "../support/reference.ts";
import { type OpenSnapshot, openSnapshot } from "../../src/read/open-snapshot.ts";
import { bytes } from "../support/repository-writer.ts";
import { isCutName } from "../../src/format/tree/cut.ts";
import { discoverRepository } from "../../src/repository/discover.ts";
import { filesystem } from "@idk/storage/filesystem";
import { join } from "node:path";
import { makeHostile } from "../walk/hostile-folder.ts";
import { openHost } from "../../src/files/open-host.ts";
import { openRepository } from "../../src/repository/open.ts";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { shownTree } from "../support/shown.ts";
import { spawnSync } from "node:child_process";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

const identity = await generateIdentity();
let base: string;
let reference: Reference;

beforeAll(() => {
  if (referencePython === undefined) return;
  base = realpathSync(mkdtempSync("/tmp/idk-reference-"));
  writeFileSync(join(base, "identity"), `# of a test\n${formatIdentity(identity)}\n`);
  reference = startReference();
});
afterAll(async () => {
  if (referencePython === undefined) return;
  await reference[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
}, 60_000);

/** A backup by the program in Python. */
async function backUp(store: string, name: string, paths: readonly string[], more = {}) {
  const identityFile = join(base, "identity");
  const request = { op: "backup", store, identityFile, name, paths, ...more };
  const answer = await reference.ask(request);
  expect(answer).toMatchObject({ ok: true });
  return answer;
}

/** Opens a snapshot with nothing but the identity. */
async function open(store: string, snapshot = "latest"): Promise<OpenSnapshot> {
  const backend = filesystem(join(store, "repo"));
  const pinned = await discoverRepository({ backend, identity });
  if (pinned === undefined) throw new Error("there is a repository");
  const memory = volatileHeadMemory();
  const repository = await openRepository({ backend, identities: [identity], pinned, memory });
  return openSnapshot(repository, await resolveSnapshot(repository, snapshot));
}

/** What the program in Python finds in a snapshot. */
async function treeOf(store: string, snapshot = "latest") {
  const identityFile = join(base, "identity");
  const answer = await reference.ask({ op: "tree", store, identityFile, snapshot });
  expect(answer).toMatchObject({ ok: true, missing: [] });
  return answer;
}

/** What both readers show of entries. */
const withoutHoles = (entries: readonly ShownEntry[]): ShownEntry[] =>
  entries.map((entry) => {
    const shown = { ...entry };
    delete shown.holes;
    return shown;
  });

describe.skipIf(referencePython === undefined)(`what Python writes${skipped}`, () => {
  test("is read entry for entry, and restored as it was: a hostile folder", async () => {
    const store = join(base, "hostile");
    const folder = join(base, "hostile-folder");
    mkdirSync(folder);
    const host = await openHost();
    const opened = host.openRoot(bytes(folder));
    makeHostile(host, opened);
    host.close(opened);
    await backUp(store, "home", [folder], { message: "a message", tags: ["one", "two"] });

    const snapshot = await open(store);
    expect(snapshot.found.head).toMatchObject({ message: "a message", tags: ["one", "two"] });
    const ours = await shownTree(snapshot);
    const theirs = await treeOf(store);
    expect(ours.length).toBeGreaterThan(500);
    expect(ours).toEqual(withoutHoles(theirs.entries!));

    const target = join(base, "hostile-restored");
    const identityFile = join(base, "identity");
    const asRoot = process.getuid?.() === 0;
    const restored = await reference.ask({
      op: "restore",
      store,
      identityFile,
      target,
      as_root: asRoot,
    });
    expect(restored).toMatchObject({ ok: true });
    const format = "%P\\0%y\\0%m\\0%U\\0%G\\0%T@\\0%n\\0%l\\0";
    const print = (path: string) => {
      const found = spawnSync("find", [path, "-mindepth", "1", "-printf", format]);
      const all = found.stdout.toString("latin1").split("\0").slice(0, -1);
      return Array.from({ length: all.length / 8 }, (_, at) =>
        all.slice(at * 8, at * 8 + 8).join("\t"),
      ).toSorted();
    };
    // As another user, set-id bits and devices are left out.
    if (asRoot) expect(print(join(target, folder))).toEqual(print(folder));
  }, 60_000);

  test.each(["none", "lz4", "zstd"])(
    "is read: holes, pieces and lists of lists, compressed with %s",
    async (compress) => {
      const store = join(base, `lists-${compress}`);
      const folder = join(base, `lists-${compress}-folder`);
      mkdirSync(folder);
      const text = Buffer.from("all work and no play ".repeat(5000));
      // Every third piece is zeros, so holes come between pieces.
      const noise = Buffer.concat(
        Array.from({ length: 90 }, (_, at) =>
          at % 3 === 1 ? Buffer.alloc(1000) : crypto.getRandomValues(new Uint8Array(1000)),
        ),
      );
      writeFileSync(join(folder, "text"), text);
      writeFileSync(join(folder, "noise"), noise);
      writeFileSync(join(folder, "zeros"), Buffer.alloc(10_000));
      writeFileSync(join(folder, "empty"), "");
      // 90 pieces in lists of 8, and those in lists, and two levels is what there may be.
      const sizes = { piece: 1000, hole: 1000, items: 8 };
      await backUp(store, "lists", [folder], { compress, sizes });
      const snapshot = await open(store, "lists");
      const ours = await shownTree(snapshot);
      const hash = (content: Buffer) =>
        new Bun.CryptoHasher("sha256").update(content).digest("hex");
      const of = (name: string) =>
        ours.find(({ path }) => path.endsWith(Buffer.from(`/${name}`).toString("hex")))?.sha256;
      expect([of("text"), of("noise"), of("zeros"), of("empty")]).toEqual([
        hash(text),
        hash(noise),
        hash(Buffer.alloc(10_000)),
        hash(Buffer.alloc(0)),
      ]);
      const file = await snapshot.entry(join(folder, "noise"));
      if (file?.entry.type !== "file") throw new Error("it is a file");
      expect(file.entry.content.map(({ kind }) => kind)).toEqual(["list", "list"]);
      const theirs = await treeOf(store, "lists");
      expect(withoutHoles(theirs.entries!)).toEqual(ours);
      expect(theirs.entries!.reduce((sum, { holes = 0 }) => sum + holes, 0)).toBe(40_000);
    },
    60_000,
  );

  test("is read: a large directory, cut where the rule says", async () => {
    const store = join(base, "large");
    const folder = join(base, "large-folder");
    mkdirSync(folder);
    const count = 3000;
    for (let at = 0; at < count; at++) {
      writeFileSync(join(folder, `file-${String(at).padStart(5, "0")}`), `content ${at}`);
    }
    await backUp(store, "large", [folder]);
    const snapshot = await open(store, "large");
    const at = await snapshot.entry(folder);
    if (at?.entry.type !== "directory") throw new Error("it is a directory");
    // A node ends after 128 entries or more, at a name that says so.
    const expected: string[] = [];
    let inNode = 0;
    let names = 0;
    for await (const { entry } of snapshot.entries(folder)) {
      if (inNode === 0) expected.push(Buffer.from(entry.name).toString());
      names += 1;
      inNode = inNode >= 127 && isCutName(entry.name) ? 0 : inNode + 1;
    }
    expect(names).toBe(count);
    expect(expected.length).toBeGreaterThan(3);
    expect(at.entry.nodes.map(({ name }) => Buffer.from(name).toString())).toEqual(expected);
    const one = [];
    for await (const part of snapshot.content(join(folder, "file-02345"))) one.push(part);
    expect(Buffer.concat(one).toString()).toBe("content 2345");
  }, 60_000);

  test("is read: a second snapshot of the chain, and another chain", async () => {
    const store = join(base, "chain");
    const folder = join(base, "chain-folder");
    mkdirSync(folder);
    for (const [name, content] of [
      ["home", "one"],
      ["home", "two"],
      ["work", "three"],
    ] as const) {
      writeFileSync(join(folder, "f"), content);
      await backUp(store, name, [folder]);
    }
    const read = async (which: string) => {
      const snapshot = await open(store, which);
      const parts = [];
      for await (const part of snapshot.content(join(folder, "f"))) parts.push(part);
      return Buffer.concat(parts).toString();
    };
    expect(await read("home")).toBe("two");
    expect(await read("home~1")).toBe("one");
    expect(await read("work")).toBe("three");
    expect(await read("latest")).toBe("three");
    // The second reach names the packs of the second snapshot, and those of the first no more.
    const { packs, missing } = await treeOf(store, "home");
    expect([packs, missing]).toEqual([2, []]);
  }, 60_000);
});
