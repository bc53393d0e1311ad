import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";
import { interrupted } from "../support/interrupted.ts";

const workspace = await createWorkspace();
const { idk, ok, path, put, write } = workspace;

function makeFolder(name: string, files: readonly string[]): void {
  for (const file of files) {
    const at = join(path(name), file);
    mkdirSync(join(at, ".."), { recursive: true });
    writeFileSync(at, `content of ${file}`);
  }
}

/** The files in a folder, by relative path. */
const filesIn = (folder: string) =>
  readdirSync(path(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(path(folder).length + 1))
    .toSorted();

const HIDDEN = [
  ".bashrc",
  ".env",
  ".envrc",
  ".git/config",
  "HEAD",
  "bunfig.toml",
  "deep/.env.local",
  "deep/node_modules/x/index.js",
  "deep/tsconfig.json",
  "package.json",
];
const PLAIN = ["Makefile", "deep/report.txt", "git~x", "notes~1.text", "packages.json"];

makeFolder("sent", [...HIDDEN, ...PLAIN]);
write("list", (await ok(["put", "sent"])).stdout);
const get = (folder: string, ...args: string[]) =>
  idk(["get", "--from-file", "list", "--output-dir", folder, ...args]);

describe("get --output-dir", () => {
  test.each(["new", "empty"])("restores all names exactly in a %s folder", async (folder) => {
    if (folder === "empty") mkdirSync(path(folder));
    expect(await get(folder)).toMatchObject({ code: 0, stderr: "" });
    expect(filesIn(folder)).toEqual([...HIDDEN, ...PLAIN].toSorted());
    // They are there, so nothing has to be written.
    expect(await get(folder)).toMatchObject({
      code: 0,
      stderr: "idk: 15 of 15 files already existed\n",
    });
  });

  test("refuses hidden names in a folder with other files, and lists them", async () => {
    makeFolder("used", ["mine"]);
    const { code, stderr } = await get("used");
    expect(filesIn("used")).toEqual([...PLAIN, "mine"].toSorted());
    expect(existsSync(path("used/.git"))).toBe(false);
    for (const name of HIDDEN) expect(stderr).toContain(`: used/${name} was not written, because`);
    expect(stderr).toContain("because used has other files and tools may obey a file of this name");
    expect(stderr).toContain("use a new folder or --keep-hidden\n");
    expect(stderr).toEndWith("idk: 10 of 15 addresses failed\n");
    expect(code).toBe(2);
    const json = (await get("used", "--json")).stdout.trim().split("\n");
    const refused = json.map((line) => JSON.parse(line)).filter(({ ok }) => !ok);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({ error: { code: "usage" } });
  });

  test("writes them there with --keep-hidden", async () => {
    makeFolder("trusted", ["mine"]);
    expect(await get("trusted", "--keep-hidden")).toMatchObject({ code: 0, stderr: "" });
    expect(filesIn("trusted")).toEqual([...HIDDEN, ...PLAIN, "mine"].toSorted());
  });

  test("does not replace them, even with --force", async () => {
    makeFolder("configured", ["mine"]);
    writeFileSync(path("configured/.env"), "MINE=1\n");
    const { code, stderr } = await get("configured", "--force");
    expect([code, stderr]).toEqual([2, expect.stringContaining("configured/.env was not written")]);
    expect(readFileSync(path("configured/.env"), "utf8")).toBe("MINE=1\n");
  });

  test.each([
    "BunFig.toml",
    ".GIT",
    "ｐackage.json",
    "GIT~1",
    "gi7eba~1",
    "PACKAG~1.JSO",
    "NODE_M~12",
    "rust-toolchain.toml",
    "uv.toml",
    "Head",
    "Node_Modules",
    "autorun.inf",
  ])("recognizes %j as another spelling", async (name) => {
    makeFolder("spelled", ["mine"]);
    const address = await put("x", "--name", name);
    const result = await idk(["get", address, "--output-dir", "spelled"]);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("was not written")]);
    expect(filesIn("spelled")).toEqual(["mine"]);
  });

  test("says how to continue after an interruption", async () => {
    makeFolder("long", [".hidden"]);
    writeFileSync(path("long/z.bin"), noise(96 * 2 ** 20, 3));
    write("long-list", (await ok(["put", "long", "--chunk-size", "256K"])).stdout);
    const args = ["get", "--from-file", "long-list", "--output-dir", "long-out"];
    const first = await interrupted(workspace, args, {
      signal: "SIGINT",
      when: () => existsSync(path("long-out/.hidden")) && filesIn("long-out").length > 1,
    });
    expect(first.stderr).toContain(
      "1 file complete: run the same command again with --keep-hidden to fetch the others",
    );
    expect(await idk([...args, "--keep-hidden"])).toMatchObject({ code: 0 });
    expect(filesIn("long-out")).toEqual([".hidden", "z.bin"]);
  });

  test("--keep-hidden needs a folder", async () => {
    const result = await idk(["get", "a".repeat(64), "--keep-hidden"]);
    expectFailure(result, 2, "--keep-hidden applies to --output-dir");
  });
});
