import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  checkManners,
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  PASSPHRASE,
} from "../support/cli.ts";
import { writeProtected } from "../support/protected.ts";

const workspace = await createWorkspace();
const { folder, path, recipient, write } = workspace;
const keyOf = (name: string) => readFileSync(path(name), "utf8").split("\n")[1]!;
const make = async (name: string) => (await workspace.ok(["keygen", "-o", name])).stdout.trim();
const second = await make("second.key");
const third = await make("third.key");

/** The recipients of the identities that these variables name, without flags. */
const recipientsOf = (env: Readonly<Record<string, string>>, ...args: string[]) =>
  workspace.idk(["recipient", ...args], { env: { IDK_IDENTITY: "", ...env } });

describe("an identity in a variable", () => {
  test("decrypts, also with several identities", async () => {
    const one = await recipientsOf({ IDK_IDENTITY_KEY: keyOf("second.key") });
    expect([one.code, one.stdout, one.stderr]).toEqual([0, `${second}\n`, ""]);
    const two = await recipientsOf({
      IDK_IDENTITY_KEY: `${keyOf("second.key")}\n${keyOf("third.key")}\n`,
    });
    expect(two.stdout).toBe(`${second}\n${third}\n`);
  });

  test("adds to files and a command, and is overridden by a flag", async () => {
    const env = {
      IDK_IDENTITY: "me.key",
      IDK_IDENTITY_KEY: keyOf("second.key"),
      IDK_IDENTITY_COMMAND: "cat third.key",
    };
    expect((await recipientsOf(env)).stdout).toBe(`${recipient}\n${second}\n${third}\n`);
    expect((await recipientsOf(env, "-i", "third.key")).stdout).toBe(`${third}\n`);
  });

  test("is never printed", async () => {
    const secret = keyOf("second.key").slice(0, -4);
    for (const text of [secret, `x${secret}`, PASSPHRASE]) {
      const result = await recipientsOf({ IDK_IDENTITY_KEY: text });
      expectFailure(result, 2, "identity in IDK_IDENTITY_KEY: line 1: ");
      expect(result.stderr).not.toContain(secret.slice(16));
    }
    const inPlaceOfAFile = await recipientsOf({ IDK_IDENTITY: secret });
    expectFailure(inPlaceOfAFile, 2, "use the variable IDK_IDENTITY_KEY");
  });
});

