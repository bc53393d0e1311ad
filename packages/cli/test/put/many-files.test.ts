import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { createWorkspace, expectFailure, noise, sameBytes } from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, path, write } = workspace;
const ADDRESS = /^[0-9a-f]{64}$/u;

for (const name of ["a", "b", "c"]) write(name, `content of ${name}`);
write("large", noise(2 ** 20 + 1));
mkdirSync(path("folder"));

/** Addresses by path, as put printed them. */
function printed(stdout: string): Map<string, string> {
  const lines = stdout.split("\n").slice(0, -1);
  return new Map(
    lines.map((line) => {
      const [address = "", file = "", ...rest] = line.split("  ");
      expect(address).toMatch(ADDRESS);
      expect(rest).toEqual([]);
      return [file, address];
    }),
  );
}

function jsonLines(stdout: string): Record<string, unknown>[] {
  const lines = stdout.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function contentOf(address: string | undefined): Promise<string> {
  return (await ok(["get", address ?? "none"])).stdout;
}

describe("put of several files", () => {
  test("prints a line per file, and a summary on standard error", async () => {
    const { stdout, stderr } = await ok(["put", "a", "b", "large"]);
    const files = printed(stdout);
    expect([...files.keys()].toSorted()).toEqual(["a", "b", "large"]);
    expect(await contentOf(files.get("b"))).toBe("content of b");
    const large = await ok(["get", files.get("large")!]);
    expect(sameBytes(large.bytes, workspace.read("large"))).toBe(true);
    expect(stderr).toBe("stored 3 files, 1048601 bytes (1.0 MiB); none failed\n");
  });

  test("continues after a failed file and reports it at the end", async () => {
    write("list", "c\nfolder\n");
    const result = await idk(["put", "a", "missing", "--from-file", "list"]);
    expect([...printed(result.stdout).keys()].toSorted()).toEqual(["a", "c"]);
    expect(result.stderr).toContain("idk: cannot read missing: no such file or folder\n");
    expect(result.stderr).toContain("idk: folder is a folder: name it on the command line");
    expect(result.stderr).toContain("stored 2 files, 24 bytes; 2 failed\n");
    expect(result.stderr).toEndWith("idk: 2 of 4 files failed\n");
    expect(result.code).toBe(2);
  });

  test("--json prints an object per file, including failures", async () => {
    const result = await idk(["put", "a", "missing", "--json"]);
    const lines = jsonLines(result.stdout).toSorted((x) => (x["ok"] === true ? -1 : 1));
    expect(lines).toEqual([
      {
        ok: true,
        file: "a",
        address: expect.stringMatching(ADDRESS),
        mtime: Math.trunc(statSync(path("a")).mtimeMs),
        bytes: 12,
        chunks: 0,
        newChunks: 0,
        newBytes: 12,
        skippedChunks: 0,
        skippedBytes: 0,
        sentBlobs: 1,
        sentBytes: expect.any(Number),
      },
      {
        ok: false,
        file: "missing",
        error: { code: "usage", message: "cannot read missing: no such file or folder" },
      },
    ]);
    expect(JSON.parse(result.stderr.split("\n")[1]!)).toEqual({
      error: { code: "usage", message: "1 of 2 files failed" },
    });
    expect(result.code).toBe(2);
  });

  test("reads one of them from standard input", async () => {
    const files = printed((await ok(["put", "a", "-"], { stdin: "piped" })).stdout);
    expect(await contentOf(files.get("-"))).toBe("piped");
  });

  test("stores the type with all, and each with its own name and date", async () => {
    const metadataOf = async (address: string): Promise<unknown> =>
      JSON.parse((await ok(["stat", address, "--json"])).stdout).metadata;
    const files = printed((await ok(["put", "a", "./b", "--type", "text/plain"])).stdout);
    expect([...files.keys()].toSorted()).toEqual(["./b", "a"]);
    for (const [file, address] of files) {
      const mtime = Math.trunc(statSync(path(file)).mtimeMs);
      const name = file.replace("./", "");
      expect(await metadataOf(address)).toEqual({ name, mtime, type: "text/plain" });
    }
    const plain = printed((await ok(["put", "a", "b", "--no-name"])).stdout);
    for (const address of plain.values()) expect(await metadataOf(address)).toEqual({});
  });

  test("escapes control characters in paths", async () => {
    write("odd\u001b[31m\nname", "odd");
    const { stdout } = await ok(["put", "a", "odd\u001b[31m\nname"]);
    const files = printed(stdout);
    expect(await contentOf(files.get(String.raw`odd\u001b[31m\u000aname`))).toBe("odd");
  });

  test("stops after repeated store failures", async () => {
    const names = Array.from({ length: 40 }, (_, i) => `many-${i}`);
    for (const name of names) write(name, name);
    // A file in place of the store.
    const result = await idk(["put", ...names], { env: { IDK_STORE: "a" } });
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain("stopped: the store failed 16 files in a row");
    expect(result.stderr.split("\n").length).toBeLessThan(20);
    expect(result.code).toBe(6);
  });
});

describe("put --from-file", () => {
  test.each<[what: string, args: string[], list: string]>([
    ["lines", [], "a\nb\n"],
    ["lines of Windows, without an end", [], "a\r\n\r\nb"],
    ["zero bytes", ["-0"], "a\0b\0"],
    ["zero bytes, spelt out", ["--null"], "a\0b"],
  ])("%s, from a file and from standard input", async (_, args, list) => {
    write("list", list);
    const fromFile = await ok(["put", "--from-file", "list", ...args]);
    expect([...printed(fromFile.stdout).keys()].toSorted()).toEqual(["a", "b"]);
    const piped = await ok(["put", "--from-file", "-", ...args], { stdin: list });
    expect([...printed(piped.stdout).keys()].toSorted()).toEqual(["a", "b"]);
  });

  test("adds to the named files, and accepts paths with line ends", async () => {
    write("two\nlines", "both");
    write("-", "a file of this name");
    write("list", "two\nlines\0-\0");
    const files = printed((await ok(["put", "c", "--from-file", "list", "-0"])).stdout);
    expect([...files.keys()].toSorted()).toEqual(["./-", "c", String.raw`two\u000alines`]);
    expect(await contentOf(files.get("./-"))).toBe("a file of this name");
  });

  test("succeeds with an empty list", async () => {
    const { stdout, stderr } = await ok(["put", "--from-file", "-"], { stdin: "\n\n" });
    expect([stdout, stderr]).toEqual(["", "stored 0 files, 0 bytes; none failed\n"]);
  });

  test("rejects a file that is not a list", async () => {
    expectFailure(await idk(["put", "--from-file", "nolist"]), 2, "cannot read nolist");
    expectFailure(
      await idk(["put", "--from-file", "folder"]),
      2,
      "folder is a folder: name a list",
    );
    write("endless", "x".repeat(100_000));
    expectFailure(
      await idk(["put", "--from-file", "endless"]),
      2,
      "it has an entry of more than 64 KiB",
    );
    const secret = workspace.read("me.key").toString();
    const result = await idk(["put", "--from-file", "-"], { stdin: secret });
    expectFailure(result, 2, "standard input is not a list: it contains an identity");
  });

  test.each<[args: string[], message: string]>([
    [["a", "-0"], "--null applies to a list"],
    [["a", "b", "--name", "x"], "--name takes a single file"],
    [["-", "--from-file", "-"], "standard input can be read only once"],
    [["-", "-"], "standard input can be read only once"],
    [["a", "b", "--resume"], "--resume takes a single file"],
    [["a", ""], "FILE takes a file, got an empty string"],
  ])("%p is refused", async (args, message) => {
    expectFailure(await idk(["put", ...args]), 2, message);
  });
});

describe("get of several addresses", () => {
  test("writes each to its own file, from the output of put", async () => {
    const { stdout } = await ok(["put", "a", "b", "large", "--no-name"]);
    write("stored", stdout);
    const got = await ok(["get", "--from-file", "stored", "--output-dir", "out/of/it"]);
    expect([got.stdout, got.stderr]).toEqual(["", ""]);
    const files = printed(stdout);
    expect(readdirSync(path("out/of/it")).toSorted()).toEqual([...files.values()].toSorted());
    for (const [name, address] of files) {
      const copy = `out/of/it/${address}`;
      expect(sameBytes(workspace.read(copy), workspace.read(name))).toBe(true);
      expect(statSync(path(copy)).mode & 0o777).toBe(0o666 & ~process.umask());
    }
  });

  test("continues after a failure, and replaces files only with --force", async () => {
    const [a, b] = [...printed((await ok(["put", "a", "b", "--no-name"])).stdout).values()];
    const missing = "f".repeat(64);
    mkdirSync(path("there"));
    write(`there/${a}`, "mine");
    const args = ["get", a!, missing, b!, "--output-dir", "there"];
    const result = await idk(args);
    expect(result.stderr).toContain(
      `there/${a} already exists with different content; use --force to replace it\n`,
    );
    expect(result.stderr).toContain(`has no blob ${missing}\n`);
    expect(result.stderr).toEndWith("idk: 2 of 3 addresses failed\n");
    expect(result.code).toBe(3);
    expect(workspace.read(`there/${a}`).toString()).toBe("mine");
    expect(workspace.read(`there/${b}`).toString()).toStartWith("content of");
    expect(readdirSync(path("there"))).toHaveLength(2);

    const forced = await idk([...args, "--force", "--json"]);
    expect(forced.code).toBe(3);
    expect(workspace.read(`there/${a}`).toString()).toStartWith("content of");
    const lines = jsonLines(forced.stdout);
    expect(lines.filter((line) => line["ok"] === true)).toHaveLength(2);
    expect(lines).toContainEqual({
      ok: true,
      address: b,
      file: `there/${b}`,
      size: 12,
      written: 12,
    });
    expect(lines).toContainEqual({
      ok: false,
      address: missing,
      error: { code: "not-found", message: expect.stringContaining(missing) },
    });
  });

  test("compares existing files instead of fetching when run again", async () => {
    const env = { IDK_STORE: "again" };
    write("text", "text ".repeat(2 ** 19));
    const { stdout } = await ok(["put", "--no-name", "a", "b", "large", "--chunk-size", "256K"], {
      env,
    });
    const compressed = await ok(["put", "--no-name", "text", "text", "--compress", "auto"], {
      env,
    });
    write("stored", stdout + compressed.stdout);
    const files = printed(stdout);
    const args = ["get", "--from-file", "stored", "--output-dir", "again-out"];
    await ok(args, { env });
    const out = (name: string) => path(`again-out/${files.get(name)!}`);
    rmSync(out("a"));
    const large = statSync(out("large"));
    // Only roots are fetched: the others are leaves.
    const roots = new Set([...files.values(), ...compressed.stdout.match(/^[0-9a-f]{64}/gmu)!]);
    const leaves = (await ok(["ls"], { env })).stdout
      .trim()
      .split("\n")
      .filter((it) => !roots.has(it));
    expect(leaves.length).toBeGreaterThan(4);
    for (const leaf of leaves) rmSync(path(`again/${leaf.slice(0, 2)}/${leaf}`), { force: true });
    expect((await ok(args, { env })).stderr).toBe("idk: 4 of 5 files already existed\n");
    expect(workspace.read(`again-out/${files.get("a")!}`).toString()).toBe("content of a");
    expect(statSync(out("large")).ino).toBe(large.ino);
    const lines = jsonLines((await ok([...args, "--json"], { env })).stdout);
    expect(lines.map((line) => [line["ok"], line["alreadyThere"], line["written"]])).toEqual(
      Array.from({ length: roots.size }, () => [true, true, 0]),
    );
  });

  test.each(["b", "large", "text"])("never takes another file for %s", async (name) => {
    write("text", "text ".repeat(2 ** 19));
    const { stdout } = await ok(["put", "--no-name", name, "a", "--compress", "auto"]);
    const files = printed(stdout);
    const address = files.get(name)!;
    const folder = `others-${name}`;
    mkdirSync(path(folder));
    const content = Buffer.from(workspace.read(name));
    const last = Buffer.from(content);
    last[last.length - 1]! ^= 1;
    for (const other of [last, content.subarray(1), Buffer.concat([content, last]), ""]) {
      write(`${folder}/${address}`, other);
      const result = await idk(["get", ...files.values(), "--output-dir", folder]);
      expect(result.stderr).toContain(`${address} already exists with different content`);
      expect(result.code).toBe(2);
      expect(sameBytes(workspace.read(`${folder}/${address}`), Buffer.from(other))).toBe(true);
    }
    await ok(["get", address, "--output-dir", folder, "--force"]);
    expect(sameBytes(workspace.read(`${folder}/${address}`), content)).toBe(true);
  });

  test("fetches each address once, and reports what is not an address", async () => {
    rmSync(path("once"), { recursive: true, force: true });
    const address = await workspace.put("x");
    write("list", `${address}\nnonsense\n${address}  again\n`);
    const result = await idk(["get", address, "--from-file", "list", "--output-dir", "once"]);
    expect(result.stderr).toContain("idk: nonsense: the address must be 64 lowercase");
    expect(result.stderr).toEndWith("idk: 1 of 2 addresses failed\n");
    expect(readdirSync(path("once"))).toEqual([address]);
  });

  test("writes a single address to a folder", async () => {
    const address = await workspace.put("alone");
    await ok(["get", address, "--output-dir", "single"]);
    expect(workspace.read(`single/${address}`).toString()).toBe("alone");
  });

  test.each<[args: string[], message: string]>([
    [[], "name an ADDRESS, or a list of addresses with --from-file"],
    [["A", "B"], "several addresses need a folder: use --output-dir DIR"],
    [["--from-file", "list"], "several addresses need a folder"],
    [["A", "--output-dir", "d", "-o", "f"], "-o and --output-dir exclude each other"],
    [["A", "--output-dir", "d", "--range", "0-1"], "--range takes one address"],
    [["A", "--output-dir", "a"], "cannot create the folder a: a file of that name exists"],
  ])("%p is refused", async (args, message) => {
    const addresses: Record<string, string> = { A: "a".repeat(64), B: "b".repeat(64) };
    const given = args.map((arg) => addresses[arg] ?? arg);
    expectFailure(await idk(["get", ...given]), 2, message);
    expect(existsSync(path("d"))).toBe(false);
  });
});
