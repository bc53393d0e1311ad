import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { answering, atTerminal } from "../support/at-terminal.ts";
import {
  checkManners,
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  PASSPHRASE,
} from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;

describe("keygen", () => {
  test("writes a private file and prints only the recipient", async () => {
    const { stdout, stderr } = await ok(["keygen", "-o", "new.key"]);
    expect(stdout).toMatch(/^idk1[0-9a-z]{58}\n$/u);
    expect(stderr).toBe("");
    expect(statSync(path("new.key")).mode & 0o777).toBe(0o600);
    const text = readFileSync(path("new.key"), "utf8");
    expect(text).toMatch(/^# recipient: idk1[0-9a-z]{58}\nIDK-SECRET-KEY-1[0-9A-Z]+\n$/u);
    expect(text).toContain(`# recipient: ${stdout}`);
    expect((await ok(["recipient", "-i", "new.key"])).stdout).toBe(stdout);
  });

  test("says that a passphrase in the environment is not used unasked", async () => {
    const env = { IDK_PASSPHRASE: PASSPHRASE };
    const { stderr } = await ok(["keygen", "-o", "plain.key"], { env });
    expect(stderr).toBe(
      "idk: note: the key is not protected: IDK_PASSPHRASE is used only with --passphrase\n",
    );
    const protectedKey = await ok(["keygen", "-o", "quiet.key", "--passphrase"], { env });
    expect(protectedKey.stderr).toBe("");
  });

  test("never overwrites", async () => {
    const before = workspace.read("me.key");
    for (const args of [[], ["--passphrase"]]) {
      const result = await idk(["keygen", "-o", "me.key", ...args]);
      expectFailure(result, 2, "me.key already exists, and identities are never overwritten");
    }
    expect(workspace.read("me.key")).toEqual(before);
  });

  test("says why it cannot write", async () => {
    expectFailure(
      await idk(["keygen", "-o", "none/a.key"]),
      2,
      "cannot create none/a.key: no such file or folder",
    );
    expectFailure(await idk(["keygen", "-o", "me.key/a"]), 2, "not a folder");
    expectFailure(await idk(["keygen", "-o", "-"]), 2, "an identity is secret");
  });

  test("--json", async () => {
    const { stdout } = await ok(["keygen", "-o", "json.key", "--json"]);
    const made = JSON.parse(stdout) as { recipient: string; file: string };
    expect(made).toEqual({ recipient: expect.stringMatching(/^idk1/u), file: "json.key" });
    const { stdout: read } = await ok(["recipient", "-i", "json.key", "--json"]);
    expect(JSON.parse(read)).toEqual({ recipient: made.recipient });
  });
});

describe("recipient", () => {
  test("prints a line per identity", async () => {
    const { stdout: other } = await ok(["keygen", "-o", "second.key"]);
    const { stdout } = await ok(["recipient", "-i", "me.key", "-i", "second.key"]);
    expect(stdout).toBe(`${workspace.recipient}\n${other}`);
  });

  test.each<[content: string | Uint8Array, message: string]>([
    ["", "the file holds no identity"],
    ["# nothing\n", "the file holds no identity"],
    ["idk-secret-key-1qqq\n", "line 1: "],
    [`IDKK${"\u0001".repeat(40)}`, "damaged or of another version"],
    [new Uint8Array(2 ** 20 + 1), "too long"],
  ])("a malformed file is named: %#", async (content, message) => {
    workspace.write("bad.key", content);
    const result = await idk(["recipient", "-i", "bad.key"]);
    expectFailure(result, 2, "bad.key");
    expect(result.stderr).toContain(message);
  });

  test("warns about an identity that others can read", async () => {
    await ok(["keygen", "-o", "open.key"]);
    chmodSync(path("open.key"), 0o640);
    const { stderr, code } = await idk(["recipient", "-i", "open.key"]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^idk: warning: .*open\.key.*chmod 600.*\n$/u);
  });
});

const withoutTerminal = async (...args: string[]) => {
  // A new session has no terminal, even if the tests do.
  const setsid = "import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])";
  const child = Bun.spawn(["python3", "-c", setsid, process.execPath, MAIN, ...args], {
    cwd: workspace.folder,
    env: isolated(),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stderr = await new Response(child.stderr).text();
  return { code: await child.exited, stderr, stdout: "", bytes: new Uint8Array() };
};

describe("a passphrase", () => {
  const env = { IDK_PASSPHRASE: PASSPHRASE };

  test("is read from the environment", async () => {
    const { stdout } = await ok(["keygen", "-o", "safe.key", "--passphrase"], { env });
    expect(statSync(path("safe.key")).size).toBe(102);
    expect(statSync(path("safe.key")).mode & 0o777).toBe(0o600);
    expect((await ok(["recipient", "-i", "safe.key"], { env })).stdout).toBe(stdout);

    const wrong = await idk(["recipient", "-i", "safe.key"], { env: { IDK_PASSPHRASE: "guess" } });
    expectFailure(wrong, 4, "identity file safe.key: the passphrase does not open");
    expect(wrong.stderr).not.toContain("guess");
    const json = await idk(["recipient", "-i", "safe.key", "--json"], {
      env: { IDK_PASSPHRASE: "guess" },
    });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "passphrase" } });
  });

  test("says what to do without a terminal", async () => {
    expectFailure(await withoutTerminal("recipient", "-i", "safe.key"), 2, "set IDK_PASSPHRASE");
    expectFailure(
      await withoutTerminal("keygen", "-o", "no.key", "--passphrase"),
      2,
      "set IDK_PASSPHRASE",
    );
    expect(existsSync(path("no.key"))).toBe(false);
  });
});

