import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { protectWriterKey, writerKeyFromSeed } from "@idk/snapshots";
import { generateIdentity, protectIdentity, readIdentityFile } from "@idk/storage";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { answering, atTerminal } from "../support/at-terminal.ts";
import {
  checkManners,
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  PASSPHRASE,
} from "../support/cli.ts";
import { writeProtected } from "../support/protected.ts";

// Each passphrase that is set or opened costs a third of a second.
setDefaultTimeout(120_000);

const workspace = await createWorkspace();
const { idk, ok, path, write } = workspace;
const NEXT = "another horse";
const old = { IDK_PASSPHRASE: PASSPHRASE };
const next = { IDK_NEW_PASSPHRASE: NEXT };
const textOf = (name: string) => readFileSync(path(name), "latin1");
const recipientIn = async (name: string, passphrase?: string): Promise<string[]> =>
  (await readIdentityFile(workspace.read(name), passphrase)).map(({ recipient }) => recipient);

const asUser =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : [];
const possible = process.getuid?.() !== 0 || Bun.which("setpriv") !== null;

/** A plain identity file. */
async function plain(name: string): Promise<string> {
  return (await ok(["keygen", "-o", name])).stdout.trim();
}

describe("keygen --armor", () => {
  test("writes a protected identity as text, which is read from every source", async () => {
    const made = await ok(["keygen", "-o", "text.key", "--passphrase", "--armor"], { env: old });
    const text = textOf("text.key");
    expect(text).toMatch(
      /^-----BEGIN IDK PROTECTED IDENTITY-----\n[^]*\n-----END [A-Z ]+-----\n$/u,
    );
    expect(statSync(path("text.key")).mode & 0o777).toBe(0o600);
    const read = async (args: readonly string[], env: Record<string, string> = {}) =>
      (await ok(["recipient", ...args], { env: { IDK_IDENTITY: "", ...old, ...env } })).stdout;
    expect(await read(["-i", "text.key"])).toBe(made.stdout);
    expect(await read([], { IDK_IDENTITY_KEY: text })).toBe(made.stdout);
    expect(await read([], { IDK_IDENTITY_COMMAND: "cat text.key" })).toBe(made.stdout);
    expect((await ok(["recipient", "-i", "/dev/stdin"], { env: old, stdin: text })).stdout).toBe(
      made.stdout,
    );
  });

  test("writes a protected writer key as text, which is no identity", async () => {
    const args = ["keygen", "--writer", "-o", "host.key", "--passphrase", "--armor"];
    await ok(args, { env: old });
    expect(textOf("host.key")).toStartWith("-----BEGIN IDK PROTECTED WRITER KEY-----\n");
    const wrong = await idk(["recipient", "-i", "host.key"], { env: old });
    expectFailure(wrong, 2, "host.key: this is a writer key, not an identity");
  });

  test("says which line is wrong, and is not printed if it is pasted elsewhere", async () => {
    const lines = textOf("text.key").split("\n");
    write("cut.key", lines.toSpliced(2, 1, lines[2]!.slice(1)).join("\n"));
    const cut = await idk(["recipient", "-i", "cut.key"], { env: old });
    expectFailure(cut, 2, "identity file cut.key: line 3 has 63 characters");
    const joined = await idk(["recipient"], {
      env: { IDK_IDENTITY: "", ...old, IDK_IDENTITY_KEY: lines.join(" ") },
    });
    expectFailure(joined, 2, "identity in IDK_IDENTITY_KEY: its line ends are missing");
    const inPlaceOfAFile = await idk(["recipient"], { env: { IDK_IDENTITY: textOf("text.key") } });
    expectFailure(inPlaceOfAFile, 2, "use the variable IDK_IDENTITY_KEY");
    for (const result of [
      inPlaceOfAFile,
      await idk(["recipient", `-i${lines.join(" ")}`]),
      await idk(["put", textOf("text.key")]),
    ]) {
      expect(result.code).toBe(2);
      expect(result.stderr).not.toContain(lines[1]!.slice(0, 20));
    }
  });

  test("needs a passphrase", async () => {
    expectFailure(
      await idk(["keygen", "-o", "x.key", "--armor"]),
      2,
      "--armor is for --passphrase",
    );
    expect(readdirSync(workspace.folder)).not.toContain("x.key");
  });
});

