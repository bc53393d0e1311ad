import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { openInput } from "../../src/input/input.ts";
import { walkFolder } from "../../src/put/walk-folder.ts";
import { createWorkspace, isolated, MAIN, noise } from "../support/cli.ts";

const workspace = await createWorkspace();
const { ok, path, write } = workspace;

function makeFolder(name: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [file, content] of Object.entries(files)) {
    const at = join(path(name), file);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, content);
  }
}

/** Puts a folder, and calls `swap` when the first address is printed. */
async function putWhile(folder: string, swap: () => void) {
  const child = Bun.spawn([process.execPath, MAIN, "put", folder], {
    cwd: workspace.folder,
    env: isolated(workspace.env),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stderr = new Response(child.stderr).text();
  let stdout = "";
  const decoder = new TextDecoder();
  for await (const piece of child.stdout) {
    if (stdout === "") swap();
    stdout += decoder.decode(piece, { stream: true });
  }
  return { stdout, stderr: await stderr, code: await child.exited };
}

/** The contents that were stored, by path. */
async function storedBy(stdout: string): Promise<Map<string, string>> {
  write("stored", stdout);
  const target = `got-${crypto.randomUUID()}`;
  await ok(["get", "--from-file", "stored", "--output-dir", target, "--no-names"]);
  const entries = stdout
    .trim()
    .split("\n")
    .map((line) => [line.slice(66), line.slice(0, 64)]);
  return new Map(
    entries.map(([file, address]) => [file!, readFileSync(path(`${target}/${address}`), "utf8")]),
  );
}

const swapFor = (folder: string, outside: string) => () => {
  renameSync(path(folder), path(`${folder}-moved`));
  symlinkSync(path(outside), path(folder));
};

const names = Array.from({ length: 400 }, (_, index) => `${index}`.padStart(3, "0"));
const filled = (folder: string, content: string) =>
  Object.fromEntries(names.map((name) => [join(folder, name), `${content} ${name}`]));

describe("a folder that is replaced by a link while it is put", () => {
  test("before it is listed is reported, and nothing outside is stored", async () => {
    const first = Object.fromEntries(
      names.map((name) => [name, noise(64 * 1024, Number(name) + 1)]),
    );
    makeFolder("listing", { ...first, "z/file": "inside" });
    makeFolder("listing-outside", { file: "outside", other: "outside" });
    const { stdout, stderr, code } = await putWhile(
      "listing",
      swapFor("listing/z", "listing-outside"),
    );
    expect([...(await storedBy(stdout)).keys()].filter((name) => name.includes("/z"))).toEqual([]);
    expect(stderr).toContain(
      "idk: cannot read the folder listing/z: it was moved or replaced by a link while its files were stored\n",
    );
    expect(code).toBe(2);
  });

  test("while its files are opened is reported, and nothing outside is stored", async () => {
    makeFolder("opening", filled("z/deep", "inside"));
    makeFolder("opening-outside", filled("deep", "outside"));
    const { stdout, stderr, code } = await putWhile(
      "opening",
      swapFor("opening/z", "opening-outside"),
    );
    const stored = await storedBy(stdout);
    expect(stored.size).toBeGreaterThan(0);
    expect([...stored.values()].filter((content) => content.startsWith("outside"))).toEqual([]);
    expect(stderr).toContain(
      "cannot read opening/z/deep/399: its folder was moved or replaced by a link while its files were stored\n",
    );
    expect(stderr).toMatch(/idk: \d+ of 400 files failed\n$/u);
    expect(code).toBe(2);
  });

  test("at its root is reported, too", async () => {
    makeFolder("root", filled(".", "inside"));
    makeFolder("root-outside", filled(".", "outside"));
    const { stdout, code } = await putWhile("root", swapFor("root", "root-outside"));
    const stored = await storedBy(stdout);
    expect([...stored.values()].filter((content) => content.startsWith("outside"))).toEqual([]);
    expect(code).toBe(2);
  });
});

describe("a found file", () => {
  /** The files that a walk finds, before anything is swapped. */
  async function found(folder: string) {
    const files = [];
    for await (const each of walkFolder(path(folder))) if (each.kind === "file") files.push(each);
    return files;
  }
  const contentOf = async (folder: string): Promise<string> => {
    const [file] = await found(folder);
    return readOf(file!);
  };
  const readOf = async ({ path, real }: { path: string; real: string }): Promise<string> => {
    const { content } = await openInput(path, { real });
    const pieces = [];
    for await (const piece of content) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces).toString();
  };

  test("is read through a link that the user named, and below links above it", async () => {
    makeFolder("true/place", { "a/file": "content" });
    symlinkSync("true", path("above"));
    symlinkSync("true/place", path("named"));
    expect(await contentOf("named")).toBe("content");
    expect(await contentOf("above/place")).toBe("content");
    expect(await contentOf("true/place/../place/a")).toBe("content");
  });

  test.each(["a (deleted)", "new\nline", "a\\b", "ü", "e\u0301", " (deleted)"])(
    "can be named %j",
    async (name) => {
      makeFolder(`names-${Buffer.from(name).toString("hex")}`, { [`${name}/${name}`]: "content" });
      expect(await contentOf(`names-${Buffer.from(name).toString("hex")}`)).toBe("content");
    },
  );

  test.each<[how: string, swap: (at: string) => void, message: string]>([
    [
      "replaced by a link",
      (at) => symlinkSync(path("true/place/a/file"), at),
      "it was replaced by a symbolic link",
    ],
    [
      "replaced by a pipe",
      (at) => void Bun.spawnSync(["mkfifo", at]),
      "it is no longer a regular file",
    ],
    ["removed", () => {}, "no such file or folder"],
  ])("%s is not read", async (how, swap, message) => {
    const folder = how.replaceAll(" ", "-");
    makeFolder(folder, { file: "inside" });
    const [file] = await found(folder);
    renameSync(file!.path, path(`${folder}-moved`));
    swap(file!.path);
    expect(await readOf(file!).catch(String)).toContain(message);
  });

  test("may be replaced by another regular file", async () => {
    makeFolder("edited", { file: "before" });
    const [file] = await found("edited");
    writeFileSync(path("edited/new"), "after");
    renameSync(path("edited/new"), path("edited/file"));
    expect(await readOf(file!)).toBe("after");
    expect(existsSync(path("edited/new"))).toBe(false);
    expect(statSync(path("edited/file")).size).toBe(5);
  });
});
