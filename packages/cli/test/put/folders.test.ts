import { createStore } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createWorkspace, expectFailure, newFolder, noise, sameBytes } from "../support/cli.ts";
import { interrupted, ownFolders } from "../support/interrupted.ts";

const workspace = await createWorkspace();
const { idk, ok, path, write } = workspace;
const MIB = 2 ** 20;

/** The files in a folder, by relative path. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => !lstatSync(join(folder, name)).isDirectory())
    .toSorted();
}

function makeFolder(name: string, files: Readonly<Record<string, string | Uint8Array>>): string {
  for (const [file, content] of Object.entries(files)) {
    const at = join(path(name), file);
    mkdirSync(join(at, ".."), { recursive: true });
    writeFileSync(at, content);
  }
  return path(name);
}

const pathsOf = (stdout: string) =>
  stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => line.slice(66));

describe("put of a folder", () => {
  const files = {
    ".hidden": "hidden",
    a: "a",
    "b/a": "b/a",
    "b/c/deep name.txt": "deep",
    "z.bin": noise(3 * MIB),
  };

  test("stores each file, and get restores the folder", async () => {
    makeFolder("photos", files);
    utimesSync(path("photos/b/a"), 1_000_000_000, 1_000_000_000.123);
    const put = await ok(["put", "photos"]);
    expect(put.stderr).toBe("stored 5 files, 3145742 bytes (3.0 MiB); none failed\n");
    expect(pathsOf(put.stdout).toSorted()).toEqual(
      Object.keys(files)
        .map((name) => `photos/${name}`)
        .toSorted(),
    );
    write("stored", put.stdout);
    const get = ["get", "--from-file", "stored", "--output-dir", "back"];
    expect(await ok(get)).toMatchObject({ stdout: "", stderr: "" });
    expect(filesIn(path("back"))).toEqual(Object.keys(files).toSorted());
    for (const name of Object.keys(files)) {
      expect(sameBytes(workspace.read(`back/${name}`), workspace.read(`photos/${name}`))).toBe(
        true,
      );
    }
    expect(statSync(path("back/b/a")).mtimeMs).toBe(1_000_000_000_123);
    expect((await ok(get)).stderr).toBe("idk: 5 of 5 files already existed\n");
  });

  test("stores the path of each file, and neither name nor path with --no-name", async () => {
    makeFolder("kept", { "sub/x": "x" });
    const metadata = async (...args: string[]): Promise<unknown> => {
      const { stdout } = await ok(["put", "kept", ...args]);
      const stat = await ok(["stat", stdout.slice(0, 64), "--json"]);
      return (JSON.parse(stat.stdout) as { metadata: unknown }).metadata;
    };
    const mtime = Math.trunc(statSync(path("kept/sub/x")).mtimeMs);
    expect(await metadata()).toEqual({ name: "x", mtime, "idk.path": "sub/x" });
    expect(await metadata("--no-name")).toEqual({});
    write("dedup", noise(32));
    expect(await metadata("--dedup-secret", "dedup")).toEqual({ name: "x", "idk.path": "sub/x" });
  });

  test("reports what it skips, and why", async () => {
    makeFolder("mixed", { file: "file" });
    writeFileSync(path("outside"), "outside");
    mkdirSync(path("mixed/empty"));
    symlinkSync("../outside", path("mixed/link"));
    symlinkSync("..", path("mixed/up"));
    expect(Bun.spawnSync(["mkfifo", path("mixed/pipe")]).exitCode).toBe(0);
    const { stdout, stderr } = await ok(["put", "mixed"]);
    expect(pathsOf(stdout)).toEqual(["mixed/file"]);
    expect(stderr.split("\n").toSorted()).toEqual([
      "",
      "idk: skipped: mixed/empty is an empty folder",
      "idk: skipped: mixed/link is a symbolic link, which is not followed",
      "idk: skipped: mixed/pipe is a pipe",
      "idk: skipped: mixed/up is a symbolic link, which is not followed",
      "stored 1 file, 4 bytes; 4 skipped; none failed",
    ]);
    const lines = (await ok(["put", "mixed", "--json"])).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
      skipped: true,
      file: "mixed/pipe",
      reason: "is a pipe",
    });
    expect((await ok(["put", "mixed", "--quiet"])).stderr).toBe("");
  });

  test("follows a named link, but no link below it", async () => {
    makeFolder("target", { x: "x" });
    symlinkSync("target", path("named"));
    expect(pathsOf((await ok(["put", "named"])).stdout)).toEqual(["named/x"]);
  });

  test("skips a store inside the folder, even before its first blob", async () => {
    makeFolder("around", { a: "a", "y/b": "b" });
    const env = { IDK_STORE: "around/z/blobs" };
    mkdirSync(path("around/z"));
    for (const files of [2, 2]) {
      const { stdout, stderr } = await ok(["put", "around"], { env });
      expect(pathsOf(stdout).toSorted()).toEqual(["around/a", "around/y/b"]);
      expect(stderr).toContain(`stored ${files} files`);
    }
    const { stderr } = await ok(["put", "around"], { env });
    expect(stderr).toContain("idk: skipped: around/z/blobs is the store itself\n");
  });

  test("continues after unreadable entries, and fails at the end", async () => {
    // Root can read everything except a name that is not UTF-8.
    const folder = makeFolder("partly", { good: "good" });
    const odd = Buffer.concat([Buffer.from(`${folder}/odd`), Buffer.from([0xff, 0xfe])]);
    writeFileSync(odd, "odd");
    mkdirSync(path("partly/locked"));
    chmodSync(path("partly/locked"), 0);
    const result = await idk(["put", "partly", "--quiet"]);
    chmodSync(path("partly/locked"), 0o700);
    expect(pathsOf(result.stdout)).toEqual(["partly/good"]);
    expect(result.stderr).toContain("its name is not UTF-8; rename it");
    expect(result.stderr).toMatch(/idk: [12] of [23] files failed\n$/u);
    expect(result.code).toBe(2);
  });

  test("works together with files, and rejects --name and folders in a list", async () => {
    makeFolder("some", { x: "x" });
    write("single", "single");
    const { stdout } = await ok(["put", "some", "single"]);
    expect(pathsOf(stdout).toSorted()).toEqual(["single", "some/x"]);
    expectFailure(await idk(["put", "some", "--name", "n"]), 2, "--name takes a single file");
    expectFailure(await idk(["put", "some", "--resume"]), 2, "--resume takes a single file");
    write("list", "some\n");
    const listed = await idk(["put", "--from-file", "list"]);
    expect(listed.stderr).toContain("some is a folder: name it on the command line");
  });

  test("--done skips what an interrupted run has stored", async () => {
    makeFolder("long", { a: "a", b: "b", "c.bin": noise(96 * MIB, 7), d: "d" });
    const env = { ...ownFolders(), IDK_STORE: "long-blobs" };
    const store = path(env.IDK_STORE);
    const blobs = () =>
      existsSync(store)
        ? readdirSync(store, { recursive: true }).filter((name) => name.length > 64).length
        : 0;
    const args = ["put", "long", "--chunk-size", "256K"];
    const first = await interrupted(workspace, args, {
      env,
      signal: "SIGINT",
      when: () => blobs() > 20,
    });
    expect(first.code).toBe(130);
    expect(first.stderr).toMatch(
      /^idk: long\/c\.bin: \d+ chunks are stored: run the same command again to resume\nidk: \d files? stored, with the addresses above; save them to a list and skip these files in the next put with --done LIST\nidk: interrupted\n$/u,
    );
    write("first", first.stdout);
    const second = await ok([...args, "--done", "first"], { env });
    expect(second.stderr).toMatch(/; skipped \d+ of 3\d\d chunks, .*; none failed\n$/u);
    expect([...pathsOf(first.stdout), ...pathsOf(second.stdout)].toSorted()).toEqual([
      "long/a",
      "long/b",
      "long/c.bin",
      "long/d",
    ]);
    write("all", first.stdout + second.stdout);
    expect((await ok([...args, "--done", "all"], { env })).stdout).toBe("");
    const json = (await ok(["put", "long/a", "long/d", "--json"], { env })).stdout;
    write("json", json.split("\n")[0]!);
    expect((await ok(["put", "long/a", "long/d", "--done", "json"], { env })).stdout).toHaveLength(
      66 + "long/a\n".length,
    );
  });
});

test("interrupted gets and copies report what is done, and continue", async () => {
  makeFolder("parts", { a: "a", "b.bin": noise(96 * MIB, 9), "c.bin": noise(96 * MIB, 10) });
  const env = { IDK_STORE: "parts-blobs" };
  const put = await ok(["put", "parts", "--chunk-size", "256K"], { env });
  write("parts-list", put.stdout);

  const get = ["get", "--from-file", "parts-list", "--output-dir", "parts-out"];
  const target = path("parts-out");
  const first = await interrupted(workspace, get, {
    env,
    signal: "SIGINT",
    when: () => existsSync(join(target, "a")),
    delay: 50,
  });
  expect(first.code).toBe(130);
  expect(first.stderr).toMatch(
    /idk: [12] files? complete: run the same command again to fetch the others\nidk: interrupted\n$/u,
  );
  await ok([...get], { env });
  expect(filesIn(target)).toEqual(["a", "b.bin", "c.bin"]);

  const copy = ["copy", "--from", "parts-blobs", "--to", "parts-copy"];
  const second = await interrupted(workspace, copy, {
    signal: "SIGINT",
    when: () => existsSync(path("parts-copy")) && readdirSync(path("parts-copy")).length > 20,
  });
  expect(second.code).toBe(130);
  expect(second.stderr).toMatch(
    /^idk: copied \d+ blobs, .*: run the same command again to continue\nidk: interrupted\n$/u,
  );
  expect((await ok(copy)).stderr).toMatch(/; [1-9]\d+ already there; none failed\n$/u);
});

describe("get into a folder, with hostile names", () => {
  const HOSTILE = [
    "../escaped",
    "../../../../../../../../tmp/idk-escaped",
    "/tmp/idk-escaped",
    "..\\..\\escaped",
    "C:\\escaped",
    "sub/../../escaped",
    "link/escaped",
    "CON",
    "bell\u0007\u001b[2Jname",
    "new\nline",
    "..",
    "x".repeat(5000),
  ];

  async function putNamed(names: readonly string[], key: string, store: string) {
    const opened = createStore({
      backend: filesystem(path(store)),
      recipients: [workspace.recipient],
    });
    return Promise.all(
      names.map((name) => opened.put(`of ${name}`, { metadata: { [key]: name } })),
    );
  }

  test.each(["name", "idk.path"])("stays in the folder with a hostile %s", async (key) => {
    const store = `hostile-${key}`;
    const addresses = await putNamed(HOSTILE, key, store);
    const outside = newFolder();
    const around = newFolder();
    const target = join(around, "target");
    mkdirSync(target);
    symlinkSync(outside, join(target, "link"));
    const result = await idk(["get", ...addresses, "--output-dir", target], {
      env: { IDK_STORE: store },
    });
    // One of the paths leads through the link.
    expect(result.code).toBe(key === "name" ? 0 : 2);
    if (key === "idk.path") {
      expect(result.stderr).toContain("link is a symbolic link; nothing is written through it\n");
    }
    expect(readdirSync(outside)).toEqual([]);
    expect(readdirSync(around)).toEqual(["target"]);
    expect(existsSync("/tmp/idk-escaped")).toBe(false);
    expect(existsSync(path("escaped"))).toBe(false);
    const written = filesIn(target).filter((name) => name !== "link");
    expect(written).toHaveLength(HOSTILE.length - (key === "name" ? 0 : 1));
    const contents = written.map((name) => readFileSync(join(target, name), "utf8"));
    const wanted = HOSTILE.filter((name) => key === "name" || name !== "link/escaped");
    expect(contents.toSorted()).toEqual(wanted.map((name) => `of ${name}`).toSorted());
    // Neither notes nor names contain control characters.
    // oxlint-disable-next-line no-control-regex
    expect(result.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/u);
    expect(result.stderr).toContain(String.raw`its name is "../escaped"`);
  });

  test("never writes two contents to one file, and recognizes them in the next run", async () => {
    const store = "same";
    const names = ["same.txt", "SAME.TXT", "same.txt", "cafe\u0301", "café"];
    const addresses = await putNamed(names, "name", store);
    const get = ["get", ...addresses, "--output-dir", "same-out"];
    await ok(get, { env: { IDK_STORE: store } });
    const written = filesIn(path("same-out"));
    expect(written).toHaveLength(5);
    expect(written).toContain("same.txt");
    expect(written).toContain(`same~${addresses[2]!.slice(0, 8)}.txt`);
    const again = await ok(get, { env: { IDK_STORE: store } });
    expect(again.stderr).toContain("idk: 5 of 5 files already existed\n");
    expect(filesIn(path("same-out"))).toEqual(written);
  });

  test("replaces a link with --force, never its target", async () => {
    const store = "linked";
    const addresses = await putNamed(["victim"], "name", store);
    mkdirSync(path("linked-out"));
    write("precious", "precious");
    symlinkSync("../precious", path("linked-out/victim"));
    const get = ["get", ...addresses, "--output-dir", "linked-out"];
    const env = { IDK_STORE: store };
    const refused = await idk(get, { env });
    expect(refused.stderr).toContain(
      "linked-out/victim already exists; use --force to replace it\n",
    );
    await ok([...get, "--force"], { env });
    expect(workspace.read("precious").toString()).toBe("precious");
    expect(lstatSync(path("linked-out/victim")).isSymbolicLink()).toBe(false);
    expect(workspace.read("linked-out/victim").toString()).toBe("of victim");
  });

  test("--no-names names files by address", async () => {
    const store = "plain";
    const addresses = await putNamed(["one", "two"], "name", store);
    await ok(["get", ...addresses, "--output-dir", "plain-out", "--no-names"], {
      env: { IDK_STORE: store },
    });
    expect(filesIn(path("plain-out"))).toEqual(addresses.map(String).toSorted());
  });

  test("ignores invalid dates", async () => {
    const opened = createStore({
      backend: filesystem(path("dated")),
      recipients: [workspace.recipient],
    });
    const mtimes = [0, 2 ** 53 - 1, 253_402_300_799_999];
    for (const mtime of mtimes) {
      const address = await opened.put("x", { metadata: { name: `${mtime}`, mtime } });
      await ok(["get", address, "--output-dir", "dated-out"], { env: { IDK_STORE: "dated" } });
      expect(workspace.read(`dated-out/${mtime}`).toString()).toBe("x");
    }
    expect(statSync(path("dated-out/0")).mtimeMs).toBe(0);
  });
});
