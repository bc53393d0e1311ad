import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { type OpenSnapshot, openSnapshot } from "../../src/read/open-snapshot.ts";
import { formatIdentity, generateIdentity } from "@idk/storage";
import {
  type Reference,
  type ShownEntry,
  referencePython,
  skipped,
  startReference,
} from "../support/reference.ts";
import { backup } from "../../src/write/backup.ts";
import { bytes } from "../support/repository-writer.ts";
import { createRepository } from "../../src/repository/settings.ts";
import { filesystem } from "@idk/storage/filesystem";
import { join } from "node:path";
import { makeHostile } from "../walk/hostile-folder.ts";
import { openHost } from "../../src/files/open-host.ts";
import { openRepository } from "../../src/repository/open.ts";
import { ownerKeyOf } from "../../src/format/keys/writer.ts";
import { resolveSnapshot } from "../../src/read/resolve.ts";
import { shownTree } from "../support/shown.ts";
import { spawnSync } from "node:child_process";
import { toHex } from "../support.ts";
import { volatileHeadMemory } from "../../src/repository/head-memory.ts";

let base: string;
let reference: Reference;

beforeAll(() => {
  if (referencePython === undefined) return;
  base = realpathSync(mkdtempSync("/tmp/idk-reference-"));
  reference = startReference();
});
afterAll(async () => {
  if (referencePython === undefined) return;
  await reference[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
}, 60_000);

/** A repository of one person on a disk, and the backup of this package. */
async function newRepository() {
  const store = mkdtempSync(join(base, "store-"));
  mkdirSync(join(store, "repo"));
  const identity = await generateIdentity();
  const identityFile = join(store, "identity");
  writeFileSync(identityFile, `${formatIdentity(identity)}\n`);
  const backend = filesystem(join(store, "repo"), { durability: "none" });
  const owner = ownerKeyOf(identity);
  const recipients = [identity.recipient];
  const pinned = await createRepository({ backend, owner, recipients });
  const writer = await openRepository({
    backend,
    writer: owner,
    pinned,
    memory: volatileHeadMemory(),
  });
  return {
    store,
    ask: (op: string, more = {}) => reference.ask({ op, store, identityFile, ...more }),
    run: async (folder: string, more = {}) =>
      backup(writer, {
        name: "home",
        paths: [bytes(folder)],
        recipients,
        cache: join(store, "cache.sqlite"),
        ...more,
      }),
    async read(which = "latest"): Promise<OpenSnapshot> {
      const memory = volatileHeadMemory();
      const repository = await openRepository({ backend, identities: [identity], pinned, memory });
      return openSnapshot(repository, await resolveSnapshot(repository, which));
    },
  };
}

/** What both readers show of entries. */
const withoutHoles = (entries: readonly ShownEntry[]): ShownEntry[] =>
  entries.map((entry) => {
    const shown = { ...entry };
    delete shown.holes;
    return shown;
  });

/** Everything below a folder as find sees it, but for times of links' targets. */
function printed(path: string): string[] {
  const format = "%P\\0%y\\0%m\\0%U\\0%G\\0%T@\\0%n\\0%l\\0";
  const found = spawnSync("find", [path, "-mindepth", "1", "-printf", format]);
  const all = found.stdout.toString("latin1").split("\0").slice(0, -1);
  return Array.from({ length: all.length / 8 }, (_, at) =>
    all.slice(at * 8, at * 8 + 8).join("\t"),
  ).toSorted();
}

describe.skipIf(referencePython === undefined)(`a backup, in Python${skipped}`, () => {
  test("is read entry for entry, and restored as it was: a hostile folder", async () => {
    const given = await newRepository();
    const folder = join(given.store, "folder");
    mkdirSync(folder);
    const host = await openHost();
    const open = host.openRoot(bytes(folder));
    makeHostile(host, open);
    host.close(open);
    await given.run(folder, { message: "told", tags: ["a"] });
    const tree = await given.ask("tree");
    expect(tree).toMatchObject({ ok: true, missing: [], message: "told", tags: ["a"] });
    const ours = await shownTree(await given.read());
    expect(ours.length).toBeGreaterThan(500);
    expect(withoutHoles(tree.entries!)).toEqual(ours);

    const target = join(given.store, "restored");
    const as_root = process.getuid?.() === 0;
    expect(await given.ask("restore", { target, as_root })).toMatchObject({ ok: true });
    // As another user, set-id bits and devices are left out.
    if (as_root) expect(printed(join(target, folder))).toEqual(printed(folder));
  }, 60_000);

  test.each(["zstd", "lz4", "none"] as const)(
    "is read with %s: large files, and a second snapshot that reuses packs",
    async (compression) => {
      const given = await newRepository();
      const folder = join(given.store, "folder");
      mkdirSync(folder);
      const noise = crypto.getRandomValues(new Uint8Array(65_536));
      const large = Buffer.concat([
        ...Array.from({ length: 150 }, () => noise),
        Buffer.from("text and more of it ".repeat(100_000)),
      ]);
      writeFileSync(join(folder, "large"), large);
      writeFileSync(join(folder, "other"), "one");
      const fd = openSync(join(folder, "holes"), "w");
      ftruncateSync(fd, 6 * 2 ** 20);
      writeSync(fd, "in the middle", 3_500_000);
      closeSync(fd);
      await given.run(folder, { compression });
      const first = await given.ask("tree");
      writeFileSync(join(folder, "other"), "two");
      large[5_000_000]! ^= 1;
      writeFileSync(join(folder, "large"), large);
      await given.run(folder, { compression });

      const second = await given.ask("tree");
      expect(second).toMatchObject({ ok: true, missing: [] });
      expect(withoutHoles(second.entries!)).toEqual(await shownTree(await given.read()));
      expect(withoutHoles(first.entries!)).toEqual(await shownTree(await given.read("home~1")));
      expect(first.entries!.reduce((sum, { holes = 0 }) => sum + holes, 0)).toBe(5 * 2 ** 20);
      // Packs of the first are still needed.
      expect(second["packs"] as number).toBeGreaterThan(first["packs"] as number);
      const target = join(given.store, "restored");
      expect(await given.ask("restore", { target })).toMatchObject({ ok: true, leftOut: [] });
      for (const name of ["large", "other", "holes"]) {
        const [was, is] = [folder, join(target, folder)].map((at) => readFileSync(join(at, name)));
        expect([name, Buffer.compare(was!, is!)]).toEqual([name, 0]);
      }
    },
    60_000,
  );

  test("gives the tree id that Python gives the same folder, of 3,000 files", async () => {
    const given = await newRepository();
    const folder = join(given.store, "folder");
    for (const name of ["", "sub", "sub/empty"]) mkdirSync(join(folder, name));
    for (let at = 0; at < 3000; at++) writeFileSync(join(folder, `sub/${at}`), `content ${at}`);
    await given.run(folder);
    const ours = await given.read();
    const name = "by-python";
    expect(await given.ask("backup", { name, paths: [folder] })).toMatchObject({ ok: true });
    const theirs = await given.read(name);
    // The folders above are the same, and nothing in them was changed between.
    const id = async (snapshot: OpenSnapshot) => {
      const at = await snapshot.entry(folder);
      return at?.entry.type === "directory" ? toHex(at.entry.hash) : undefined;
    };
    expect(await id(ours)).toBeString();
    expect(await id(theirs)).toBe(await id(ours));
    // And cut alike.
    const nodes = async (snapshot: OpenSnapshot) => {
      const at = await snapshot.entry(join(folder, "sub"));
      if (at?.entry.type !== "directory") throw new Error("it is a directory");
      return at.entry.nodes.map((node) => toHex(node.name));
    };
    expect((await nodes(ours)).length).toBeGreaterThan(3);
    expect(await nodes(theirs)).toEqual(await nodes(ours));
  }, 60_000);
});
