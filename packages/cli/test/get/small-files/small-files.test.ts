import { type StoredContent, parseAddress } from "@idk/storage";
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type HoldOptions, createHeldFolders } from "../../../src/get/held-folders.ts";
import {
  LARGE,
  type SmallFiles,
  TAKEN_MAX,
  type Taken,
  createSmallFiles,
} from "../../../src/get/small-files/small-files.ts";
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
    hold: (how?: HoldOptions) => held.hold(folder, folder, how),
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
  // However slow the machine is, a job is not.
  const small = createSmallFiles(false, undefined, 60_000);
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

test("takes no content that is large, compressed or refused", async () => {
  const folder = folderOf("others");
  await using small = await running(folder);
  const { destinationOf } = folder;
  const large = contentOf(1, { size: LARGE });
  expect(await small.take(large, destinationOf("large"))).toBeUndefined();
  const compressed = contentOf(1, { metadata: { enc: "lz4" } });
  expect(await small.take(compressed, destinationOf("compressed"))).toBeUndefined();
  const refused = { ...destinationOf("refused"), refused: new Error("refused") as never };
  expect(await small.take(contentOf(1), refused)).toBeUndefined();
});

test("waits for the thread if it has taken many, or many bytes", async () => {
  const folder = folderOf("waiting");
  await using small = await running(folder);
  const long = { size: LARGE - 1, bytes: async () => new Uint8Array(LARGE - 1) };
  const attempts = Array.from({ length: 2 * TAKEN_MAX }, (_, at) =>
    small.take(contentOf(at, at % 2 === 0 ? {} : long), folder.destinationOf(`${at}`)),
  );
  for (const attempt of attempts) {
    const taken = await attempt;
    expect(await taken?.downloaded).toMatchObject({ written: expect.any(Number) });
  }
});

/** A thread that never finishes a job. */
const STALLED = write(
  "stalled-worker.js",
  `exports.warmUp = () => {};
   exports.create = () => new Promise(() => {});`,
);

test("leaves to the caller what a slow thread has no room for", async () => {
  const folder = folderOf("stalled");
  const { destinationOf } = folder;
  const long = { size: LARGE - 1, bytes: async () => new Uint8Array(LARGE - 1) };
  for (const [most, of] of [
    [TAKEN_MAX, {}],
    [65, long],
  ] as const) {
    await using small = createSmallFiles(false, STALLED);
    let at = 0;
    let taken = 0;
    const take = async () => {
      at += 1;
      return small.take(contentOf(at, of), destinationOf(`${most}-${at}`));
    };
    while (taken === 0) {
      if ((await take()) !== undefined) taken += 1;
      else await Bun.sleep(1);
    }
    const all = await Promise.all(Array.from({ length: 2 * TAKEN_MAX }, take));
    expect(taken + all.filter((each) => each !== undefined).length).toBe(most);
  }
});

// Elsewhere, the system offers no way to name files in an open folder.
const testHeld = process.platform === "linux" ? test : test.skip;
testHeld(
  "writes nothing where a folder was replaced by a link after its contents were taken",
  async () => {
    const folder = folderOf("replaced");
    const elsewhere = folderOf("elsewhere");
    await using small = await running(folder);
    const one = await small.take(contentOf(1), folder.destinationOf("1"));
    // The thread has the first; the second waits for it.
    const two = await small.take(contentOf(2), folder.destinationOf("2"));
    renameSync(folder.folder, path("away"));
    symlinkSync(elsewhere.folder, folder.folder);
    expect(await one!.downloaded).toEqual({ size: 1, written: 1 });
    expect(await two!.downloaded).toBeUndefined();
    const three = await small.take(contentOf(3), folder.destinationOf("3"));
    expect(await three!.downloaded).toBeUndefined();
    expect(readdirSync(elsewhere.folder)).toEqual([]);
    const first = readdirSync(path("away")).filter((name) => !name.startsWith("first-"));
    expect(first).toEqual(["1"]);
  },
);

/** Takes contents until the thread runs and one is taken, and then twice as many as it has room for. */
async function overfill(small: SmallFiles, name: string) {
  const { destinationOf } = folderOf(name);
  let first: Taken | undefined;
  for (let at = 0; first === undefined; at += 1) {
    first = await small.take(contentOf(at), destinationOf(`first-${at}`));
    if (first === undefined) await Bun.sleep(1);
  }
  const attempts = Array.from({ length: 2 * TAKEN_MAX }, (_, at) =>
    small.take(contentOf(at), destinationOf(`${at}`)),
  );
  return { first, attempts };
}

/** Those that are taken, with the number of the others. */
async function settled(attempts: readonly Promise<Taken | undefined>[]) {
  const all = await Promise.all(attempts);
  const taken = all.filter((each) => each !== undefined);
  const outcomes = await Promise.all(taken.map(({ downloaded }) => downloaded));
  return { outcomes, left: all.length - taken.length };
}

/** A thread whose first job takes long. */
const SLOW_AT_FIRST = write(
  "slow-worker.js",
  `let isFirst = true;
   exports.warmUp = () => {};
   exports.create = async ({ files }) => {
     if (isFirst) await new Promise((resolve) => setTimeout(resolve, 500));
     isFirst = false;
     return files.map(() => "created");
   };`,
);

test("waits again for a thread that was slow", async () => {
  await using small = createSmallFiles(false, SLOW_AT_FIRST, 200);
  const { first, attempts } = await overfill(small, "slow");
  // The first that was taken counts, too.
  expect((await settled(attempts)).left).toBe(TAKEN_MAX + 1);
  expect(await first.downloaded).toBeDefined();
  const { attempts: later } = await overfill(small, "slow-no-more");
  expect((await settled(later)).left).toBe(0);
});

test("contents that wait are left to the caller at the end", async () => {
  const small = createSmallFiles(false, STALLED, 60_000);
  const { attempts } = await overfill(small, "ended");
  await small[Symbol.asyncDispose]();
  const { outcomes, left } = await settled(attempts);
  expect(outcomes.filter((each) => each !== undefined)).toEqual([]);
  expect(left).toBe(TAKEN_MAX + 1);
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

test("contents that wait for a thread that dies are left to the caller", async () => {
  await using small = createSmallFiles(false, DYING, 60_000);
  const { attempts } = await overfill(small, "dying-full");
  const { outcomes } = await settled(attempts);
  expect(outcomes.filter((each) => each !== undefined)).toEqual([]);
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