describe("keygen --change", () => {
  test("sets a passphrase, changes it, and removes it: the key stays", async () => {
    const recipient = await plain("a.key");
    const before = textOf("a.key");

    const set = await ok(["keygen", "--change", "-i", "a.key"], { env: next });
    expect(set.stdout).toBe(`${recipient}\n`);
    expect(set.stderr).toBe(
      "idk: a.key is now protected; copies and backups of the file are not\n",
    );
    expect(workspace.read("a.key")).toHaveLength(102);
    expect(await recipientIn("a.key", NEXT)).toEqual([recipient]);

    const env = { IDK_PASSPHRASE: NEXT, IDK_NEW_PASSPHRASE: "a third" };
    const changed = await ok(["keygen", "--change", "-i", "a.key", "--json"], { env });
    expect(JSON.parse(changed.stdout)).toEqual({ recipient, file: "a.key", protected: true });
    expect(await recipientIn("a.key", "a third")).toEqual([recipient]);

    const remove = ["keygen", "--change", "--no-passphrase", "-i", "a.key"];
    const removed = await ok([...remove, "-q"], { env: { IDK_PASSPHRASE: "a third" } });
    expect([removed.stdout, removed.stderr, textOf("a.key")]).toEqual([
      `${recipient}\n`,
      "",
      before,
    ]);
    expect(statSync(path("a.key")).mode & 0o777).toBe(0o600);
    expect(readdirSync(workspace.folder).filter((name) => name.startsWith("a.key"))).toEqual([
      "a.key",
    ]);
    expectFailure(await idk(remove), 2, "the identity file a.key has no passphrase");
  });

  test("keeps the form of the file, unless text is asked for", async () => {
    const recipient = await writeProtected(path("form.key"), PASSPHRASE);
    const change = (...args: string[]) =>
      ok(["keygen", "--change", "-i", "form.key", ...args], {
        env: { ...old, IDK_NEW_PASSPHRASE: PASSPHRASE },
      });
    await change("--armor");
    expect(textOf("form.key")).toStartWith("-----BEGIN");
    const before = textOf("form.key");
    await change();
    expect(textOf("form.key")).toStartWith("-----BEGIN");
    expect(textOf("form.key")).not.toBe(before);
    expect(await recipientIn("form.key", PASSPHRASE)).toEqual([recipient]);
  });

  test("takes a writer key, too", async () => {
    const writer = (await ok(["keygen", "--writer", "-o", "w.key"])).stdout;
    const before = textOf("w.key");
    expect((await ok(["keygen", "--change", "-i", "w.key"], { env: next })).stdout).toBe(writer);
    expect(textOf("w.key")).toStartWith("IDKW");
    const env = { IDK_PASSPHRASE: NEXT, ...next };
    const changed = await ok(["keygen", "--change", "-i", "w.key", "--writer", "--armor"], { env });
    expect([changed.stdout, textOf("w.key").slice(0, 40)]).toEqual([
      writer,
      "-----BEGIN IDK PROTECTED WRITER KEY-----",
    ]);
    const remove = ["keygen", "--change", "-i", "w.key", "--no-passphrase", "--json"];
    const removed = JSON.parse((await ok(remove, { env })).stdout) as unknown;
    expect(removed).toEqual({ writer: writer.trim(), file: "w.key", protected: false });
    expect(textOf("w.key")).toBe(before);
  });

  test("without -i changes the identity of the configuration, through a link", async () => {
    await plain("linked.key");
    symlinkSync("linked.key", path("link.key"));
    const env = { ...next, IDK_IDENTITY: "link.key" };
    expect((await ok(["keygen", "--change"], { env })).stderr).toContain(
      "link.key is now protected",
    );
    expect(textOf("linked.key")).toStartWith("IDKK");
  });

  test("warns of comments, which a protected file cannot hold", async () => {
    await plain("noted.key");
    write("noted.key", `# in the safe, too\n${textOf("noted.key")}`);
    const { stderr } = await ok(["keygen", "--change", "-i", "noted.key"], { env: next });
    expect(stderr).toStartWith("idk: warning: the comments in noted.key are not kept");
  });

  test("says that a group has no access any more", async () => {
    await plain("group.key");
    chmodSync(path("group.key"), 0o640);
    const { stderr } = await ok(["keygen", "--change", "-i", "group.key"], { env: next });
    expect(stderr).toContain("idk: only the owner of group.key can use it now: its mode was 640\n");
    expect(statSync(path("group.key")).mode & 0o777).toBe(0o600);
  });

  // Root may write to any file, unless it gives that up.
  test.skipIf(!possible)("overwrites the old content of a read-only file", async () => {
    await writeProtected(path("read-only.key"), PASSPHRASE);
    chmodSync(path("read-only.key"), 0o400);
    const before = workspace.read("read-only.key");
    const reader = openSync(path("read-only.key"), "r");
    const args = [MAIN, "keygen", "--change", "--no-passphrase", "-i", "read-only.key"];
    const child = Bun.spawnSync([...asUser, process.execPath, ...args], {
      cwd: workspace.folder,
      env: isolated(old),
    });
    expect([child.exitCode, child.stderr.toString()]).toEqual([
      0,
      "idk: read-only.key no longer has a passphrase: anyone who can read the file can use the key\n",
    ]);
    expect(readFileSync(reader)).toEqual(Buffer.alloc(before.length));
    closeSync(reader);
    expect(statSync(path("read-only.key")).mode & 0o777).toBe(0o400);
  });

  test("refuses a file with a key in a comment, before anything is asked", async () => {
    const retired = await plain("retired.key").then(() => textOf("retired.key").split("\n")[1]!);
    const armored = Buffer.from(
      await protectIdentity(await generateIdentity(), PASSPHRASE, { logN: 14, armor: true }),
    ).toString();
    await plain("used.key");
    const used = textOf("used.key");
    for (const comment of [`# retired: ${retired}`, armored.trim().replace(/^/gmu, " # ")]) {
      write("aside.key", `${used}${comment}\n`);
      const before = textOf("aside.key");
      for (const env of [next, {}]) {
        const result = await idk(["keygen", "--change", "-i", "aside.key"], { env });
        expectFailure(result, 2, "the identity file aside.key has a key in a comment");
        expect(textOf("aside.key")).toBe(before);
      }
    }
  });

  test.each([
    [18, 18],
    [14, 17],
  ])("a file with scrypt's cost of 2^%d gets one of 2^%d", async (before, after) => {
    await writeProtected(path("cost.key"), PASSPHRASE, before);
    await ok(["keygen", "--change", "-i", "cost.key"], { env: { ...old, ...next } });
    expect(workspace.read("cost.key")[5]).toBe(after);
    const writer = writerKeyFromSeed(randomBytes(32));
    const options = { logN: before, armor: true };
    const armored = await protectWriterKey(writer, PASSPHRASE, randomBytes(16), options);
    write("cost-writer.key", Buffer.from(armored).toString());
    await ok(["keygen", "--change", "-i", "cost-writer.key"], { env: { ...old, ...next } });
    const text = textOf("cost-writer.key").replaceAll(/^-.*$/gmu, "");
    expect(Buffer.from(text, "base64")[5]).toBe(after);
  });

  test.each<[args: string[], env: Record<string, string>, code: number, message: string]>([
    [
      ["-i", "safe.key"],
      { IDK_PASSPHRASE: "a guess", ...next },
      4,
      "file safe.key: the passphrase does",
    ],
    [["-i", "two.key"], next, 2, "identity file two.key: it holds 2 identities"],
    [["-i", "none.key"], next, 2, "cannot read the key file none.key: no such file"],
    [["-i", "note.txt"], next, 2, "identity file note.txt: line 1: this is not an identity"],
    [["-i", "me.key", "--writer"], next, 2, "identity file me.key is not a writer key file"],
    [["-i", "me.key", "-i", "two.key"], next, 2, "name the one to change with -i FILE"],
    [["-i", "keychain:me"], next, 2, "identity keychain:me is not a file"],
    [[], { IDK_IDENTITY: "", IDK_IDENTITY_COMMAND: "cat me.key" }, 2, "COMMAND is not a file"],
    [[], { IDK_IDENTITY: "" }, 2, "no identity: name its file with -i FILE"],
    [["-i", "me.key", "-o", "b.key"], next, 2, "omit -o and --keychain"],
    [["-i", "me.key", "--keychain", "b"], next, 2, "omit -o and --keychain"],
    [["-i", "me.key", "--armor", "--no-passphrase"], next, 2, "exclude each other"],
  ])("%p with %p changes nothing", async (args, env, code, message) => {
    await writeProtected(path("safe.key"), PASSPHRASE);
    write("two.key", textOf("me.key").repeat(2));
    write("note.txt", "hello\n");
    const files = () =>
      readdirSync(workspace.folder).map((name) => [name, statSync(path(name)).ino]);
    const before = files();
    expectFailure(await idk(["keygen", "--change", ...args], { env }), code, message);
    expect(files()).toEqual(before);
  });

  test("-i without --change is an error", async () => {
    expectFailure(await idk(["keygen", "-i", "me.key"]), 2, "-i is for --change");
  });
});

