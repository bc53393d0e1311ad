import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import {
  createWorkspace,
  expectFailure,
  isolated,
  MAIN,
  newFolder,
  noise,
  type Result,
  runIdk,
} from "../support/cli.ts";

const workspace = await createWorkspace();
const { folder, recipient } = workspace;
await workspace.ok(["keygen", "-o", "other.key"]);
const other = (await workspace.ok(["recipient", "-i", "other.key"])).stdout.trim();

/** Not the current folder, to distinguish paths relative to the file. */
const place = join(folder, "etc");
mkdirSync(place);
const file = join(place, "config.toml");

/** Runs `idk` with this configuration and no other settings. */
const idk = async (
  content: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Result> => {
  writeFileSync(file, content, { mode: 0o600 });
  return runIdk(args, { cwd: folder, env: { IDK_CONFIG: file, ...env } });
};

const BASIC = `default = "work"
identity = "../me.key"
recipients = ["${recipient}"]

[store.work]
url = "work-blobs"

[store.home]
url = "~/blobs"
recipients = "${other}"
identity = ["../me.key", "../other.key"]
compress = "zstd"
chunk-size = "512K"
padding = false
workers = 0
`;

const settingsOf = ({ stdout }: Result) =>
  (
    JSON.parse(stdout) as {
      settings: Record<string, { value: unknown; from: string; where: string | null }>;
    }
  ).settings;

describe("a configuration file", () => {
  test("makes put work with a file alone, with paths relative to the file", async () => {
    workspace.write("report.txt", "the report");
    const put = await idk(BASIC, ["put", "report.txt"]);
    expect([put.code, put.stderr]).toEqual([0, ""]);
    const got = await idk(BASIC, ["get", put.stdout.trim()]);
    expect([got.code, got.stdout, got.stderr]).toEqual([0, "the report", ""]);
    const there = await runIdk(["ls", "--store", join(place, "work-blobs")], { cwd: folder });
    expect(there.stdout).toBe(put.stdout);
  });

  test("~ is the home folder also where no shell expands it", async () => {
    const home = newFolder();
    const run = (args: readonly string[], env = {}) =>
      runIdk(args, { cwd: folder, env: { HOME: home, ...env } });
    const put = ["put", "report.txt", "-r", recipient];
    expect((await run([...put, "--store=~/flag"])).code).toBe(0);
    expect((await run(put, { IDK_STORE: "~/variable" })).code).toBe(0);
    expect((await run(["copy", "--from=~/flag", "--to=~/mirror"])).code).toBe(0);
    expect(readdirSync(home).toSorted()).toEqual(
      expect.arrayContaining(["flag", "mirror", "variable"]),
    );
    expect(existsSync(join(folder, "~"))).toBe(false);
  });

  test("is found below XDG_CONFIG_HOME, and below HOME", async () => {
    const home = newFolder();
    for (const [env, ...path] of [
      [{ XDG_CONFIG_HOME: join(home, "xdg") }, "xdg"],
      [{ HOME: home }, ".config"],
    ] as const) {
      mkdirSync(join(home, ...path, "idk"), { recursive: true });
      const found = join(home, ...path, "idk", "config.toml");
      writeFileSync(found, 'compress = "lz4"\n');
      const result = await runIdk(["config", "--json"], { cwd: folder, env });
      expect(settingsOf(result)["compress"]).toEqual({
        value: "lz4",
        from: "file",
        where: `${found}:1`,
      });
    }
  });

  test("sets keys per store, and its only store is the default", async () => {
    const put = await idk(BASIC, ["put", "me.key", "--store", "home"]);
    const address = put.stdout.trim();
    const stat = await idk(BASIC, ["stat", address, "--store", "home", "--json"]);
    expect(JSON.parse(stat.stdout)).toMatchObject({ recipients: 1, metadata: { enc: "zstd" } });
    // The top level has only the first of the two identities.
    const blobs = join(folder, "copy");
    const copied = await idk(BASIC, ["copy", "--from", "home", "--to", "./copy"]);
    expect(copied.code).toBe(0);
    expectFailure(await idk(BASIC, ["stat", address, "--store", blobs]), 4, "");
    expect((await idk(BASIC, ["recipient", "--store", "home"])).stdout).toBe(
      `${recipient}\n${other}\n`,
    );
    const only = '[store.only]\nurl = "x"\nidentity = "../other.key"\n';
    expect((await idk(only, ["recipient"])).stdout).toBe(`${other}\n`);
  });

  test("flags override variables, then the store's table, then the top level", async () => {
    const top = 'compress = "lz4"\n[store.a]\nurl = "a"\n';
    const entry = `${top}compress = "zstd"\n`;
    const compressOf = async (...run: Parameters<typeof idk>) =>
      settingsOf(await idk(...run))["compress"];
    const show = ["config", "--json"];
    expect(await compressOf("", show)).toEqual({ value: "none", from: "default", where: null });
    expect(await compressOf(top, show)).toMatchObject({ value: "lz4", where: `${file}:1` });
    expect(await compressOf(entry, show)).toMatchObject({ value: "zstd", where: `${file}:4` });
    const env = { IDK_COMPRESS: "auto" };
    expect(await compressOf(entry, show, env)).toEqual({
      value: "auto",
      from: "environment",
      where: "IDK_COMPRESS",
    });
    const put = ["put", "me.key", "--store", "a", "-r", recipient];
    expectFailure(await idk(entry, [...put, "--compress", "zip"], env), 2, "--compress");
    expect((await idk(entry, [...put, "--compress", "none"], env)).code).toBe(0);
  });

  test("can turn padding off, and a flag turns it on again", async () => {
    workspace.write("long", noise(2 ** 21 + 1));
    const statOf = async (...flags: string[]) => {
      const put = await idk(BASIC, ["put", "long", "--store", "home", ...flags]);
      const address = put.stdout.trim();
      const { stdout } = await idk(BASIC, ["stat", address, "--store", "home", "--json"]);
      return JSON.parse(stdout) as unknown;
    };
    expect(await statOf()).toMatchObject({ chunkSize: 2 ** 19, padding: 0 });
    expect(await statOf("--padding")).not.toMatchObject({ padding: 0 });
    expect(await statOf("--chunk-size", "256K")).toMatchObject({ chunkSize: 2 ** 18 });
  });
});

describe("names of stores", () => {
  test("a word is a name if there are named stores, and ./ starts a folder", async () => {
    const near = await idk(BASIC, ["put", "me.key", "--store", "wrok"]);
    expectFailure(
      near,
      2,
      `no store wrok in ${file} (did you mean work?); for a folder, write ./wrok`,
    );
    const far = await idk(BASIC, ["ls"], { IDK_STORE: "blobs-of-mine" });
    expectFailure(far, 2, "(it has work, home)");
    const folderOfThatName = await idk(BASIC, ["put", "me.key", "--store", "./work"]);
    expect(folderOfThatName.code).toBe(0);
    expect((await runIdk(["ls", "--store", "work"], { cwd: folder })).stdout).toBe(
      folderOfThatName.stdout,
    );
  });

  test("select the store to check, create and copy", async () => {
    const made = await idk(BASIC, ["store", "init", "work"]);
    expect(made.code).toBe(0);
    expect((await idk(BASIC, ["store", "check"])).stdout).toContain(join(place, "work-blobs"));
    expectFailure(await idk(BASIC, ["copy", "--from", "wrok", "--to", "home"]), 2, "no store wrok");
  });

  test("names the table of an invalid URL", async () => {
    const content = '[store.cloud]\nurl = "s3://key:sesame@bucket"\n';
    const result = await idk(content, ["ls"]);
    expectFailure(result, 2, `store cloud (${file}:2) takes no credentials in the URL`);
    expect(result.stderr).not.toContain("sesame");
  });
});

describe("mistakes in the file", () => {
  test.each<[content: string, message: string]>([
    ["a =\n", ":2:1: "],
    ["[store\n", ":2:1: unterminated table-key"],
    [
      "[store.a]\nurl = s3://bucket\n",
      ':2: url = s3://bucket has no quotes; write url = "s3://bucket"\n',
    ],
    ["default = work # the one\n", ':1: default = work has no quotes; write default = "work"\n'],
    [
      "identity = C:\\me.key\n",
      ":1: identity = C:\\me.key has no quotes; write identity = 'C:\\me.key'\n",
    ],
    ["chunk-size = 4M\r\n", ':1: chunk-size = 4M has no quotes; write chunk-size = "4M"\n'],
    [
      "recipients = [a.pub, b.pub]\n",
      ':1: recipients = [a.pub, b.pub] has no quotes; write recipients = ["a.pub", "b.pub"]\n',
    ],
    ["padding = No\n", ":1: padding = No is not TOML; write padding = false\n"],
    ["default = a b\n", ":1:11: unexpected character"],
    ['compress = "lz4"\ncompress = "zstd"\n', ":2:1: defining a key multiple times is invalid"],
    ['\ndefualt = "x"\n', ":2: unknown key defualt (did you mean default?)"],
    [
      '[store.a]\nurl = "a"\nrecipient = "x"\n',
      ":3: unknown key recipient (did you mean recipients?)",
    ],
    ['[stores.a]\nurl = "a"\n', ":1: unknown key stores.a (did you mean store?)"],
    ['[work]\nurl = "a"\n', ":1: unknown table work (a store is [store.NAME])"],
    ['url = "a"\n', ":1: url belongs to a store"],
    ['store = "a"\n', ":1: store is a table for each store"],
    ["[store.a]\n", ":1: [store.a] has no url"],
    ['[store."a/b"]\nurl = "a"\n', ":1: the name of a store may only have letters"],
    ['[[store.a]]\nurl = "a"\n', ":1: store.a cannot be repeated"],
    [
      'default = "wrok"\n[store.work]\nurl = "a"\n',
      ":1: default does not name a store in this file: wrok (did you mean work?)",
    ],
    [
      'default = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"\n',
      ":1: default does not name a store in this file\n",
    ],
    ['compress = "zip"\n', ":1: compress must be zstd, lz4, auto or none"],
    ['workers = "2"\n', ":1: workers must be a number, without quotes"],
    ["workers = 65\n", ":1: workers must be a number from 0 to 64"],
    ['padding = "no"\n', ":1: padding must be true or false, without quotes"],
    ['chunk-size = "3M"\n', ":1: chunk-size must be a power of two"],
    ["chunk-size = 1979-05-27\n", ":1:14: must be a string"],
    ["identity = 1\n", ":1: identity must be a string in quotes or a list of them"],
    ['identity = "keychain:"\n', ":1: identity takes a keychain name"],
    ["identity-command = []\n", ":1: identity-command must be a string in quotes"],
    ["recipients = [[]]\n", ":1: recipients must be a string in quotes"],
  ])("%p", async (content, message) => {
    const result = await idk(content, ["ls"]);
    expectFailure(result, 2, `${file}${message}`);
    expect(result.stdout).toBe("");
  });

  test("an identity is rejected and not repeated", async () => {
    const secret = new TextDecoder().decode(workspace.read("me.key")).split("\n")[1]!;
    for (const key of ["identity", "dedup-secret"]) {
      const result = await idk(`${key} = "${secret}"\n`, ["config"]);
      expectFailure(result, 2, `${key} takes a file, not the identity itself`);
    }
    const result = await idk(`recipients = "${secret}"\n`, ["config"]);
    expectFailure(result, 2, "recipients looks like a secret key: give the public key instead");
    expect((await idk(`"${secret}" = 1\n`, ["ls"])).code).toBe(2);
    for (const text of [secret, secret.toLowerCase(), "s3://key:wJalrXUtnFEMIK7MDENGb@bucket"]) {
      const result = await idk(`url = ${text}\n`, ["ls"]);
      expectFailure(result, 2, ':1: url has no quotes; write url = "…"\n');
      expect(result.stderr).not.toContain(text.slice(20, 40));
    }
  });

  test.each([
    ["passphrase", "hunter2-correct-horse"],
    ["secret-access-key", "wJalrXUtnFEMI"],
    ["token", "ghp_16C7e42F292c69"],
    ["mac-key", "00112233445566778899"],
    ["store.work.password", "[hunter2, horse]"],
    ["url", "https://example.com/x?token=hunter2"],
  ])("the value of %s without quotes is not repeated", async (key, value) => {
    const result = await idk(`${key} = ${value}\n`, ["ls"]);
    const example = value.startsWith("[") ? '["…", "…"]' : '"…"';
    expectFailure(result, 2, `:1: ${key} has no quotes; write ${key} = ${example}\n`);
  });

  test("recipients of other tools are not taken for files", async () => {
    for (const item of [
      "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW me@host",
      "https://github.com/alice.keys",
    ]) {
      const config = `recipients = "${item}"\n[store.a]\nurl = "a"\n`;
      const result = await idk(`default = "a"\n${config}`, ["put", "me.key"]);
      expectFailure(result, 2, "which idk cannot encrypt to; ask its owner");
    }
  });

  test("do not affect commands that need no setting from it, unless the file is named", async () => {
    const broken = "nonsense\n";
    expect((await idk(broken, ["recipient", "-i", "me.key"])).code).toBe(0);
    expect((await idk(broken, ["store", "init", "./work"])).code).toBe(0);
    expect((await idk(broken, ["--help"])).code).toBe(0);
    expectFailure(await idk(broken, ["ls", "--store", "work"]), 2, `${file}:2:1: `);
    expectFailure(await idk(broken, ["recipient", "-i", "me.key", "--config", file]), 2, file);
    expectFailure(await idk(broken, ["config"]), 2, file);
    expectFailure(await idk(broken, ["init"]), 2, file);
  });

  test("a named file must exist and be text", async () => {
    const gone = join(place, "gone.toml");
    expectFailure(
      await idk("", ["ls", "--config", gone]),
      2,
      `cannot read the configuration ${gone}: no such file or folder`,
    );
    expectFailure(await idk("", ["ls", "--config", ""]), 2, "--config takes a file");
    expectFailure(await idk("", ["ls"], { IDK_CONFIG: place }), 2, "it is a folder");
    writeFileSync(file, new Uint8Array([0xff, 0xfe, 0]));
    expectFailure(
      await runIdk(["ls", "--config", file], { cwd: folder }),
      2,
      `the configuration ${file} is not UTF-8`,
    );
  });

  test("must not be writable by others if it names a command", async () => {
    const content = 'identity-command = "cat ../me.key"\n';
    expect((await idk(content, ["recipient"])).stdout).toBe(`${recipient}\n`);
    chmodSync(file, 0o620);
    expectFailure(await runIdk(["recipient", "--config", file], { cwd: folder }), 2, "chmod go-w");
    chmodSync(file, 0o600);
  });
});

describe("idk config", () => {
  test("shows each value and its source", async () => {
    const { code, stdout, stderr } = await idk(BASIC, ["config"], { IDK_WORKERS: "3" });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toBe(
      `config        ${file}
store         work: ${place}/work-blobs  (${file}:1)
identity      ${folder}/me.key  (${file}:2)
recipients    ${recipient}  (${file}:3)
compress      none  (default)
chunk-size    4M  (default)
padding       true  (default)
dedup-secret  none  (default)
workers       3  (IDK_WORKERS)
page-url      none  (default)
passphrase    prompted for if needed
  --store home  ${join(await homeOf(), "blobs")}
`.replace(/^(?! )(\S+)( +)/gmu, (_, name: string) => name.padEnd(16)),
    );
  });

  test("shows the default path without a file", async () => {
    const { stdout, code } = await runIdk(["config"], { cwd: folder });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^config +none \(\/.*\/\.config\/idk\/config\.toml\)\n/u);
    expect(stdout).toMatch(/^store +none +\(default\)$/mu);
  });

  test("shows no secrets", async () => {
    const secret = new TextDecoder().decode(workspace.read("other.key")).split("\n")[1]!;
    const content = `identity-command = "echo ${secret}"
[store.a]
url = "s3://AKIA:sesame/open@bucket/x?region=eu&token=sesame&endpoint=https://u:sesame@h"
`;
    const env = { IDK_PASSPHRASE: "sesame", IDK_IDENTITY_KEY: secret };
    for (const flags of [[], ["--json"]]) {
      for (const variables of [env, { IDK_PASSPHRASE: "sesame" }]) {
        const { stdout, code } = await idk(content, ["config", ...flags], variables);
        expect(code).toBe(0);
        expect(stdout).not.toContain("sesame");
        expect(stdout).toContain("s3://…@bucket/x?region=eu&token=…&endpoint=…");
        expect(stdout).toContain("IDK_PASSPHRASE");
      }
    }
  });
});