describe("an identity file that is no file", () => {
  test.each<[file: string, reason: string]>([
    ["pipe", "it is a pipe, and no program writes to it"],
    ["/dev/zero", "it is a device"],
    [".", "it is a folder"],
  ])("is an error at once: %s", async (file, reason) => {
    if (file === "pipe") expect(Bun.spawnSync(["mkfifo", path(file)]).exitCode).toBe(0);
    write("note", "hello");
    const env = { IDK_IDENTITY: "" };
    const got = await workspace.idk(["get", "ab".repeat(32), "-i", file], { env });
    expectFailure(got, 2, `cannot read the identity file ${file}: ${reason}`);
    const stored = await workspace.idk(["put", "note", "-R", file], { env });
    expectFailure(stored, 2, `cannot read the recipients file ${file}: ${reason}`);
    const changed = await workspace.idk(["keygen", "--change", "-i", file], { env });
    expectFailure(changed, 2, `cannot replace the key file ${file}`);
  });

  test("is read if it is a pipe that a program writes to, however late", async () => {
    const script = `exec "$0" "$1" recipient -i <(sleep 0.3; cat ${path("second.key")})`;
    const child = Bun.spawn(["bash", "-c", script, process.execPath, MAIN], {
      cwd: folder,
      env: isolated({ HOME: folder }),
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await new Response(child.stdout).text()).toBe(`${second}\n`);
  });
});

const PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----\n";

test("another kind of key is named, and so is armor without line ends", async () => {
  const env = { IDK_NEW_PASSPHRASE: PASSPHRASE, IDK_PASSPHRASE: PASSPHRASE };
  const options = ["--passphrase", "--armor"];
  await workspace.ok(["keygen", "--writer", "-o", "writer.key", ...options], { env });
  await workspace.ok(["keygen", "-o", "armored.key", ...options], { env });
  write("ssh.key", PEM);
  for (const [file, kind] of [
    ["writer.key", "a writer key"],
    ["ssh.key", "a private key of another program, such as SSH"],
  ] as const) {
    const result = await workspace.idk(["recipient", "-i", file], { env });
    expectFailure(result, 2, `identity file ${file}: this is ${kind}, not an identity\n`);
    const given = await workspace.idk(["put", "-", "-R", file], { stdin: "x" });
    expectFailure(given, 2, `file ${file}: this is ${kind}, which is secret; give idk1…\n`);
  }
  for (const file of ["armored.key", "second.key"]) {
    const given = await workspace.idk(["put", "-", "-R", file], { stdin: "x" });
    expectFailure(given, 2, "this is an identity, which is secret; give its public key, which");
  }
  for (const separator of [" ", "\\n", ""]) {
    const text = readFileSync(path("armored.key"), "utf8").trim().replaceAll("\n", separator);
    const result = await recipientsOf({ ...env, IDK_IDENTITY_KEY: text });
    expectFailure(result, 2, "identity in IDK_IDENTITY_KEY: its line ends are missing");
  }
});

test("white space around a recipient is ignored", async () => {
  write("spaced.toml", `recipients = [" ${second}\\n"]\n`);
  for (const args of [
    ["put", "-", "-r", `${second}\n`],
    ["put", "-", "--config", "spaced.toml"],
  ]) {
    const env = { IDK_RECIPIENTS: "" };
    const put = await workspace.ok(args, { stdin: "x", env });
    await workspace.ok(["get", put.stdout.trim(), "-i", "second.key"]);
  }
});

describe("an identity from a command", () => {
  const from = (command: string, env: Record<string, string> = {}) =>
    recipientsOf({ IDK_IDENTITY_COMMAND: command, ...env });

  test("is its output; its standard error is shown, and it gets no secrets", async () => {
    write(
      "say.sh",
      'echo unlocking >&2\ncat second.key\necho "${IDK_PASSPHRASE-${IDK_NEW_PASSPHRASE-none}}" >&2\n',
    );
    const env = { IDK_PASSPHRASE: PASSPHRASE, IDK_NEW_PASSPHRASE: PASSPHRASE };
    const { code, stdout, stderr } = await from("sh 'say.sh'", env);
    expect([code, stdout, stderr]).toEqual([0, `${second}\n`, "unlocking\nnone\n"]);
  });

  test("has an empty standard input", async () => {
    const address = await workspace.put("content");
    const result = await workspace.idk(["get", "--from-file", "-", "--output-dir", "got"], {
      stdin: `${address}\n`,
      env: { IDK_IDENTITY: "", IDK_IDENTITY_COMMAND: "cat - me.key" },
    });
    expect([result.code, result.stderr.includes("identity")]).toEqual([0, false]);
  });

  test("may print a protected identity", async () => {
    const env = { IDK_PASSPHRASE: PASSPHRASE };
    const recipient = await writeProtected(path("safe.key"), PASSPHRASE);
    expect((await from("cat safe.key", env)).stdout).toBe(`${recipient}\n`);
  });

  test("does not run if no key is needed", async () => {
    const env = { IDK_IDENTITY: "", IDK_IDENTITY_COMMAND: "touch ran" };
    for (const args of [["put", "me.key"], ["ls"], ["verify"], ["config"]]) {
      expect((await workspace.idk(args, { env })).code).toBe(0);
    }
    expect(await Bun.file(path("ran")).exists()).toBe(false);
  });

  test.each<[command: string, message: string]>([
    ["sh -c 'echo sesame; exit 3'", "IDK_IDENTITY_COMMAND: sh failed (exit code 3)"],
    ["sh -c 'kill -9 $$'", "IDK_IDENTITY_COMMAND: sh failed (SIGKILL)"],
    ["nonesuch show idk", "IDK_IDENTITY_COMMAND: cannot run nonesuch: no such file or folder"],
    ["./me.key", "IDK_IDENTITY_COMMAND: cannot run ./me.key: permission denied"],
    ["true", "IDK_IDENTITY_COMMAND: true printed nothing"],
    ["echo sesame", "IDK_IDENTITY_COMMAND: line 1: "],
    ["cat me.key | head -1", "runs without a shell, but | needs one"],
    ["cat *.key", "runs without a shell, but *.key needs one"],
    ["cat $KEY", "runs without a shell, but $KEY needs one"],
    [" ", "IDK_IDENTITY_COMMAND names no program"],
    // It may say itself that nobody reads on.
    [
      "sh -c 'head -c 1100000 /dev/zero 2>/dev/null'",
      "IDK_IDENTITY_COMMAND prints more than an identity",
    ],
  ])("%p", async (command, message) => {
    const result = await from(command);
    expectFailure(result, 2, message);
    expect(result.stderr).not.toContain("sesame");
  });

  test("runs in the folder of the configuration that names it", async () => {
    write("idk.toml", 'identity-command = ["cat", "third.key"]\nidentity = "second.key"\n');
    const result = await workspace.idk(["recipient", "--config", `${folder}/idk.toml`], {
      env: { IDK_IDENTITY: "" },
    });
    expect(result.stdout).toBe(`${second}\n${third}\n`);
  });

  test("ends on Ctrl-C", async () => {
    write("wait.sh", "echo $$ >&2\nexec sleep 60\n");
    const child = Bun.spawn([process.execPath, MAIN, "recipient"], {
      cwd: folder,
      env: isolated({ IDK_IDENTITY_COMMAND: "sh wait.sh" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const reader = child.stderr.getReader();
    const pid = Number(new TextDecoder().decode((await reader.read()).value));
    expect(pid).toBeGreaterThan(1);
    child.kill("SIGINT");
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toBe("idk: interrupted\n");
    expect(await child.exited).toBe(130);
    for (let tries = 0; tries < 100 && isAlive(pid); tries++) await Bun.sleep(20);
    expect(isAlive(pid)).toBe(false);
  });
});

describe("an identity in the keychain, simulated by a file", () => {
  const standIn = fileURLToPath(new URL("./keychain-stand-in.ts", import.meta.url));
  const run = async (args: readonly string[], env: Record<string, string> = {}) => {
    const child = Bun.spawn([process.execPath, "--preload", standIn, MAIN, ...args], {
      cwd: folder,
      env: isolated({ KEYCHAIN_FILE: path("keychain.json"), ...env }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    checkManners({ stdout, stderr });
    return { stdout, stderr, code, bytes: new Uint8Array() };
  };

  test("is created once, and used by its name", async () => {
    const made = await run(["keygen", "--keychain", "laptop"]);
    expect([made.code, made.stderr]).toEqual([0, ""]);
    expect((await run(["recipient", "-i", "keychain:laptop"])).stdout).toBe(made.stdout);
    const env = { IDK_IDENTITY: "second.key:keychain:laptop:third.key" };
    expect((await run(["recipient"], env)).stdout).toBe(`${second}\n${made.stdout}${third}\n`);
    const before = readFileSync(path("keychain.json"), "utf8");
    expectFailure(await run(["keygen", "--keychain", "laptop"]), 2, "never overwritten");
    expect(readFileSync(path("keychain.json"), "utf8")).toBe(before);
  });

  test("idk init creates it, or uses the existing one", async () => {
    const env = { HOME: `${folder}/home` };
    const args = ["init", "--keychain", "desk", "--store", "desk-blobs"];
    const first = await run([...args, "--config", "1.toml"], env);
    expect(first.stdout).toContain("created  identity keychain:desk\n");
    expect(first.stderr).toContain("keychain:desk is the only copy");
    const again = await run([...args, "--config", "2.toml"], env);
    expect(again.stdout).toContain("exists   identity keychain:desk\n");
    const put = await run(["put", "me.key", "--config", "2.toml"], env);
    const got = await run(["get", put.stdout.trim(), "-o", "desk-copy", "--config", "1.toml"], env);
    expect(got.code).toBe(0);
    expect(readFileSync(path("desk-copy"))).toEqual(readFileSync(path("me.key")));
  });

  test("idk init -i uses it, and creates none", async () => {
    const env = { HOME: `${folder}/home2` };
    const made = await run(["keygen", "--keychain", "shelf"]);
    const init = (name: string) =>
      run(["init", "-i", `keychain:${name}`, "--store", "shelf-blobs", "--config", "4.toml"], env);
    expectFailure(await init("shelv"), 2, "has no identity named shelv");
    expect(readFileSync(path("keychain.json"), "utf8")).not.toContain("shelv");
    const { stdout } = await init("shelf");
    expect(stdout).toStartWith("exists   identity keychain:shelf\n");
    expect(stdout).toContain(`recipient ${made.stdout}`);
    expect(readFileSync(path("4.toml"), "utf8")).toContain('identity = "keychain:shelf"');
  });

  test.each<[args: string[], env: Record<string, string>, message: string]>([
    [["recipient", "-i", "keychain:nobody"], {}, "has no identity named nobody, or is locked"],
    [["recipient", "-i", "keychain:"], {}, "takes a keychain name of up to 64 letters"],
    [["keygen", "--keychain", "a", "-o", "b"], {}, "exclude each other"],
    [["keygen", "--keychain", "a", "--passphrase"], {}, "--passphrase is for files"],
    [["keygen", "--keychain", "a"], { KEYCHAIN_FAULT: "1" }, "cannot be used (Cannot autolaunch"],
    [["recipient", "-i", "keychain:a"], { KEYCHAIN_FAULT: "1" }, "keep the identity in a file"],
  ])("%p says what is wrong", async (args, env, message) => {
    expectFailure(await run(args, env), 2, message);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
