import { describe, expect, test } from "bun:test";
import { createWorkspace, expectFailure, newFolder, runIdk } from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk } = workspace;
const A = "0".repeat(64);

describe("mistakes on the command line", () => {
  test.each<[args: string[], message: string]>([
    [["gett"], "unknown command 'gett' (did you mean get?)"],
    [["gett", "--help"], "unknown command 'gett' (did you mean get?)"],
    [["store", "chek", "--help"], "unknown command 'chek' (did you mean check?)"],
    [["help", "gett"], "no help for 'gett' (did you mean get?)"],
    [["help", "sotres"], "no help for 'sotres' (did you mean stores?)"],
    [["help", "store", "chek"], "no help for 'chek' (did you mean check?)"],
    [["help", "store", "man"], "no help for 'man': run `idk help` for a list"],
    [["help", "constructor"], "no help for 'constructor': run `idk help` for a list"],
    [["--jsno", "ls"], "unknown option '--jsno' (did you mean --json?)"],
    [["get", A, "--forse"], "unknown option '--forse' (did you mean --force?)"],
    [["config", "extra"], "too many arguments for 'config': it takes 0"],
    [["ls", "latest", "/", "extra"], "too many arguments for 'ls': it takes 2"],
    [["put"], "name a file, a folder, or - for standard input"],
    [["put", "me.key", "--name"], "argument missing"],
    [["keygen"], "name the identity file with -o FILE, or use --keychain NAME"],
    [["get", A.slice(57)], "ADDRESS must be 64 lowercase hexadecimal digits"],
    [["get", `${A}0`], "as `idk put` prints them, or at least the first 20"],
    [["get", "A".repeat(64)], "ADDRESS must be 64 lowercase hexadecimal digits"],
    [["stat", "../../etc/passwd"], "ADDRESS must be 64 lowercase"],
    [["verify", A, "x"], "ADDRESS must be 64 lowercase"],
    [["rm", `${A}\n`], "ADDRESS must be 64 lowercase"],
    [["rewrap", ""], "ADDRESS must be 64 lowercase"],
    [["ls", "--store", "s3://key:sesame@bucket"], "takes no credentials in the URL"],
    [["ls", "--store", "ftp://key:sesame@host"], 'does not support "ftp:"'],
    [["verify", "--deep", "--attested"], "exclude each other"],
    [["verify", "--deep", "--server-checksums"], "exclude each other"],
    [["store"], "no command given: run `idk store --help`"],
    [["store", "chek"], "unknown command 'chek' (did you mean check?)"],
    [["store", "check", "s3://bucket?acess=x"], "URL or IDK_STORE has an unknown parameter"],
    [["ls", "--store", "file:relative"], "file:///DIR"],
    [["ls", "--store", ""], "got an empty string"],
    [["put", "me.key", "--chunk-size", "3M"], "--chunk-size must be a power of two"],
    [["put", "me.key", "--chunk-size", "128K"], "--chunk-size must be a power of two"],
    [["put", "me.key", "--chunk-size", "4MB"], "--chunk-size must be a power of two"],
    [["put", ""], "FILE takes a file, got an empty string"],
    [["get", A, "--range", "5"], "--range must be START-END"],
    [["get", A, "--range", "-"], "--range must be START-END"],
    [["get", A, "--range", "9-5"], "--range ends before it starts"],
    [["get", A, "--range", "9007199254740993-"], "--range is out of bounds"],
    [["get", A, "-o", ""], "--output takes a file"],
    [["get", A, "-i", "nowhere.key"], "cannot read the identity file nowhere.key: no such file"],
    [["get", A, "-i", "."], "cannot read the identity file .: it is a folder"],
    [["put", "me.key", "-R", "nobody"], "cannot read the recipients file nobody: no such file"],
    [
      ["put", "me.key", "-R", "me.key"],
      "recipients file me.key: this is an identity, which is secret",
    ],
    [["put", "me.key", "-r", "me.key"], "-R takes a file"],
    [["put", "me.key", "-r", "idk1xyz"], "it has 7 characters instead of 62"],
    [
      ["put", "me.key", "--dedup-secret", "me.key"],
      "must contain 32 bytes or 64 hexadecimal digits",
    ],
  ])("idk %p", async (args, message) => {
    const result = await idk(args);
    expectFailure(result, 2, message);
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toContain("sesame");
  });

  test("an identity in the wrong argument is never repeated", async () => {
    const secret = new TextDecoder().decode(workspace.read("me.key")).split("\n")[1]!;
    expect(secret).toStartWith("IDK-SECRET-KEY-1");
    for (const args of [
      [secret],
      ["get", secret],
      ["get", A, "-i", secret],
      ["put", secret],
      ["put", "me.key", "-r", secret],
      ["put", "me.key", "-R", secret.toLowerCase()],
      ["put", "me.key", `--${secret}`],
      ["ls", secret],
      ["ls", "--json", "--store", `${secret}://x`],
    ]) {
      const result = await idk(args);
      expect([args[0], result.code]).toEqual([args[0], 2]);
      expect(`${result.stdout}${result.stderr}`.toLowerCase()).not.toContain(
        secret.toLowerCase().slice(16),
      );
    }
  });

  test("control characters in arguments are not sent to the terminal", async () => {
    const result = await idk(["put", "a\u001b]0;gotcha\u0007\nb"]);
    expectFailure(result, 2, "a\\u001b]0;gotcha\\u0007\\u000ab");
  });
});