/** The HOME of the program's runs. */
async function homeOf(): Promise<string> {
  const { stdout } = await runIdk(["config"], { cwd: folder });
  return /\((.*)\/\.config\/idk/u.exec(stdout)![1]!;
}

describe("a configuration that others can change is refused:", () => {
  const CONTENT = `recipients = ["${recipient}"]\n[store.own]\nurl = "own-blobs"\n`;
  const anyone = 65_534;
  const asRoot = process.getuid?.() === 0 ? test : test.skip;

  /** A folder for the file, which each test spoils. */
  function place(): { readonly at: string; readonly in: string } {
    const folder = join(newFolder(), "etc");
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, "config.toml"), CONTENT, { mode: 0o600 });
    return { at: join(folder, "config.toml"), in: folder };
  }
  const put = async (config: string, env: Record<string, string> = {}) =>
    runIdk(["put", "-", ...(config === "" ? [] : ["--config", config])], {
      cwd: folder,
      env,
      stdin: "x",
    });

  test.each<[what: string, mode: number]>([
    ["its group", 0o620],
    ["everyone", 0o602],
  ])("%s can write to it", async (_, mode) => {
    const file = place();
    expect((await put(file.at)).code).toBe(0);
    chmodSync(file.at, mode);
    const message =
      `the configuration ${file.at} is not used, because it can be changed by other users of this ` +
      `machine: run chmod go-w ${file.at}`;
    expectFailure(await put(file.at), 2, message);
    expectFailure(await put("", { IDK_CONFIG: file.at }), 2, message);
  });

  test("they can write to its folder", async () => {
    const file = place();
    chmodSync(file.in, 0o770);
    const remedy = `because its folder ${file.in} can be changed by other users of this machine: run chmod go-w ${file.in}`;
    expectFailure(await put(file.at), 2, remedy);
    // A sticky folder, such as /tmp, protects a file of this user.
    chmodSync(file.in, 0o1777);
    expect((await put(file.at)).code).toBe(0);
  });

  test("they can write to the folder that a link to it leads to", async () => {
    const [link, target] = [place(), place()];
    rmSync(link.at);
    symlinkSync(target.at, link.at);
    expect((await put(link.at)).code).toBe(0);
    chmodSync(target.in, 0o777);
    expectFailure(await put(link.at), 2, `run chmod go-w ${target.in}`);
  });

  test("they can replace a folder above it, or a link on the way to it", async () => {
    const above = place();
    const below = join(above.in, "a/b");
    mkdirSync(below, { recursive: true, mode: 0o700 });
    writeFileSync(join(below, "config.toml"), CONTENT, { mode: 0o600 });
    const [link, target] = [place(), place()];
    symlinkSync(below, join(target.in, "second"));
    symlinkSync(relative(link.in, join(target.in, "second")), join(link.in, "first"));
    const given = join(link.in, "first/config.toml");
    expect((await put(given)).code).toBe(0);
    for (const at of [above.in, target.in, link.in]) {
      chmodSync(at, 0o777);
      expectFailure(await put(given), 2, `its folder ${at} can be changed by other users`);
      chmodSync(at, 0o1777);
      expect((await put(given)).code).toBe(0);
      chmodSync(at, 0o700);
    }
  });

  asRoot("a folder above it, or a link on the way to it, belongs to someone else", async () => {
    const file = place();
    const shared = join(file.in, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    symlinkSync("..", join(shared, "link"));
    const given = join(shared, "link/config.toml");
    expect((await put(given)).code).toBe(0);
    lchownSync(join(shared, "link"), anyone, anyone);
    const remedy = `belongs to another user (${anyone}), who can change it: run chown`;
    const link = join(shared, "link");
    expectFailure(await put(given), 2, `because the link ${link} ${remedy} -h 0 ${link}`);
    const below = join(shared, "a/b");
    mkdirSync(below, { recursive: true });
    writeFileSync(join(below, "config.toml"), CONTENT);
    chownSync(join(shared, "a"), anyone, anyone);
    const folder = join(shared, "a");
    expectFailure(
      await put(join(below, "config.toml")),
      2,
      `because its folder ${folder} ${remedy} 0 ${folder}`,
    );
  });

  asRoot("it or its folder belongs to someone else", async () => {
    const [owned, inside] = [place(), place()];
    chownSync(owned.at, anyone, anyone);
    const remedy = `belongs to another user (${anyone}), who can change it: run chown 0`;
    expectFailure(await put(owned.at), 2, `because it ${remedy} ${owned.at}`);
    chownSync(inside.in, anyone, anyone);
    expectFailure(
      await put(inside.at),
      2,
      `because its folder ${inside.in} ${remedy} ${inside.in}`,
    );
  });

  test("an empty file and a pipe of this user are fine", async () => {
    expect((await runIdk(["config", "--config", "/dev/null"], { cwd: folder })).code).toBe(0);
    const script = `exec "$0" "$1" config --json --config <(echo 'workers = 3')`;
    const child = Bun.spawnSync(["bash", "-c", script, process.execPath, MAIN], {
      env: isolated(),
    });
    expect(child.stdout.toString()).toContain('"workers":{"value":"3"');
  });
});
