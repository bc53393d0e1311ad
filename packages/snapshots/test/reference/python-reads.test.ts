import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { type Reference, referencePython, skipped, startReference } from "../support/reference.ts";
import { formatIdentity, generateIdentity } from "@idk/storage";
import { all } from "../support/repositories.ts";
import {
  type Folder,
  bytes,
  storeFolder,
  storeHead,
  storeRecord,
  storeSnapshot,
  testSession,
} from "../support/repository-writer.ts";
import { createRepository } from "../../src/repository/settings.ts";
import { encodeSessionSecrets } from "../../src/format/records/keys.ts";
import { encodeReach } from "../../src/format/records/reach.ts";
import { filesystem } from "@idk/storage/filesystem";
import { join } from "node:path";
import { ownerKeyOf } from "../../src/format/keys/writer.ts";

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

/** A repository of one person on a disk. */
async function newRepository() {
  const store = mkdtempSync(join(base, "store-"));
  const identity = await generateIdentity();
  const identityFile = join(store, "identity");
  await Bun.write(identityFile, `${formatIdentity(identity)}\n`);
  mkdirSync(join(store, "repo"));
  const backend = filesystem(join(store, "repo"), { durability: "none" });
  const owner = ownerKeyOf(identity);
  const recipients = [identity.recipient];
  const { repository } = await createRepository({ backend, owner, recipients });
  return { store, identity, identityFile, backend, owner, recipients, repository };
}
type Given = Awaited<ReturnType<typeof newRepository>>;

const namesOf = async ({ backend }: Given) =>
  new Set((await all(backend.list(""))).map(({ name }) => name));

/** Stores a folder as a snapshot, with its reach. */
async function store(
  given: Given,
  folder: Folder,
  options: Parameters<typeof storeFolder>[2] = {},
) {
  const before = await namesOf(given);
  const session = testSession(given.backend, given.recipients);
  const tree = await storeFolder(session, folder, options);
  const packs = [...(await namesOf(given))].filter((name) => !before.has(name)).toSorted();
  const added = new Uint8Array(Buffer.from(packs.join(""), "hex"));
  const content = encodeReach({ earlier: [], added, dropped: new Uint8Array(0) });
  const reach = await storeRecord(given, "reach", content);
  const head = { reach, message: "told", tags: ["a", "b"] };
  const generation = Date.now();
  const marker = await storeSnapshot(given, given.owner, "home", session, tree, {
    generation,
    head,
  });
  return { session, marker, packs };
}

const ask = async (given: Given, op: string, more = {}) =>
  reference.ask({ op, store: given.store, identityFile: given.identityFile, ...more });

const KiB = 1024;
const noise = (length: number) => crypto.getRandomValues(new Uint8Array(length));
const FOLDER = {
  "ä file": bytes("hello"),
  empty: new Uint8Array(0),
  holes: [noise(300 * KiB), 2 ** 21, noise(5), 2 ** 20],
  link: "../elsewhere",
  sub: { "🙂": bytes("in a folder"), none: {}, deeper: { deepest: noise(100) } },
} as const satisfies Folder;

