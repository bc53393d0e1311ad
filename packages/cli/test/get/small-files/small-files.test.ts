import { type StoredContent, parseAddress } from "@idk/storage";
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createHeldFolders } from "../../../src/get/held-folders.ts";
import { LARGE, TAKEN_MAX, createSmallFiles } from "../../../src/get/small-files/small-files.ts";
import { createWorkspace } from "../../support/cli.ts";

const { path, ok, write } = await createWorkspace();

/** A content of its number in decimal, in the root of its tree. */
function contentOf(number: number, of: Partial<StoredContent> = {}): StoredContent {
  const bytes = new TextEncoder().encode(`${number}`);
  const address = parseAddress(`${number}`.padStart(64, "0"));
  return {
    address,
    size: bytes.length,
    metadata: {},
    bytes: async () => bytes,
    ...of,
  } as StoredContent;
}

function folderOf(name: string) {
  const folder = path(name);
  mkdirSync(folder);
  const held = createHeldFolders();
  const destinationOf = (file: string, refused?: never) => ({
    path: join(folder, file),
    hold: () => held.hold(folder, folder),
    hidden: false,
    refused,
  });
  return { folder, destinationOf };
}

test("takes contents over once there are many, and creates their files", async () => {
  const { folder, destinationOf } = folderOf("many");
  await using small = createSmallFiles(true);
  const created: number[] = [];
  for (let at = 0; created.length < 500; at += 1) {
    const taken = await small.take(contentOf(at), destinationOf(`${at}`));
    if (taken === undefined) {
      await Bun.sleep(1);
      continue;
    }
    expect(at).toBeGreaterThanOrEqual(256);
    expect(await taken.downloaded).toEqual({ size: `${at}`.length, written: `${at}`.length });
    created.push(at);
  }
  expect(
    readdirSync(folder)
      .map(Number)
      .toSorted((a, b) => a - b),
  ).toEqual(created);
  for (const at of created) expect(readFileSync(join(folder, `${at}`), "utf8")).toBe(`${at}`);
});

/** One whose thread runs. */
async function running(folder: ReturnType<typeof folderOf>) {
  const small = createSmallFiles(false);
  for (let at = 0; ; at += 1) {
    const taken = await small.take(contentOf(at), folder.destinationOf(`first-${at}`));
    if (taken === undefined) await Bun.sleep(1);
    else {
      await taken.downloaded;
      return small;
    }
  }
}

test("says which exist already, and leaves to the caller what it cannot create", async () => {
  const folder = folderOf("existing");
  await using small = await running(folder);
  const take = async (name: string, content = contentOf(7)) =>
    (await small.take(content, folder.destinationOf(name)))?.downloaded;
  expect(await take("7")).toEqual({ size: 1, written: 1 });
  expect(await take("7")).toEqual({ size: 1, written: 0, alreadyThere: true });
  const other = await small.take(contentOf(8), folder.destinationOf("7"));
  expect(await other!.downloaded).toBeUndefined();
});

test("takes no content that is large, compressed or refused, and not too many", async () => {
  const folder = folderOf("others");
  await using small = await running(folder);
  const { destinationOf } = folder;
  const large = contentOf(1, { size: LARGE });
  expect(await small.take(large, destinationOf("large"))).toBeUndefined();
  const compressed = contentOf(1, { metadata: { enc: "lz4" } });
  expect(await small.take(compressed, destinationOf("compressed"))).toBeUndefined();
  const refused = { ...destinationOf("refused"), refused: new Error("refused") as never };
  expect(await small.take(contentOf(1), refused)).toBeUndefined();
  const attempts = Array.from({ length: 2 * TAKEN_MAX }, (_, at) =>
    small.take(contentOf(at), destinationOf(`${at}`)),
  );
  const taken = (await Promise.all(attempts)).filter((each) => each !== undefined);
  expect(taken.length).toBe(TAKEN_MAX);
  const outcomes = await Promise.all(taken.map(({ downloaded }) => downloaded));
  expect(outcomes.filter((each) => each === undefined)).toEqual([]);
  const long = { size: LARGE - 1, bytes: async () => new Uint8Array(LARGE - 1) };
  const ofLong = Array.from({ length: 100 }, (_, at) =>
    small.take(contentOf(at, long), destinationOf(`long-${at}`)),
  );
  const takenOfLong = (await Promise.all(ofLong)).filter((each) => each !== undefined);
  expect(takenOfLong.length).toBe(65);
  await Promise.all(takenOfLong.map(({ downloaded }) => downloaded));
});

/** A thread that runs until it has a file to create, which is done by then. */
const DYING = write(
  "dying-worker.js",
  `exports.warmUp = () => {};
   exports.create = ({ files }) => {
     for (const { temporary } of files) require("node:fs").writeFileSync(temporary, "begun");
     process.exit(1);
   };`,
);

test("a thread that dies leaves nothing, and everything to the caller", async () => {
  const folder = folderOf("dying");
  await using small = createSmallFiles(false, DYING);
  let died = 0;
  for (let at = 0; died === 0; at += 1) {
    const taken = await small.take(contentOf(at), folder.destinationOf(`${at}`));
    if (taken === undefined) await Bun.sleep(1);
    else {
      expect(await taken.downloaded).toBeUndefined();
      died += 1;
    }
  }
  expect(readdirSync(folder.folder)).toEqual([]);
  expect(await small.take(contentOf(1), folder.destinationOf("1"))).toBeUndefined();
});

test("a thread that never reports takes nothing, and delays no end", async () => {
  const folder = folderOf("never");
  const never = write("never-worker.js", "exports.warmUp = () => new Promise(() => {});");
  await using small = createSmallFiles(false, never);
  for (let at = 0; at < 300; at += 1) {
    expect(await small.take(contentOf(at), folder.destinationOf(`${at}`))).toBeUndefined();
  }
  await Bun.sleep(100);
});

test("a get of many puts each content into its file, and finds it there the next time", async () => {
  mkdirSync(path("source"));
  const names = Array.from({ length: 900 }, (_, at) => `file-${at}`);
  for (const name of names) write(`source/${name}`, name.repeat(9));
  const { stdout } = await ok(["put", path("source")]);
  write("list", stdout);
  await ok(["get", "--from-file", path("list"), "--output-dir", path("copies")]);
  const folder = path("copies");
  expect(readdirSync(folder).toSorted()).toEqual(names.toSorted());
  for (const name of names) expect(readFileSync(join(folder, name), "utf8")).toBe(name.repeat(9));
  const again = await ok(["get", "--from-file", path("list"), "--output-dir", path("copies")]);
  expect(again.stderr).toContain("900 of 900 files already existed");
});