describe("--json", () => {
  test.each<[args: string[], code: string, exit: number]>([
    [["--json", "gett"], "usage", 2],
    [["get", "--json", A, "--forse"], "usage", 2],
    [["get", "xyz", "--json"], "usage", 2],
    [["put", "nofile", "--json"], "usage", 2],
    [["put", "me.key", "-r", "idk1xyz", "--json"], "key", 2],
    [["ls", "--store", "nowhere", "--json"], "unavailable", 6],
  ])("prints the error of %p as an object", async (args, code, exit) => {
    const result = await idk(args);
    expect(result.stdout).toBe("");
    const { error } = JSON.parse(result.stderr) as { error: { code: string; message: string } };
    expect(error.code).toBe(code);
    expect(error.message.length).toBeGreaterThan(10);
    expect(result.code).toBe(exit);
  });

  test("is an operand after --", async () => {
    expectFailure(await idk(["put", "--", "--json"]), 2, "cannot read --json");
  });
});

const bare = (...args: string[]) =>
  runIdk(args, { cwd: workspace.folder, env: { IDK_STORE: "blobs" } });

describe("the environment", () => {
  const cwd = newFolder();

  test("errors name the missing variables", async () => {
    expectFailure(
      await runIdk(["ls"], { cwd }),
      2,
      "name its folder or URL with --store or IDK_STORE",
    );
    expectFailure(await bare("get", A), 2, /no identity: .*-i FILE.*IDK_IDENTITY/u);
    expectFailure(await bare("verify", "--deep"), 2, "no identity");
    const { stderr } = await bare("put", "me.key");
    for (const word of ["-r", "-R", "IDK_RECIPIENTS", "idk recipient"])
      expect(stderr).toContain(word);
  });

  test("an empty variable counts as unset", async () => {
    const result = await idk(["ls"], { env: { IDK_STORE: "" } });
    expectFailure(result, 2, "no store");
  });

  test("a flag overrides its variable", async () => {
    const env = { IDK_STORE: "s3://x", IDK_IDENTITY: "nowhere.key", IDK_RECIPIENTS: "idk1bad" };
    const put = await idk(["put", "me.key", "--store", "blobs", "-r", workspace.recipient], {
      env,
    });
    expect([put.code, put.stderr]).toEqual([0, ""]);
    const got = await idk(
      ["get", put.stdout.trim(), "--store", "blobs", "-i", "me.key", "-o", "-", "-o", "copy"],
      { env },
    );
    expect([got.code, got.stderr]).toEqual([0, ""]);
    expect(workspace.read("copy")).toEqual(workspace.read("me.key"));
  });

  test("IDK_IDENTITY and IDK_RECIPIENTS take lists", async () => {
    const other = (await workspace.ok(["keygen", "-o", "other.key"])).stdout.trim();
    workspace.write("friends", `# friends\n\n${other}\n`);
    const env = { IDK_RECIPIENTS: `${workspace.recipient}, friends` };
    const { stdout } = await workspace.ok(["put", "friends"], { env });
    for (const identity of ["me.key", "other.key", "me.key:other.key"]) {
      const found = await workspace.ok(["stat", stdout.trim(), "--json"], {
        env: { IDK_IDENTITY: identity },
      });
      expect(JSON.parse(found.stdout)).toMatchObject({ recipients: 2 });
    }
  });

  test("the store may be an absolute file URL", async () => {
    const url = `file://${workspace.folder}/with%20space`;
    const { stdout } = await workspace.ok(["put", "me.key", "--store", url]);
    const listed = await workspace.ok(["ls", "--store", "with space"]);
    expect(listed.stdout).toBe(stdout);
  });
});