describe.skipIf(referencePython === undefined)(`what TypeScript writes${skipped}`, () => {
  test.each([
    ["in one pack", {}],
    ["each node in its own pack", { perNode: 2, packEach: true }],
  ])("is listed, read and restored in Python: %s", async (_, options) => {
    const given = await newRepository();
    const { marker, packs } = await store(given, FOLDER, options);

    const listed = await ask(given, "list");
    expect(listed).toMatchObject({
      ok: true,
      repository: given.repository,
      refused: [],
      snapshots: [
        { address: marker.address, name: "home", message: "told", tags: ["a", "b"], host: "host" },
      ],
    });
    const tree = await ask(given, "tree");
    expect(tree).toMatchObject({ ok: true, packs: packs.length, missing: [] });
    expect(tree.entries?.map(({ path }) => Buffer.from(path, "hex").toString())).toEqual([
      "empty",
      "holes",
      "link",
      "sub",
      "sub/deeper",
      "sub/deeper/deepest",
      "sub/none",
      "sub/🙂",
      "ä file",
    ]);

    const target = join(given.store, "restored");
    const chosen = { target, snapshot: marker.address.slice(0, 8) };
    expect(await ask(given, "restore", chosen)).toMatchObject({ ok: true, leftOut: [] });
    const read = (name: string) => readFileSync(join(target, name));
    const same = (name: string, content: Uint8Array) =>
      expect([name, Buffer.compare(read(name), content)]).toEqual([name, 0]);
    same("ä file", FOLDER["ä file"]);
    same("empty", FOLDER.empty);
    same("sub/🙂", FOLDER.sub["🙂"]);
    same("sub/deeper/deepest", FOLDER.sub.deeper.deepest);
    const [first, hole, second, end] = FOLDER.holes;
    const whole = Buffer.concat([first, new Uint8Array(hole), second, new Uint8Array(end)]);
    same("holes", whole);
    const stat = lstatSync(join(target, "holes"), { bigint: true });
    expect([stat.mode & 0o7777n, stat.mtimeNs]).toEqual([0o644n, 1_700_000_000_000_000_005n]);
    expect(Number(stat.blocks) * 512).toBeLessThan(whole.length / 2);
    expect(readlinkSync(join(target, "link"))).toBe("../elsewhere");
    expect(lstatSync(join(target, "sub"), { bigint: true }).mtimeNs).toBe(stat.mtimeNs);
  });

  test("a pack that is gone is named", async () => {
    const given = await newRepository();
    const { packs } = await store(given, FOLDER);
    await given.backend.delete(packs[0]!);
    const tree = await ask(given, "tree");
    expect(tree).toMatchObject({ ok: false, code: "not-found" });
    expect(tree.message).toContain(packs[0]);
  });

  test("is not found by another identity", async () => {
    const given = await newRepository();
    await store(given, FOLDER);
    const other = await newRepository();
    const list = await ask({ ...given, identityFile: other.identityFile }, "list");
    expect(list).toMatchObject({ ok: false, code: "not-found" });
  });

  test("forgotten and remembered again", async () => {
    const given = await newRepository();
    const { marker } = await store(given, FOLDER);
    const forgotten = async () =>
      ((await ask(given, "list"))["snapshots"] as { forgotten: boolean }[]).map(
        (one) => one.forgotten,
      );
    expect(await forgotten()).toEqual([false]);
    const head = (kind: "forget" | "unforget", generation: number) =>
      storeHead(given, given.owner, { kind, name: ".", generation, markers: [marker] });
    await head("forget", Date.now());
    expect(await forgotten()).toEqual([true]);
    await head("unforget", Date.now() + 1000);
    expect(await forgotten()).toEqual([false]);
  });

  test("with keys that someone gave to a reader who joined later", async () => {
    const given = await newRepository();
    // The session key is for another reader; heads and snapshot are for the owner.
    const other = await generateIdentity();
    const session = testSession(given.backend, [other.recipient]);
    const tree = await storeFolder(session, { f: bytes("hello") });
    const content = encodeReach({
      earlier: [],
      added: new Uint8Array(0),
      dropped: new Uint8Array(0),
    });
    const reach = await storeRecord(given, "reach", content);
    const generation = Date.now();
    const head = { reach };
    await storeSnapshot(given, given.owner, "home", session, tree, { generation, head });
    expect(await ask(given, "tree")).toMatchObject({ ok: false, code: "no-match" });
    const { repository } = given;
    const secrets = new Map([[session.id, session.secret]]);
    const keys = await storeRecord(given, "keys", encodeSessionSecrets({ repository, secrets }));
    await storeHead(given, given.owner, { kind: "keys", name: ".", generation, keys } as never);
    const sha256 = new Bun.CryptoHasher("sha256").update("hello").digest("hex");
    expect(await ask(given, "tree")).toMatchObject({ ok: true, entries: [{ sha256 }] });
  });
});