describe("a passphrase at the terminal", () => {
  /** Runs `idk` in a terminal and types one line at each prompt. */
  const type = async (typed: readonly string[], ...args: string[]) => {
    const { screen, code } = await atTerminal(answering(typed), [process.execPath, MAIN, ...args], {
      cwd: workspace.folder,
      env: isolated(),
    });
    checkManners({ stdout: screen, stderr: screen });
    return { screen: screen.replaceAll("\r\n", "\n"), code };
  };

  test("is prompted for twice, not echoed, and can be corrected", async () => {
    const typed = [`oops\u0015${PASSPHRASE}é\u007f\r`, `${PASSPHRASE}\r`];
    const made = await type(typed, "keygen", "-o", "typed.key", "--passphrase");
    expect(made.screen).toMatch(/^New passphrase: \nRepeat the passphrase: \nidk1[0-9a-z]{58}\n$/u);
    expect(made.code).toBe(0);
    const recipient = made.screen.split("\n")[2]!;

    const read = await type([`${PASSPHRASE}\r`], "recipient", "-i", "typed.key");
    expect(read).toEqual({ screen: `Passphrase for typed.key: \n${recipient}\n`, code: 0 });
    const { stdout } = await ok(["recipient", "-i", "typed.key"], {
      env: { IDK_PASSPHRASE: PASSPHRASE },
    });
    expect(stdout).toBe(`${recipient}\n`);
  });

  test.each<[typed: string[], message: string, code: number]>([
    [
      Array(3).fill(["one\r", "two\r"]).flat(),
      "idk: the two passphrases differed 3 times: run the command again",
      2,
    ],
    [["\r"], "idk: the passphrase is empty", 2],
    [["\u0004"], "idk: no passphrase given", 2],
    [["one\r", "on\u0003"], "idk: interrupted", 130],
  ])("typing %p leaves no file", async (typed, message, code) => {
    const result = await type(typed, "keygen", "-o", "failed.key", "--passphrase");
    expect(result.screen).toContain(`\n${message}`);
    expect(result.code).toBe(code);
    expect(existsSync(path("failed.key"))).toBe(false);
  });

  test("is rejected if wrong", async () => {
    const result = await type(["wrong\r"], "recipient", "-i", "typed.key");
    expect(result.screen).toContain("the passphrase does not open this identity file");
    expect(result.code).toBe(4);
  });

  test("prints text, but binary content only with -o -", async () => {
    const text = await workspace.put("just text\n");
    const binary = await workspace.put("\u001b[31mred\n");
    const get = ["get", "--store", "blobs", "-i", "me.key"];
    expect(await type([], ...get, text)).toEqual({ screen: "just text\n", code: 0 });
    const refused = await type([], ...get, binary);
    expect(refused.screen).toStartWith("idk: the content is binary");
    expect(refused.code).toBe(2);
    expect(await type([], ...get, binary, "-o", "-")).toEqual({
      screen: "\u001b[31mred\n",
      code: 0,
    });
  });
});
