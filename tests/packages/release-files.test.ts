import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { makeArchives, makeKey, signerOf, sumsOf } from "./release.ts";
import { ok, root, run } from "./projects.ts";
import { ARCHIVES, formula, installer } from "../../script/release-files.ts";
import { join } from "node:path";
import { skipIfMissing } from "../servers/require-server.ts";
import { tmpdir } from "node:os";

/*
 * What a release contains beside the archives. installer.test.ts runs the installer; the formula is run
 * here by a stand-in for Homebrew, which installs the command of this repository.
 */

// script/idk may have to build the bundle first.
setDefaultTimeout(120_000);

const VERSION = "1.2.3";
const RELEASE = { version: VERSION, releases: "https://github.com/owner/idk/releases" };
const SCRIPT = join(root, "script/release-files.ts");

let folder: string;
let sums: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "idk-release-files-"));
  sums = sumsOf(
    new Map([...ARCHIVES].map(([name, ending]) => [`idk-${VERSION}-${name}.${ending}`, name])),
  );
});

afterAll(() => rm(folder, { recursive: true }));

describe("the release key", () => {
  const KEY = `release@idk namespaces="idk-release" ssh-ed25519 ${"A".repeat(68)}`;

  test("of the repository is a key, or there is none yet", async () => {
    const signers = await readFile(join(root, "packaging/allowed_signers"), "utf8");
    const lines = signers.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    if (lines.length > 0) expect(await installer(RELEASE, signers)).toContain(lines[0]!);
    else
      expect(installer(RELEASE, signers)).rejects.toThrow("has no release key; docs/releasing.md");
  });

  test.each([
    ["of another kind", KEY.replace("ed25519", "rsa")],
    ["for other purposes", KEY.replace(' namespaces="idk-release"', "")],
    ["of someone else", KEY.replace("release@idk", "*")],
    ["that ends the text of the script", `${KEY}\nEND\nrm -rf /`],
    ["whose private half was pasted", "-----BEGIN OPENSSH PRIVATE KEY-----"],
  ])("is not one %s", (_, signers) => {
    expect(installer(RELEASE, signers)).rejects.toThrow("a line that is not a release key");
  });

  test("may have a successor", async () => {
    const next = KEY.replace("AAAA", "BBBB");
    expect(await installer(RELEASE, `# old\n${KEY}\n\n# new\n${next}\n`)).toContain(
      `\n${KEY}\n${next}\nEND\n`,
    );
  });
});

test("release-files writes nothing without a release key, archives or a version", async () => {
  const at = join(folder, "empty");
  await mkdir(at);
  const write = (...args: string[]) => run([process.execPath, SCRIPT, ...args], root);
  expect(await write("v1.2", "owner/idk", at)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/"v1\.2" is not a version/u),
  });
  expect(await write(VERSION, "owner", at)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/"owner" is not a repository/u),
  });
  expect(await write(VERSION, "owner/idk", at)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/SHA256SUMS/u),
  });
  expect(await Array.fromAsync(new Bun.Glob("*").scan(at))).toEqual([]);
});

describe("the formula", () => {
  test("needs exactly the archives of a release", () => {
    const [first = "", ...others] = sums.split("\n");
    expect(formula(RELEASE, others.join("\n"))).rejects.toThrow(
      `SHA256SUMS has no ${first.slice(66)}`,
    );
    expect(formula(RELEASE, `${sums}${"0".repeat(64)}  other.zip\n`)).rejects.toThrow(
      "too much: other.zip",
    );
    expect(formula(RELEASE, `${sums}\n<html>`)).rejects.toThrow("a line of another form: ");
  });

  test("has no placeholder left", async () => {
    expect(await formula(RELEASE, sums)).not.toMatch(/@[A-Z]/u);
  });
});

skipIfMissing(Bun.which("ruby") === null ? ["ruby"] : [])("the formula, in Ruby", () => {
  const BREW = join(import.meta.dir, "brew.rb");
  let path: string;

  beforeAll(async () => {
    path = join(folder, "idk.rb");
    await writeFile(path, await formula(RELEASE, sums));
  });

  test("has the syntax of Ruby", async () => {
    expect(await ok(["ruby", "-wc", path], folder)).toBe("Syntax OK\n");
  });

  test.each([
    ["macos", "arm", "macos-arm64"],
    ["macos", "intel", "macos-x64"],
    ["linux", "arm", "linux-arm64"],
    ["linux", "intel", "linux-x64"],
  ])("downloads for %s on %s the archive for %s", async (os, cpu, platform) => {
    const fields: unknown = JSON.parse(await ok(["ruby", BREW, path, "", folder, os, cpu], folder));
    const name = `idk-${VERSION}-${platform}.tar.gz`;
    const digest = new Bun.CryptoHasher("sha256").update(platform).digest("hex");
    expect(sums).toContain(`${digest}  ${name}\n`);
    expect(fields).toMatchObject({
      url: `https://github.com/owner/idk/releases/download/v${VERSION}/${name}`,
      sha256: digest,
      version: VERSION,
      homepage: "https://github.com/owner/idk",
      license: "MIT",
      desc: expect.stringMatching(/^[A-Z].{10,78}[^.]$/u),
    });
  });

  test("installs the command, its manual page and completions, and its test passes", async () => {
    const { version } = (await Bun.file(join(root, "packages/cli/package.json")).json()) as {
      version: string;
    };
    const unpacked = join(folder, `idk-${version}-linux-x64`);
    // The command of this repository in place of the binary.
    const command = `#!/bin/sh\nexec "${join(root, "script/idk")}" "$@"\n`;
    await makeArchives(folder, version, { command, platforms: ["linux-x64"] });
    const own = join(folder, "own.rb");
    await writeFile(own, (await formula(RELEASE, sums)).replaceAll(VERSION, version));
    const prefix = join(folder, "prefix");
    await ok(["ruby", BREW, own, unpacked, prefix, "linux", "intel"], folder);
    const files = await Array.fromAsync(new Bun.Glob("{bin,etc,share}/**/*").scan({ cwd: prefix }));
    expect(files.toSorted()).toEqual([
      "bin/idk",
      "etc/bash_completion.d/idk",
      "share/fish/vendor_completions.d/idk.fish",
      "share/idk/LICENSES.txt",
      "share/man/man1/idk.1",
      "share/zsh/site-functions/_idk",
    ]);
    expect((await stat(join(prefix, "bin/idk"))).mode & 0o111).toBe(0o111);

    // A command that stores nothing, or the content as it is, does not pass.
    for (const get of ["echo something else", 'cat "$HOME/minutes.txt"']) {
      const broken = `#!/bin/sh\n[ "$1" != get ] || { ${get}; exit; }\nexec "${join(root, "script/idk")}" "$@"\n`;
      await writeFile(join(unpacked, "idk"), broken);
      await chmod(join(unpacked, "idk"), 0o755);
      const failed = await run(
        ["ruby", BREW, own, unpacked, `${prefix}-broken`, "linux", "intel"],
        folder,
      );
      expect(failed.code).not.toBe(0);
      await rm(`${prefix}-broken`, { recursive: true });
    }
  });
});

skipIfMissing(Bun.which("ssh-keygen") === null ? ["ssh-keygen"] : [])("release-files", () => {
  test("takes a key as ssh-keygen writes it", async () => {
    const key = await makeKey(folder, "key");
    const signer = await signerOf(key);
    expect(await installer(RELEASE, signer)).toContain(signer);
  });
});
