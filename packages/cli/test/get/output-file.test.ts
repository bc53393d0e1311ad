import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createOutputFile } from "../../src/get/output-file.ts";
import { openOutputFolder } from "../../src/get/output-folder.ts";
import { createWorkspace, expectFailure, noise, sameBytes } from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, put, path } = workspace;
const content = noise(2 ** 20 + 1);
const address = await put(content, "--chunk-size", "256K");

/** Unexpected files of any name. */
const strays = () => readdirSync(workspace.folder).filter((name) => name.includes(".idk-part"));

describe("get -o", () => {
  test("creates files with the mode set by the umask", async () => {
    await ok(["get", address, "-o", "plain"]);
    expect(statSync(path("plain")).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(strays()).toEqual([]);
  });

  test("replaces an existing file only with --force, and keeps its mode", async () => {
    workspace.write("old", "old content");
    chmodSync(path("old"), 0o640);
    expectFailure(
      await idk(["get", address, "-o", "old"]),
      2,
      "old already exists; use --force to replace it",
    );
    expect(workspace.read("old").toString()).toBe("old content");
    await ok(["get", address, "-o", "old", "--force"]);
    expect(sameBytes(workspace.read("old"), content)).toBe(true);
    expect(statSync(path("old")).mode & 0o777).toBe(0o640);
    // Another user may have made the old file, and the new one belongs to this user.
    chmodSync(path("old"), 0o6755);
    await ok(["get", address, "-o", "old", "--force"]);
    expect(statSync(path("old")).mode & 0o7777).toBe(0o755);
  });

  test("replaces the target of a symbolic link, not the link", async () => {
    workspace.write("target", "old");
    symlinkSync("target", path("link"));
    expectFailure(await idk(["get", address, "-o", "link"]), 2, "already exists");
    await ok(["get", address, "-o", "link", "--force"]);
    expect(readlinkSync(path("link"))).toBe("target");
    expect(sameBytes(workspace.read("target"), content)).toBe(true);
  });

  test("says why it cannot write", async () => {
    mkdirSync(path("folder"));
    for (const flags of [[], ["--force"]]) {
      expectFailure(await idk(["get", address, "-o", "folder", ...flags]), 2, "folder is a folder");
      expectFailure(
        await idk(["get", address, "-o", "none/file", ...flags]),
        2,
        "no such file or folder",
      );
      expectFailure(await idk(["get", address, "-o", "me.key/file", ...flags]), 2, "not a folder");
      expectFailure(
        await idk(["get", address, "-o", "/dev/null", ...flags]),
        2,
        "not a regular file",
      );
    }
    expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  });

  test("leaves nothing behind when a late chunk is damaged", async () => {
    const broken = await put(noise(2 ** 20 + 9), "--chunk-size", "256K");
    const found = await ok(["stat", broken, "--json"]);
    expect(JSON.parse(found.stdout)).toMatchObject({ depth: 1 });
    // Only this tree: the newest blobs were written last.
    const blobs = (await ok(["ls"])).stdout.trim().split("\n");
    const newest = blobs
      .filter((name) => name !== broken)
      .toSorted(
        (a, b) => statSync(workspace.blob(b)).mtimeMs - statSync(workspace.blob(a)).mtimeMs,
      )[0]!;
    rmSync(workspace.blob(newest));
    workspace.write("kept", "kept");
    expectFailure(await idk(["get", broken, "-o", "kept", "--force"]), 3, newest);
    expect(workspace.read("kept").toString()).toBe("kept");
    expectFailure(await idk(["get", broken, "-o", "fresh"]), 3, newest);
    expect(existsSync(path("fresh"))).toBe(false);
    expect(strays()).toEqual([]);

    const streamed = await idk(["get", broken]);
    expectFailure(streamed, 3, `(the output is incomplete after ${streamed.bytes.length} bytes)`);
    expect(sameBytes(streamed.bytes, noise(2 ** 20 + 9).subarray(0, streamed.bytes.length))).toBe(
      true,
    );
  });

  test("--json reports what was written", async () => {
    const { stdout } = await ok(["get", address, "-o", "ranged", "--range", "10-30", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      address,
      file: "ranged",
      size: content.length,
      written: 20,
    });
  });
});

// Elsewhere, the system offers no way to name files in an open folder.
(process.platform === "linux" ? describe : describe.skip)("a folder replaced by a link", () => {
  const replace = (name: string) => {
    renameSync(path(`${name}/below`), path(`${name}/moved`));
    mkdirSync(path(`${name}-elsewhere`));
    symlinkSync(path(`${name}-elsewhere`), path(`${name}/below`));
  };
  const prepare = async (name: string) => {
    const folder = await openOutputFolder(path(name), { names: true, keepHidden: false });
    const { path: file, hold } = await folder.destinationFor(address, { "idk.path": "below/x" });
    return { file, how: { force: false, address, follow: false, hold } };
  };

  test("before a file is created: nothing is written", async () => {
    const { file, how } = await prepare("before");
    replace("before");
    const message = await createOutputFile(file, how).catch((error: Error) => error.message);
    expect(message).toEndWith("below was moved or replaced by a link; nothing is written there");
    expect(readdirSync(path("before-elsewhere"))).toEqual([]);
  });

  test("or removed: the next file but one has it made again", async () => {
    const name = "removed";
    const folder = await openOutputFolder(path(name), { names: true, keepHidden: false });
    const into = async (file: string) => {
      const metadata = { "idk.path": `below/${file}` };
      const { path: to, hold } = await folder.destinationFor(address, metadata);
      const output = await createOutputFile(to, { force: false, address, follow: false, hold });
      await output.commit();
    };
    await into("x");
    rmSync(path(`${name}/below`), { recursive: true });
    const error = await into("y").catch((reason: Error) => reason.message);
    expect(error).toStartWith("cannot create a file in ");
    await into("z");
    expect(readdirSync(path(`${name}/below`))).toEqual(["z"]);
  });

  test("or all of it removed: each file fails, and so do folders in it", async () => {
    const folder = await openOutputFolder(path("gone"), { names: true, keepHidden: false });
    const into = async (file: string) => {
      const { path: to, hold } = await folder.destinationFor(address, { "idk.path": file });
      const output = await createOutputFile(to, { force: false, address, follow: false, hold });
      await output.commit();
    };
    await into("x");
    await into("below/x");
    rmSync(path("gone"), { recursive: true });
    for (const file of ["y", "z", "below/y", "new/z"]) {
      const error: unknown = await into(file).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "usage" });
    }
  });

  test("before an earlier run is continued: only that of the folder is found", async () => {
    const { file, how } = await prepare("continued");
    const output = await createOutputFile(file, how);
    replace("continued");
    // No process has this number.
    const abandoned = `.x.${address.slice(0, 16)}.4194305.0123456789ab.idk-part`;
    writeFileSync(path(`continued-elsewhere/${abandoned}`), "elsewhere", { mode: 0o600 });
    expect(await output.keep()).toBe(0);
    await output.write(content);
    await output.commit({ removeEarlier: true });
    expect(readdirSync(path("continued-elsewhere"))).toEqual([abandoned]);
    expect(sameBytes(readFileSync(path("continued/moved/x")), content)).toBe(true);
  });

  test.each([false, true])(
    "before it gets its name: it stays in the folder (force: %p)",
    async (force) => {
      const name = `during-${force}`;
      const { file, how } = await prepare(name);
      const output = await createOutputFile(file, { ...how, force });
      await output.write(content);
      replace(name);
      await output.commit();
      expect(readdirSync(path(`${name}-elsewhere`))).toEqual([]);
      expect(sameBytes(readFileSync(path(`${name}/moved/x`)), content)).toBe(true);
      expect(readdirSync(path(`${name}/moved`))).toEqual(["x"]);
    },
  );
});