describe("keygen --change at a terminal", () => {
  const type = async (typed: readonly string[], ...args: string[]) => {
    const { screen, code } = await atTerminal(answering(typed), [process.execPath, MAIN, ...args], {
      cwd: workspace.folder,
      env: isolated(),
    });
    checkManners({ stdout: screen, stderr: screen });
    return { screen: screen.replaceAll("\r\n", "\n"), code };
  };

  test("prompts for the old passphrase, and twice for the new one", async () => {
    const recipient = await writeProtected(path("typed.key"), PASSPHRASE);
    const typed = [`${PASSPHRASE}\r`, `${NEXT}\r`, `${NEXT}\r`];
    const { screen, code } = await type(typed, "keygen", "--change", "-i", "typed.key");
    expect([code, screen]).toEqual([
      0,
      `Passphrase for typed.key: \nNew passphrase: \nRepeat the passphrase: \n${recipient}\n` +
        "idk: the passphrase of typed.key was changed; copies and backups of the file keep the old one\n",
    ]);
    expect(await recipientIn("typed.key", NEXT)).toEqual([recipient]);
  });

  test.each<[typed: string[], code: number]>([
    [["wrong\r"], 4],
    [[`${PASSPHRASE}\r`, "\r"], 2],
    [[`${PASSPHRASE}\r`, "one\u0003"], 130],
  ])("typing %p changes nothing", async (typed, code) => {
    await writeProtected(path("kept.key"), PASSPHRASE);
    const before = workspace.read("kept.key");
    expect((await type(typed, "keygen", "--change", "-i", "kept.key")).code).toBe(code);
    expect(workspace.read("kept.key")).toEqual(before);
    expect(readdirSync(workspace.folder).filter((name) => name.includes(".tmp"))).toEqual([]);
  });
});
