import { beforeEach, expect, spyOn, test } from "bun:test";
import {
  fstatSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import {
  type SmallFileJob,
  create,
  createSynced,
} from "../../../src/get/small-files/small-file-worker.ts";
import type { WrittenFile } from "../../../src/get/small-files/sync-files.ts";
import { createWorkspace } from "../../support/cli.ts";

const { path } = await createWorkspace();
const folder = path("small");

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
});

interface Options {
  readonly mode?: number;
  readonly time?: Date;
  readonly stop?: boolean;
  readonly sync?: boolean;
}

/** Files of these names and contents. */
function jobOf(
  contents: Readonly<Record<string, string>>,
  { mode = 0o644, time, sync = true, stop = false }: Options = {},
): SmallFileJob {
  let end = 0;
  const files = Object.entries(contents).map(([name, content]) => ({
    temporary: join(folder, `.${name.replace("/", "-")}.part`),
    path: join(folder, name),
    mode,
    time,
    end: (end += Buffer.byteLength(content)),
  }));
  const all = new Uint8Array(Buffer.from(Object.values(contents).join("")));
  const stopped = new Int32Array(new SharedArrayBuffer(4)).fill(stop ? 1 : 0);
  return { files, contents: all, sync, stop: stopped };
}

const createAll = (contents: Readonly<Record<string, string>>, options?: Options) =>
  create(jobOf(contents, options));

const text = (name: string): string => readFileSync(join(folder, name), "utf8");

test.each([true, false])(
  "creates files with content, permissions and time: synced %p",
  async (sync) => {
    const names = Array.from({ length: 150 }, (_, at) => `file-${at}`);
    const contents = Object.fromEntries(names.map((name) => [name, name.repeat(3)]));
    const time = new Date("2001-02-03T04:05:06.789Z");
    const outcomes = await createAll({ ...contents, empty: "" }, { mode: 0o640, time, sync });
    expect(outcomes).toEqual(Array.from({ length: 151 }, () => "created" as const));
    expect(readdirSync(folder).toSorted()).toEqual([...names, "empty"].toSorted());
    for (const name of names) expect(text(name)).toBe(name.repeat(3));
    const { mode, mtime } = lstatSync(join(folder, "file-7"));
    expect(mode & 0o777).toBe(0o640);
    expect(mtime).toEqual(time);
  },
);

test("a file with this content exists already, and is left as it is", async () => {
  writeFileSync(join(folder, "same"), "content", { mode: 0o600 });
  expect(await createAll({ same: "content", other: "new" })).toEqual(["existed", "created"]);
  expect(lstatSync(join(folder, "same")).mode & 0o777).toBe(0o600);
});

test("leaves to the caller what it cannot create, without a trace", async () => {
  writeFileSync(join(folder, "longer"), "content and more");
  writeFileSync(join(folder, "other"), "CONTENT");
  writeFileSync(path("target"), "content");
  symlinkSync(path("target"), join(folder, "link"));
  symlinkSync("nowhere", join(folder, "dangling"));
  mkdirSync(join(folder, "folder"));
  const names = ["longer", "other", "link", "dangling", "folder", "missing/file"];
  const before = readdirSync(folder).toSorted();
  const outcomes = await createAll({
    ...Object.fromEntries(names.map((name) => [name, "content"])),
    good: "content",
  });
  expect(outcomes).toEqual([...names.map(() => "left" as const), "created"]);
  expect(readdirSync(folder).toSorted()).toEqual([...before, "good"].toSorted());
  expect(text("longer")).toBe("content and more");
  expect(readFileSync(path("target"), "utf8")).toBe("content");
});

test("leaves it also if its temporary name is taken, and does not touch that file", async () => {
  writeFileSync(join(folder, ".taken.part"), "of another");
  expect(await createAll({ taken: "content" })).toEqual(["left"]);
  expect(text(".taken.part")).toBe("of another");
});

test("files have their names after they were synced, and those that could not be are left", () => {
  const names: string[][] = [];
  const syncFiles = (written: readonly WrittenFile[]) => {
    names.push(
      readdirSync(folder).toSorted(),
      written.map(({ descriptor }) => `${fstatSync(descriptor).size}`),
    );
    return written.slice(1);
  };
  const job = jobOf({ a: "content of a", b: "content of b " });
  expect(createSynced(job, syncFiles)).toEqual(["left", "created"]);
  expect(names).toEqual([
    [".a.part", ".b.part"],
    ["12", "13"],
  ]);
  expect(readdirSync(folder)).toEqual(["b"]);
  const plain = jobOf({ c: "content" }, { sync: false });
  const never = () => expect.unreachable();
  expect(createSynced(plain, never)).toEqual(["created"]);
});

test("times are exact, also those before 1970", async () => {
  for (const milliseconds of [-1, -86_400_001, 0, 1, 1_764_518_400_003, 1_764_518_400_999]) {
    const time = new Date(milliseconds);
    expect(await createAll({ [`${milliseconds}`]: "" }, { time })).toEqual(["created"]);
    expect(lstatSync(join(folder, `${milliseconds}`)).mtime).toEqual(time);
  }
});

test("begins no file once it is stopped", async () => {
  expect(await createAll({ a: "content", b: "content" }, { stop: true })).toEqual(["left", "left"]);
  expect(readdirSync(folder)).toEqual([]);
});

test("works without hard links, and replaces nothing there", () => {
  writeFileSync(path("target"), "kept");
  symlinkSync(path("target"), join(folder, "link"));
  symlinkSync("nowhere", join(folder, "dangling"));
  writeFileSync(join(folder, "file"), "another");
  const link = () => {
    throw Object.assign(new Error("EPERM"), { code: "EPERM" });
  };
  const names = ["link", "dangling", "file", "new"];
  const job = jobOf(Object.fromEntries(names.map((name) => [name, "content"])));
  const outcomes = createSynced(job, (written) => [...written], link);
  expect(outcomes).toEqual(["left", "left", "left", "created"]);
  expect(readdirSync(folder).toSorted()).toEqual(names.toSorted());
  expect([text("link"), text("file"), text("new")]).toEqual(["kept", "another", "content"]);
  expect(lstatSync(join(folder, "dangling")).isSymbolicLink()).toBe(true);
});

test("leaves no file that was begun when it was stopped", () => {
  const job = jobOf({ a: "content" });
  const stop = new Int32Array(new SharedArrayBuffer(4));
  // Before it is created, and after it was written.
  const load = spyOn(Atomics, "load")
    .mockReturnValueOnce(0 as never)
    .mockReturnValueOnce(1 as never);
  expect(createSynced({ ...job, stop }, (written) => [...written])).toEqual(["left"]);
  load.mockRestore();
  expect(readdirSync(folder)).toEqual([]);
});
